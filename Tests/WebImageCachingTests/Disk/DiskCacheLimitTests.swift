import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct DiskCacheLimitTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private func keys(_ cache: DiskCache) async -> [String] { await cache.entries().map(\.key) }

    @Test func storesNoMoreEntriesThanTheCountLimit() async {
        let cache = fixture.cache { $0.countLimit = 10 }
        for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "\(number)") }
        #expect(await cache.count == 10)
        _ = await cache.data(for: "0")
        await cache.storeNow(Data(10, of: 1), for: "10")
        // Down to 90 %.
        #expect(await keys(cache) == ["0", "3", "4", "5", "6", "7", "8", "9", "10"])
        #expect(await cache.statistics().evictionCount == 2)
    }

    @Test func aValueNearTheLimitEvictsAllOthers() async {
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
    func evictsInTheConfiguredOrder(order: DiskCache.EvictionOrder) async {
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

    @Test(arguments: DiskCache.EvictionOrder.allCases) func trimsToAnAgeLimit(order: DiskCache.EvictionOrder) async {
        let cache = fixture.cache { $0.evictionOrder = order }
        await cache.storeNow(Data(10, of: 1), for: "used")
        await cache.storeNow(Data(10, of: 1), for: "unused")
        fixture.advance(seconds: 50)
        _ = await cache.data(for: "used")
        await cache.storeNow(Data(10, of: 1), for: "new")
        fixture.advance(seconds: 10)
        await cache.trim(toAge: .seconds(100))
        #expect(await cache.count == 3)
        await cache.trim(toAge: .seconds(30))
        #expect(await keys(cache) == (order == .access ? ["used", "new"] : ["new"]))
    }

    /// Values are used while they wait to be written, while they are written, and from the disk.
    @Test func usesOfValuesNotYetWrittenCount() async throws {
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
        #expect(statistics.hitCount == 5)
        #expect(statistics.missCount == 2)
        #expect(statistics.evictionCount == 0)
    }

    @Test func statisticsDescribeSegmentsFilesAndTimes() async throws {
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
        let steps = LockBox<[Int]>([])
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

    /// Entries are hidden as soon as it starts; those stored later stay.
    @Test func removeAllHidesEntriesFromLookUpsImmediately() async {
        let cache = fixture.cache()
        for number in 0..<700 { cache.store(Data(10, of: 1), for: "\(number)") }
        await cache.flush()
        await cache.removeAll { removed, _ in
            for number in 0..<700 { #expect(!cache.blockingContains("\(number)")) }
            if removed == 0 { cache.store(Data(10, of: 2), for: "new") }
        }
        #expect(await cache.data(for: "new") == Data(10, of: 2))
        #expect(await keys(cache) == ["new"])
        #expect(await fixture.cache().count == 1)
    }

    // MARK: Without async

    @Test func blockingFunctionsMatchTheAsyncOnes() async {
        let (cache, key) = (fixture.cache(), "key")
        await withCheckedContinuation { continuation in
            let thread = PlatformThread.start(name: "test") {
                cache.store(Data(10, of: 1), for: key)
                cache.waitUntilWritten()
                let other = fixture.cache()
                #expect(other.blockingData(for: key) == Data(10, of: 1))
                #expect(other.blockingItem(for: key)?.entry.place == .segment(1))
                #expect(other.blockingContains(key))
                #expect(!other.blockingContains("other"))
                #expect(other.blockingData(for: "other") == nil)
                continuation.resume()
            }
            #expect(thread)
        }
    }

    /// Reads continue while a change of each cache waits for another process.
    @Test(.timeLimit(.minutes(1))) func aWaitingChangeDoesNotBlockReads() async throws {
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

@Suite(.timeLimit(.minutes(3))) struct DiskCacheTrimTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    @Test func keepsTheMostRecentlyUsedWithinTheSizeLimit() async {
        let cache = fixture.cache(sizeLimit: 100_000)
        for number in 0..<10 { await cache.storeNow(Data(10_000, of: 1), for: "\(number)") }
        #expect(await cache.count == 10)
        _ = await cache.data(for: "0")
        await cache.storeNow(Data(5_000, of: 2), for: "new")
        // Down to 90 %: 105,000 bytes are 15,000 too many.
        #expect(await cache.totalSize == 85_000)
        #expect(await !cache.contains("1"))
        #expect(await !cache.contains("2"))
        #expect(await cache.contains("0"))
        #expect(await cache.contains("3"))
        #expect(await cache.contains("new"))
    }

    @Test func evictsInTheExactOrderOfUseAcrossAReopen() async {
        var random = SplitMix64(seed: 7)
        var order: [String] = []
        var cache = fixture.cache()
        for step in 0..<2_000 {
            if step == 1_000 {
                await cache.flush()
                cache = fixture.cache()
                // A cache numbers its events from the clock's time on.
                fixture.advance(seconds: 1)
            }
            let key = "key \(Int.random(in: 0..<60, using: &random))"
            if Bool.random(using: &random) {
                cache.store(Data(step % 2 == 0 ? 100 : 30_000, of: 1), for: key)
            } else if await cache.data(for: key) == nil {
                continue
            } else if !order.contains(key) {
                Issue.record("\(key) was never stored")
            }
            // A value read before it is written counts as used when stored, so each step that reads is flushed.
            if step % 3 == 0 { await cache.flush() }
            order.removeAll { $0 == key }
            order.append(key)
        }
        await cache.flush()
        while let victim = order.first {
            #expect(await cache.contains(victim))
            await cache.trim(toSize: await cache.totalSize - 1)
            order.removeFirst()
            #expect(await !cache.contains(victim))
            #expect(await cache.count == order.count)
        }
        #expect(fixture.valueFiles.isEmpty)
    }

    @Test func storesNoValueAboveTheLimitAndRemovesTheOneItReplaces() async {
        let cache = fixture.cache(sizeLimit: 1_000)
        await cache.storeNow(Data(10, of: 1), for: "key")
        await cache.storeNow(Data(10, of: 2), for: "other")
        await cache.storeNow(Data(1_001, of: 3), for: "key")
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.data(for: "other") == Data(10, of: 2))
    }

    @Test func removesEntriesNotUsedWithinTheAgeLimit() async {
        let cache = fixture.cache(ageLimit: .seconds(100))
        await cache.storeNow(Data(10, of: 1), for: "unused")
        await cache.storeNow(Data(10, of: 2), for: "used")
        fixture.advance(seconds: 80)
        _ = await cache.data(for: "used")
        fixture.advance(seconds: 80)
        await cache.flush()
        #expect(await !cache.contains("unused"))
        #expect(await cache.contains("used"))
    }

    @Test func trimsWhenOpenedAnHourAfterTheLastTrim() async {
        do {
            let cache = fixture.cache(ageLimit: .seconds(1_000_000))
            await cache.storeNow(Data(30_000, of: 1), for: "old")
            await cache.flush()
        }
        fixture.advance(seconds: 3_500)
        #expect(await fixture.cache(ageLimit: .seconds(10)).count == 1)
        fixture.advance(seconds: 200)
        #expect(await fixture.cache(ageLimit: .seconds(10)).count == 0)
        #expect(fixture.valueFiles.isEmpty)
    }

    /// Nine tenths of the entries are from before the clock went back.
    @Test(arguments: [false, true])
    func keepsEntriesStoredAfterTheClockWentBack(isReopened: Bool) async {
        var cache = fixture.cache(sizeLimit: 100_000)
        for number in 0..<9 { await cache.storeNow(Data(10_000, of: 1), for: "old \(number)") }
        _ = await cache.data(for: "old 0")
        await cache.flush()
        fixture.advance(seconds: -100_000_000)
        if isReopened { cache = fixture.cache(sizeLimit: 100_000) }
        for number in 0..<5 { await cache.storeNow(Data(10_000, of: 1), for: "new \(number)") }
        for number in 0..<5 { #expect(await cache.contains("new \(number)")) }
        // The old ones have kept their order.
        #expect(await cache.contains("old 0"))
        #expect(await !cache.contains("old 1"))
        for number in 0..<6 { await cache.storeNow(Data(10_000, of: 1), for: "newer \(number)") }
        #expect(await !cache.contains("old 0"))
    }

    @Test func entriesStoredBeforeTheClockWentBackAge() async {
        let cache = fixture.cache(ageLimit: .seconds(100))
        await cache.storeNow(Data(10, of: 1), for: "old")
        fixture.advance(seconds: -100_000_000)
        await cache.flush()
        #expect(await cache.contains("old"))
        fixture.advance(seconds: 101)
        await cache.flush()
        #expect(await !cache.contains("old"))
    }

    @Test func trimsWhenOpenedAfterTheClockWentBack() async {
        do {
            let cache = fixture.cache()
            await cache.storeNow(Data(30_000, of: 1), for: "old")
            await cache.flush()
        }
        fixture.advance(seconds: -100_000_000)
        #expect(await fixture.cache(sizeLimit: 20_000).count == 0)
    }

    @Test func trimRemovesFilesWithoutAnEntry() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(30_000, of: 1), for: "key")
        let file = try #require(fixture.valueFiles.first)
        let folder = URL(filePath: file).deletingLastPathComponent().path
        try Data(10, of: 0).write(to: URL(filePath: "\(folder)/fffff"))
        try Data(10, of: 0).write(to: URL(filePath: "\(folder)/not a number"))
        try fixture.folder.write(Data(10, of: 0), to: "cache/values-old/1")
        await cache.trim(toSize: .max)
        #expect(fixture.valueFiles == [file])
        #expect(await cache.data(for: "key") == Data(30_000, of: 1))
    }

    @Test func evictsToKeepTheFreeSpaceOfTheFileSystemAboveTheMinimum() async throws {
        let free = try #require(DiskDirectory(path: fixture.folder.path).freeByteCount)
        do {
            let cache = fixture.cache()
            for number in 0..<5 { await cache.storeNow(Data(50_000, of: 1), for: "\(number)") }
        }
        let cache = fixture.cache(freeSpaceFloor: free * 2)
        await cache.storeNow(Data(10, of: 2), for: "new")
        #expect(await cache.data(for: "new") == nil)
        #expect(await cache.count == 0)
        #expect(fixture.reported == [.system(errno: ENOSPC)])
    }

    @Test func unlimitedFreeSpaceIsAFiniteNumber() {
        #expect(DiskDirectory.byteCount(blockCount: 1_000, blockSize: 4_096) == 4_096_000)
        #expect(DiskDirectory.byteCount(blockCount: .max, blockSize: 4_096) == 1 << 50)
        #expect(DiskDirectory.byteCount(blockCount: .max, blockSize: 1) == 1 << 50)
    }

    @Test(arguments: [.max, .min] as [Int64])
    func theMinimumFreeSpaceMayBeAnyNumber(floor: Int64) async {
        let cache = fixture.cache(sizeLimit: nil, freeSpaceFloor: floor)
        await cache.storeNow(Data(10, of: 1), for: "key")
        #expect(await cache.contains("key") == (floor == .min))
    }

    @Test(arguments: [nil, .seconds(Int64.max), .seconds(Int64.min), .seconds(-1)] as [Duration?])
    func anAgeLimitMayBeAnyDuration(limit: Duration?) async {
        let cache = fixture.cache(ageLimit: limit)
        await cache.storeNow(Data(10, of: 1), for: "key")
        fixture.advance(seconds: 1)
        await cache.flush()
        #expect(await cache.contains("key") == (limit ?? .zero >= .zero))
    }

    @Test func anIndexWithAnImpossibleSizeIsMovedAside() async throws {
        await fixture.cache().storeNow(Data(10, of: 1), for: "key")
        do {
            let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
            try other.execute("UPDATE cache SET size = 9223372036854775807")
        }
        #expect(await fixture.cache(sizeLimit: nil).totalSize == 0)
        #expect(fixture.reported == [.corruptIndex(movedTo: "\(fixture.indexPath).corrupt-1")])
    }

    /// Numbers on a damaged page do not overflow, and the cache continues to work.
    @Test(arguments: [
        "UPDATE cache SET hits = 9223372036854775807", "UPDATE cache SET misses = -9223372036854775808",
        "UPDATE cache SET evictions = 9223372036854775807", "UPDATE cache SET count = -9223372036854775808",
        "UPDATE cache SET segment = 9223372036854775807", "UPDATE entry SET size = -9223372036854775808",
        "UPDATE entry SET size = 9223372036854775807", "UPDATE segment SET live_size = -9223372036854775808",
        "UPDATE segment SET live_count = -9223372036854775808",
    ])
    func survivesImpossibleNumbersInTheIndex(change: String) async throws {
        do {
            let cache = fixture.cache()
            for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "\(number)") }
            let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
            try other.execute(change)
        }
        let cache = fixture.cache()
        for number in 0..<5 { _ = await cache.data(for: "\(number)") }
        _ = await cache.statistics()
        for number in 0..<5 { cache.remove(for: "\(number)") }
        await cache.trim(toCount: 3)
        await cache.flush()
        _ = await cache.statistics()
        await cache.removeAll()
        await cache.storeNow(Data(10, of: 2), for: "new")
        #expect(await cache.data(for: "new") == Data(10, of: 2))
        #expect(await cache.count == 1)
    }

    /// The use is not yet written when the next store evicts.
    @Test(.enabled(if: SmallFileSystem.isAvailable, "needs the right to mount a small tmpfs"))
    func evictsInTheOrderOfUsesNotYetWritten() async throws {
        let disk = try SmallFileSystem(mebibytes: 16)
        let path = disk.path + "/cache"
        let filler = fixture.cache(at: path)
        for key in ["used", "unused", "other"] { await filler.storeNow(Data(1 << 20, of: 1), for: key) }
        let free = try #require(DiskDirectory(path: path).freeByteCount)
        let cache = fixture.cache(at: path, freeSpaceFloor: free - 256 << 10)
        // A cache numbers its events from the clock's time on.
        fixture.advance(seconds: 1)
        #expect(await cache.data(for: "used") != nil)
        await cache.storeNow(Data(1 << 20, of: 2), for: "new")
        #expect(await cache.entries().map(\.key) == ["used", "other", "new"])
        #expect(await cache.statistics().hitCount == 1)
    }

    /// It is not stored, so no entry is evicted for it.
    @Test(.enabled(if: SmallFileSystem.isAvailable, "needs the right to mount a small tmpfs"))
    func evictsNothingForAValueAboveTheSizeLimit() async throws {
        let disk = try SmallFileSystem(mebibytes: 16)
        let path = disk.path + "/cache"
        let filler = fixture.cache(at: path)
        for key in ["first", "second"] { await filler.storeNow(Data(1 << 20, of: 1), for: key) }
        let free = try #require(DiskDirectory(path: path).freeByteCount)
        let cache = fixture.cache(at: path, sizeLimit: 4 << 20, freeSpaceFloor: free - 256 << 10)
        await cache.storeNow(Data(5 << 20, of: 2), for: "too large")
        #expect(await cache.entries().map(\.key) == ["first", "second"])
        #expect(fixture.reported.isEmpty)
    }

    @Test func freesTheSpaceOfRemovedValues() async {
        let cache = fixture.cache()
        for number in 0..<500 { cache.store(Data(10_000, of: 1), for: "\(number)") }
        await cache.flush()
        await cache.removeAll()
        await cache.flush()
        var status = stat()
        #expect(stat(fixture.indexPath, &status) == 0)
        #expect(status.st_size < 500_000)
    }

    /// In MiB.
    @Test(
        arguments: [(0, 64), (640, 64), (650, 65), (5_000, 500), (10_240, 1_024), (1 << 20, 1_024)] as [(Int64, Int64)])
    func theDefaultLimitIsATenthOfTheFreeSpace(free: Int64, limit: Int64) {
        #expect(DiskWriter.defaultSizeLimit(available: free << 20) == limit << 20)
    }

    /// The cache's own values count as free, so that the limit does not shrink as it fills.
    @Test(.enabled(if: SmallFileSystem.isAvailable, "needs the right to mount a small tmpfs"))
    func theDefaultLimitDependsOnTheFileSystemOfTheDirectory() async throws {
        let disk = try SmallFileSystem(mebibytes: 1_000)
        let path = disk.path + "/cache"
        await fixture.cache(at: path, sizeLimit: nil).storeNow(Data(8 << 20, of: 1), for: "key")
        let cache = fixture.cache(at: path, sizeLimit: nil)
        #expect(await cache.totalSize == 8 << 20)
        let limit = await cache.afterWriting(\.sizeLimit)
        #expect(abs(limit - 100 << 20) < 1 << 20, "\(limit)")
    }

    @Test func hasTheDocumentedDefaults() {
        let configuration = fixture.configuration
        #expect(configuration.sizeLimit == nil)
        #expect(configuration.ageLimit == .seconds(30 * 24 * 3_600))
        #expect(configuration.freeSpaceFloor == 256 << 20)
        #expect(configuration.countLimit == nil)
        #expect(configuration.expiration == .never)
        #expect(configuration.expirationExtension == .none)
        #expect(configuration.evictionOrder == .access)
        #expect(configuration.fileThreshold == 256 << 10)
        #expect(configuration.usesChecksums)
        #expect(!configuration.allowsForeignDirectory)
    }
}
