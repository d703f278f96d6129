import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// Limits that change while a cache is in use, and the functions that block.
@Suite(.timeLimit(.minutes(3))) struct DiskCacheChangedLimitTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private func filled(
        count: Int = 10, configure: (inout DiskCache.Configuration) -> Void = { _ in }
    ) async -> DiskCache {
        let cache = fixture.cache(configure: configure)
        for number in 0..<count {
            fixture.advance(seconds: 1)
            await cache.storeNow(Data(100, of: 1), for: "\(number)")
        }
        return cache
    }

    private func keys(_ cache: DiskCache) async -> [String] { await cache.entries().map(\.key) }

    @Test func aLowerSizeLimitRemovesTheLeastRecentlyUsed() async {
        let cache = await filled()
        _ = await cache.data(for: "0")
        cache.sizeLimit = 500
        #expect(cache.sizeLimit == 500)
        // Down to 90 %.
        #expect(await keys(cache) == ["0", "7", "8", "9"])
        await cache.storeNow(Data(501, of: 1), for: "large")
        #expect(await !cache.contains("large"))
    }

    @Test func aHigherSizeLimitKeepsMore() async {
        let cache = await filled(count: 0) { $0.sizeLimit = 100 }
        await cache.storeNow(Data(200, of: 1), for: "a")
        #expect(await cache.count == 0)
        cache.sizeLimit = 200
        await cache.storeNow(Data(200, of: 1), for: "a")
        #expect(await cache.count == 1)
        cache.sizeLimit = nil
        await cache.storeNow(Data(300, of: 1), for: "b")
        #expect(await cache.count == 2)
    }

    @Test func aLowerCountLimitRemovesTheLeastRecentlyUsed() async {
        let cache = await filled()
        cache.countLimit = 4
        #expect(cache.countLimit == 4)
        #expect(await keys(cache) == ["7", "8", "9"])
    }

    @Test func aLowerAgeLimitAppliesToLookUpsAtOnce() async {
        let cache = await filled(count: 3)
        fixture.advance(seconds: 10)
        await cache.storeNow(Data(100, of: 1), for: "new")
        cache.ageLimit = .seconds(5)
        #expect(cache.ageLimit == .seconds(5))
        #expect(await cache.data(for: "0") == nil)
        #expect(await cache.data(for: "new") != nil)
        #expect(await cache.count == 1)
        cache.ageLimit = nil
        fixture.advance(seconds: 1_000_000)
        #expect(await cache.data(for: "new") != nil)
    }

    @Test func aHigherFreeSpaceFloorEmptiesTheCache() async {
        let cache = await filled()
        #expect(cache.freeSpaceFloor == 0)
        cache.freeSpaceFloor = .max
        #expect(await cache.count == 0)
        cache.freeSpaceFloor = 0
        await cache.storeNow(Data(100, of: 1), for: "a")
        #expect(await cache.count == 1)
    }

    @Test func aLimitThatChangesCreatesNoDirectory() async throws {
        let unused = fixture.cache()
        unused.sizeLimit = 1
        #expect(DiskDirectory.names(in: fixture.folder.path).isEmpty)
        let cache = await filled(count: 1)
        try FileManager.default.removeItem(atPath: fixture.directory)
        cache.sizeLimit = 1
        let isOver = Countdown()
        cache.serialQueue.submit { isOver.signal() }
        try await isOver.wait()
        #expect(DiskDirectory.names(in: fixture.folder.path).isEmpty)
    }

    @Test func withoutATimerTheNextStoreRemovesOldEntries() async {
        let cache = fixture.cache(ageLimit: .seconds(100), trimInterval: nil)
        await cache.storeNow(Data(10, of: 1), for: "old")
        fixture.advance(seconds: 101)
        #expect(await cache.count == 1)
        await cache.storeNow(Data(10, of: 1), for: "new")
        #expect(await keys(cache) == ["new"])
    }

    @Test func statisticsHaveTheNameOfTheCache() async {
        #expect(await fixture.cache().statistics().name == nil)
        #expect(await fixture.cache { $0.name = "covers" }.statistics().name == "covers")
        let values = Cache<Data>(directory: fixture.folder.url("profiles"), archiver: .identity)
        #expect(values.name == "profiles" && values.memory.statistics.name == "profiles")
        #expect(await values.disk.statistics().name == "profiles")
    }

    @Test func pixelsHaveALimitOfTheirOwn() async throws {
        let cache = ImageCache(disk: fixture.cache { $0.name = "covers" })
        #expect(cache.pixelByteLimit == 100 << 20)
        cache.pixelByteLimit = 1_000
        #expect(cache.pixelByteLimit == 1_000 && cache.disk?.sizeLimit == 100 << 20)
        #expect(ImageCache(disk: nil).pixelByteLimit == nil)
    }

    // MARK: Blocking

    @Test func supportsBlockingCallers() {
        let cache = fixture.cache()
        for number in 0..<4 {
            fixture.advance(seconds: 1)
            cache.store(Data(100, of: 1), for: "\(number)")
        }
        #expect(cache.blockingCount == 4 && cache.blockingTotalSize == 400)
        cache.blockingTrim(toCount: 2)
        #expect(cache.blockingCount == 2 && cache.blockingContains("3") && !cache.blockingContains("0"))
        cache.blockingTrim(toSize: 100)
        #expect(cache.blockingTotalSize == 100)
        let progress = LockBox<[Int]>([])
        cache.blockingRemoveAll { removed, _ in progress.withLock { $0.append(removed) } }
        #expect(cache.blockingCount == 0 && progress.withLock { $0 } == [0, 1])
        #expect(!cache.blockingContains("3"))
    }

    @Test func aCacheOfValuesSupportsBlockingCallers() throws {
        let cache = Cache<Data>(disk: fixture.cache(), archiver: .identity)
        for number in 0..<4 {
            fixture.advance(seconds: 1)
            try cache.set(Data(100, of: 1), for: "\(number)")
        }
        cache.blockingTrim(toCount: 2)
        #expect(cache.disk.blockingCount == 2 && cache.memory.count == 2)
        cache.blockingRemoveAll()
        #expect(cache.disk.blockingCount == 0 && cache.memory.count == 0)
        #expect(cache.blockingValue(for: "3") == nil)
    }
}
