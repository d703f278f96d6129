import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct DiskCacheLimitTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private func keys(_ cache: DiskCache) async -> [String] { await cache.entries().map(\.key) }

    @Test func keepsNoMoreEntriesThanTheCountLimit() async {
        let cache = fixture.cache { $0.countLimit = 10 }
        for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "\(number)") }
        #expect(await cache.count == 10)
        _ = await cache.data(for: "0")
        await cache.storeNow(Data(10, of: 1), for: "10")
        // Down to 90 %.
        #expect(await keys(cache) == ["0", "3", "4", "5", "6", "7", "8", "9", "10"])
        #expect(await cache.statistics().evictions == 2)
    }

    @Test func aValueOfNearlyTheLimitStaysAlone() async {
        let cache = fixture.cache(sizeLimit: 1_000)
        await cache.storeNow(Data(500, of: 1), for: "other")
        await cache.storeNow(Data(950, of: 1), for: "large")
        #expect(await keys(cache) == ["large"])
    }

    @Test(arguments: [0, 1, -1]) func aCountLimitMayBeSmall(limit: Int) async {
        let cache = fixture.cache { $0.countLimit = limit }
        for number in 0..<3 { await cache.storeNow(Data(10, of: 1), for: "\(number)") }
        #expect(await keys(cache) == (limit == 1 ? ["2"] : []))
    }

    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func evictsInTheOrderThatWasAskedFor(order: DiskCache.EvictionOrder) async {
        let cache = fixture.cache { $0.evictionOrder = order }
        for key in ["a", "b", "c", "d"] {
            fixture.advance(seconds: 1)
            await cache.storeNow(Data(10, of: 1), for: key)
        }
        fixture.advance(seconds: 1)
        cache.update(DiskCache.Attributes(), for: "b")
        await cache.flush()
        fixture.advance(seconds: 1)
        _ = await cache.data(for: "a")
        await cache.trim(toCount: 2)
        let expected = [
            DiskCache.EvictionOrder.access: ["a", "d"], .creation: ["c", "d"], .modification: ["b", "d"],
        ]
        #expect(await keys(cache) == expected[order])
    }

    @Test(arguments: DiskCache.EvictionOrder.allCases) func trimsToAnAge(order: DiskCache.EvictionOrder) async {
        let cache = fixture.cache { $0.evictionOrder = order }
        await cache.storeNow(Data(10, of: 1), for: "used")
        await cache.storeNow(Data(10, of: 1), for: "unused")
        fixture.advance(seconds: 50)
        _ = await cache.data(for: "used")
        await cache.storeNow(Data(10, of: 1), for: "new")
        fixture.advance(seconds: 10)
        await cache.trim(toAge: 100)
        #expect(await cache.count == 3)
        await cache.trim(toAge: 30)
        #expect(await keys(cache) == (order == .access ? ["used", "new"] : ["new"]))
    }

    /// Values are used while they wait to be written, while they are written, and from the disk.
    @Test func usesOfValuesOnTheirWayToTheDiskCount() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "first")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        for number in 0..<600 { cache.store(Data(10, of: 1), for: "\(number)") }
        _ = await cache.data(for: "first")
        for number in [599, 0, 300] { _ = await cache.data(for: "\(number)") }
        try other.execute("COMMIT")
        await cache.trim(toCount: 4)
        #expect(Set(await keys(cache)) == ["first", "599", "0", "300"])
        await cache.trim(toCount: 1)
        #expect(await keys(cache) == ["300"])
    }

    @Test func theVictimIsExactAfterTenThousandOperationsAcrossAReopen() async throws {
        var random = SplitMix64(seed: 11)
        var order: [String] = []
        var cache = fixture.cache()
        for step in 0..<10_000 {
            if step == 6_000 {
                await cache.flush()
                cache = fixture.cache()
                fixture.advance(seconds: 1)
            }
            let key = "key \(Int.random(in: 0..<200, using: &random))"
            if Int.random(in: 0..<4, using: &random) == 0 {
                cache.store(Data(100, of: 1), for: key)
            } else {
                let isFound = await cache.data(for: key) != nil
                #expect(isFound == order.contains(key))
                guard isFound else { continue }
            }
            order.removeAll { $0 == key }
            order.append(key)
        }
        for count in stride(from: order.count, through: 0, by: -20) {
            await cache.trim(toCount: count)
            #expect(Set(await keys(cache)) == Set(order.suffix(count)))
        }
    }

    // MARK: Counters

    @Test func countsHitsAndMissesAcrossCaches() async {
        do {
            let cache = fixture.cache()
            await cache.storeNow(Data(10, of: 1), for: "key")
            for _ in 0..<3 { _ = await cache.data(for: "key") }
            _ = await cache.item(for: "key")
            _ = await cache.data(for: "none")
            // Neither of these is a use.
            _ = await cache.contains("key")
            _ = await cache.entry(for: "none")
            await cache.flush()
        }
        let cache = fixture.cache()
        _ = await cache.data(for: "none")
        cache.store(Data(10, of: 2), for: "waiting")
        _ = await cache.data(for: "waiting")
        let statistics = await cache.statistics()
        #expect(statistics.hits == 5)
        #expect(statistics.misses == 2)
        #expect(statistics.evictions == 0)
    }

    @Test func statisticsTellWhatIsWhere() async throws {
        let cache = fixture.cache(fileThreshold: 1_000)
        #expect(await cache.statistics().oldestAccess == nil)
        for number in 0..<5 {
            fixture.advance(seconds: 1)
            await cache.storeNow(Data(number < 3 ? 1_000 : 2_000, of: 1), for: "\(number)")
        }
        fixture.advance(seconds: 1)
        _ = await cache.data(for: "0")
        let statistics = await cache.statistics()
        #expect(statistics.count == 5)
        #expect(statistics.byteCount == 7_000)
        #expect(statistics.segments == DiskCache.Statistics.Segments(count: 1, byteCount: 3_000, liveByteCount: 3_000))
        #expect(statistics.files == DiskCache.Statistics.Files(count: 2, byteCount: 4_000))
        #expect(statistics.indexByteCount > 16_384)
        let entries = await cache.entries()
        #expect(statistics.oldestCreation == entries.first?.created)
        #expect(statistics.newestCreation == entries.last?.created)
        #expect(statistics.oldestAccess == entries[1].lastAccess)
        #expect(statistics.newestAccess == entries[0].lastAccess)
        #expect(entries.map(\.place) == [.segment(1), .segment(1), .segment(1), .file, .file])
    }

    // MARK: Removing all

    @Test func removesAllWithProgress() async {
        let cache = fixture.cache()
        let total = 3_000
        for number in 0..<total { cache.store(Data(number == 7 ? 30_000 : 10, of: 1), for: "\(number)") }
        await cache.flush()
        let steps = Lock<[Int]>([])
        await cache.removeAll { removed, count in
            #expect(count == total)
            steps.withLock { $0.append(removed) }
        }
        let removed = steps.withLock { $0 }
        #expect(removed.first == 0 && removed.last == total && removed.count > 2)
        #expect(zip(removed, removed.dropFirst()).allSatisfy { $0 < $1 })
        #expect(await cache.count == 0)
        #expect(fixture.valueFiles.isEmpty)
        #expect(fixture.segmentFiles.isEmpty)
    }

    /// From the first word of it on; what is stored since then stays.
    @Test func removesAllForLookUpsBeforeItsFirstStep() async {
        let cache = fixture.cache()
        for number in 0..<700 { cache.store(Data(10, of: 1), for: "\(number)") }
        await cache.flush()
        await cache.removeAll { removed, _ in
            for number in 0..<700 { #expect(!cache.isCached("\(number)")) }
            if removed == 0 { cache.store(Data(10, of: 2), for: "new") }
        }
        #expect(await cache.data(for: "new") == Data(10, of: 2))
        #expect(await keys(cache) == ["new"])
        #expect(await fixture.cache().count == 1)
    }

    // MARK: Without async

    @Test func blockingTwinsDoTheSame() async {
        let (cache, key) = (fixture.cache(), "key")
        await withCheckedContinuation { continuation in
            let thread = PlatformThread.start(name: "test") {
                cache.store(Data(10, of: 1), for: key)
                cache.waitUntilWritten()
                let other = fixture.cache()
                #expect(other.cachedData(for: key) == Data(10, of: 1))
                #expect(other.cachedItem(for: key)?.entry.place == .segment(1))
                #expect(other.isCached(key))
                #expect(!other.isCached("other"))
                #expect(other.cachedData(for: "other") == nil)
                continuation.resume()
            }
            #expect(thread)
        }
    }

    /// Reads go on while a change of each cache waits for another process.
    @Test(.timeLimit(.minutes(1))) func aWaitingChangeDoesNotHoldUpReads() async throws {
        let directories = (0..<DiskCache.threadCount).map { fixture.folder.path("cache \($0)") }
        let caches = directories.map { fixture.cache(at: $0) }
        for cache in caches { await cache.storeNow(Data(10, of: 1), for: "key") }
        let others = try directories.map {
            try SQLiteConnection(path: $0 + "/index.sqlite", creates: false, busyTimeoutMilliseconds: 1_000)
        }
        for other in others { try other.execute("BEGIN IMMEDIATE") }
        for cache in caches { cache.store(Data(10, of: 2), for: "waiting") }
        for cache in caches { #expect(await cache.data(for: "key") == Data(10, of: 1)) }
        for other in others { try other.execute("COMMIT") }
        for cache in caches { await cache.flush() }
        #expect(fixture.reported.isEmpty)
    }
}
