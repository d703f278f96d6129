import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct ImageCacheGroupTests {
    private let key = ImageCacheKey(source: "http://example.org/a.png")
    private let thumbnailKey = ImageCacheKey(source: "http://example.org/a.png", variant: "thumb")
    private let log = LockBox<[String]>([])
    private let low: ScriptedCache
    private let high: ScriptedCache
    private let group: ImageCacheGroup

    init() {
        low = ScriptedCache("low", log: log)
        high = ScriptedCache("high", log: log)
        group = [low, high]
    }

    private var called: [String] { log.withLock { $0 } }

    /// Runs one operation of each kind by `policy`, and returns the names of the caches that each called.
    private func reached(by policy: ImageCacheGroup.Policy) async throws -> [[String]] {
        group.policies.query = policy
        group.policies.store = policy
        group.policies.remove = policy
        group.policies.contains = policy
        group.policies.clear = policy
        let operations: [() async throws -> Void] = [
            { _ = await group.image(for: key) }, { _ = await group.data(for: key) },
            { await group.store(try solidImage(), for: key) }, { await group.remove(for: key) },
            { _ = await group.tier(holding: key, in: .all) }, { await group.clear() },
        ]
        var reached: [[String]] = []
        for operation in operations {
            log.withLock { $0 = [] }
            try await operation()
            reached.append(called)
        }
        return reached
    }

    // MARK: Policies

    @Test func hasDefaults() {
        let policies = ImageCacheGroup.Policies()
        #expect(policies.query == .serial && policies.store == .highestOnly && policies.remove == .concurrent)
        #expect(policies.contains == .serial && policies.clear == .concurrent)
        #expect(group.policies == policies)
    }

    @Test func serialCallsCachesInOrderOfPriority() async throws {
        #expect(try await reached(by: .serial) == Array(repeating: ["high", "low"], count: 6))
    }

    @Test func concurrentCallsAllCaches() async throws {
        for names in try await reached(by: .concurrent) { #expect(names.sorted() == ["high", "low"]) }
    }

    @Test func highestOnlyCallsTheHighest() async throws {
        #expect(try await reached(by: .highestOnly) == Array(repeating: ["high"], count: 6))
    }

    @Test func lowestOnlyCallsTheLowest() async throws {
        #expect(try await reached(by: .lowestOnly) == Array(repeating: ["low"], count: 6))
    }

    @Test func hasAPolicyForEachKindOfOperation() async throws {
        let names: [(WritableKeyPath<ImageCacheGroup.Policies, ImageCacheGroup.Policy>, [Int])] = [
            (\.query, [0, 1]), (\.store, [2]), (\.remove, [3]), (\.contains, [4]), (\.clear, [5]),
        ]
        for (path, indices) in names {
            _ = try await reached(by: .highestOnly)
            var policies = group.policies
            policies[keyPath: path] = .lowestOnly
            group.policies = policies
            let operations: [() async throws -> Void] = [
                { _ = await group.image(for: key) }, { _ = await group.data(for: key) },
                { await group.store(try solidImage(), for: key) }, { await group.remove(for: key) },
                { _ = await group.tier(holding: key, in: .all) }, { await group.clear() },
            ]
            for (index, operation) in operations.enumerated() {
                log.withLock { $0 = [] }
                try await operation()
                #expect(called == [indices.contains(index) ? "low" : "high"])
            }
        }
    }

    @Test func aSerialLookUpEndsAtTheFirstHit() async throws {
        high.put(try solidImage(1, 1), for: key)
        low.put(try solidImage(2, 2), for: key)
        #expect(await group.image(for: key)?.image?.width == 1)
        #expect(await group.contains(key))
        #expect(called == ["high", "high"])
        await high.remove(for: key)
        #expect(await group.image(for: key)?.image?.width == 2)
    }

    @Test func aConcurrentLookUpReturnsTheFirstHitAndCancelsTheOthers() async throws {
        let door = Countdown()
        let slow = ScriptedCache(door: door)
        slow.put(try solidImage(1, 1), for: key)
        low.put(try solidImage(2, 2), for: key)
        let group = ImageCacheGroup([low, slow])
        group.policies.query = .concurrent
        // The slow cache has the higher priority and does not reply before the test ends.
        #expect(await group.image(for: key)?.image?.width == 2)
        try await slow.cancelled.wait()
        door.signal()
    }

    @Test func aConcurrentLookUpWaitsForAHitAfterAMiss() async throws {
        let door = Countdown()
        let slow = ScriptedCache(door: door)
        slow.put(try solidImage(1, 1), for: key)
        let group = ImageCacheGroup([slow, low])
        group.policies.query = .concurrent
        let query = Task { await group.image(for: key)?.image?.width }
        try await low.reached.wait()
        try await slow.reached.wait()
        door.signal()
        #expect(await query.value == 1)
    }

    @Test func cancellationCancelsAllLookUps() async throws {
        let door = Countdown()
        let slow = [ScriptedCache(door: door), ScriptedCache(door: door)]
        let group = ImageCacheGroup(slow)
        group.policies.query = .concurrent
        let query = Task { await group.image(for: key) }
        for cache in slow { try await cache.reached.wait() }
        query.cancel()
        #expect(await query.value == nil)
        for cache in slow { try await cache.cancelled.wait() }
        door.signal()
    }

    @Test func cancellationPreventsTheNextLookUp() async throws {
        let door = Countdown()
        let slow = ScriptedCache(door: door)
        let group = ImageCacheGroup([low, slow])
        let query = Task { await group.image(for: key) }
        try await slow.reached.wait()
        query.cancel()
        door.signal()
        #expect(await query.value == nil)
        #expect(low.calls == [])
    }

    @Test func concurrentChangesRunAtOnceAndAreAwaited() async throws {
        let door = Countdown()
        let slow = [ScriptedCache(door: door), ScriptedCache(door: door)]
        for cache in slow { cache.put(try solidImage(), for: key) }
        let group = ImageCacheGroup(slow)
        let removal = Task { await group.remove(for: key) }
        // Both are in progress.
        for cache in slow { try await cache.reached.wait() }
        door.signal()
        await removal.value
        for cache in slow { #expect(cache.image(inMemoryFor: key) == nil) }
    }

    // MARK: Members

    @Test(arguments: ImageCacheGroup.Policy.allCases)
    func isEmptyWithoutCaches(_ policy: ImageCacheGroup.Policy) async throws {
        group.caches = []
        #expect(try await reached(by: policy) == Array(repeating: [], count: 6))
        #expect(await group.image(for: key) == nil)
        #expect(await group.data(for: key) == nil)
        #expect(await !group.contains(key))
        #expect(group.image(inMemoryFor: key) == nil)
    }

    @Test func givesTheLastAddedTheHighestPriority() async throws {
        let top = ScriptedCache("top", log: log)
        group.add(top)
        _ = await group.image(for: key)
        #expect(called == ["top", "high", "low"])
        group.add(low)
        log.withLock { $0 = [] }
        _ = await group.image(for: key)
        #expect(called == ["low", "top", "high"])
        group.remove(top)
        group.remove(top)
        log.withLock { $0 = [] }
        _ = await group.image(for: key)
        #expect(called == ["low", "high"])
        #expect(group.caches.count == 2)
    }

    @Test(.timeLimit(.minutes(1))) func releasesCachesThatCallTheGroupWhenReleased() {
        let counts = LockBox<[Int]>([])
        // It is released during the assignment.
        group.caches = [ScriptedCache(onEnd: { [group] in counts.withLock { $0.append(group.caches.count) } }), low]
        group.caches = [high]
        #expect(counts.withLock { $0 } == [1])
    }

    @Test func memoryLookUpsFollowTheQueryPolicy() throws {
        low.put(try solidImage(2, 2), for: key)
        #expect(group.image(inMemoryFor: key)?.width == 2)
        high.put(try solidImage(1, 1), for: key)
        #expect(group.image(inMemoryFor: key)?.width == 1)
        group.policies.query = .lowestOnly
        #expect(group.image(inMemoryFor: key)?.width == 2)
        #expect(called == [])
    }

    @Test func storesOriginalsEverywhereAndVariantsInMemory() async throws {
        await group.store(try solidImage(), for: key)
        await group.store(try solidImage(), for: thumbnailKey)
        await group.store(try solidImage(), for: thumbnailKey, in: .disk)
        #expect(high.calls == ["store 3", "store 1", "store 2"])
    }

    @Test func groupsImageCachesAndGroups() async throws {
        let fixtures = [try ImageCacheFixture(), try ImageCacheFixture()]
        let caches = fixtures.map { $0.cache() }
        let group = ImageCacheGroup([caches[0], ImageCacheGroup([caches[1]])])
        let png = try solidPNG()
        await group.store(nil, data: png, for: key, in: .disk)
        #expect(await caches[1].tier(holding: key) == .disk)
        #expect(await caches[0].tier(holding: key) == nil)
        #expect(await group.image(for: key)?.tier == .disk)
        #expect(group.image(inMemoryFor: key)?.width == 8)
        await caches[0].store(nil, data: png, for: key, in: .disk)
        await group.remove(for: key)
        for cache in caches { #expect(await cache.tier(holding: key) == nil) }
    }
}
