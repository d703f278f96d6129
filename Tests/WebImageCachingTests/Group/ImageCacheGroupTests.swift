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
        group = ImageCacheGroup([low, high])
    }

    private var called: [String] { log.withLock { $0 } }

    private func group(of caches: [any ImageCaching], _ policy: CacheGroupPolicy) -> ImageCacheGroup {
        ImageCacheGroup(caches, query: policy, store: policy, remove: policy, contains: policy, clear: policy)
    }

    /// Runs one operation of each kind, and returns the names of the caches that each called.
    private func reached(by group: ImageCacheGroup) async throws -> [[String]] {
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

    private func reached(by policy: CacheGroupPolicy) async throws -> [[String]] {
        try await reached(by: group(of: [low, high], policy))
    }

    // MARK: Policies

    @Test func hasDefaults() async throws {
        let reached = try await reached(by: group)
        let both = ["high", "low"]
        #expect(reached[0] == both && reached[1] == both && reached[2] == ["high"])
        #expect(reached[3].sorted() == both && reached[4] == both && reached[5].sorted() == both)
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
        func policy(_ isLowest: Bool) -> CacheGroupPolicy { isLowest ? .lowestOnly : .highestOnly }
        for (kind, indices) in [[0, 1], [2], [3], [4], [5]].enumerated() {
            let group = ImageCacheGroup(
                [low, high], query: policy(kind == 0), store: policy(kind == 1), remove: policy(kind == 2),
                contains: policy(kind == 3), clear: policy(kind == 4))
            #expect(try await reached(by: group) == (0..<6).map { [indices.contains($0) ? "low" : "high"] })
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
        let group = ImageCacheGroup([low, slow], query: .concurrent)
        // The slow cache has the higher priority and does not reply before the test ends.
        #expect(await group.image(for: key)?.image?.width == 2)
        try await slow.cancelled.wait()
        door.signal()
    }

    @Test func aConcurrentLookUpWaitsForAHitAfterAMiss() async throws {
        let door = Countdown()
        let slow = ScriptedCache(door: door)
        slow.put(try solidImage(1, 1), for: key)
        let group = ImageCacheGroup([slow, low], query: .concurrent)
        let query = Task { await group.image(for: key)?.image?.width }
        try await low.reached.wait()
        try await slow.reached.wait()
        door.signal()
        #expect(await query.value == 1)
    }

    @Test func cancellationCancelsAllLookUps() async throws {
        let door = Countdown()
        let slow = [ScriptedCache(door: door), ScriptedCache(door: door)]
        let group = ImageCacheGroup(slow, query: .concurrent)
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

    @Test(arguments: CacheGroupPolicy.allCases)
    func isEmptyWithoutCaches(_ policy: CacheGroupPolicy) async throws {
        let group = group(of: [], policy)
        #expect(try await reached(by: group) == Array(repeating: [], count: 6))
        #expect(await group.image(for: key) == nil)
        #expect(await group.data(for: key) == nil)
        #expect(await !group.contains(key))
        #expect(group.image(inMemoryFor: key) == nil)
    }

    @Test func memoryLookUpsFollowTheQueryPolicy() throws {
        low.put(try solidImage(2, 2), for: key)
        #expect(group.image(inMemoryFor: key)?.width == 2)
        high.put(try solidImage(1, 1), for: key)
        #expect(group.image(inMemoryFor: key)?.width == 1)
        #expect(group(of: [low, high], .lowestOnly).image(inMemoryFor: key)?.width == 2)
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
