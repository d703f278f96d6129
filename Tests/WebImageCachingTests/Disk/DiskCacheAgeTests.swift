import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// What is past the age limit is never found, and does not stay for long; and times that are still to come count as now.
@Suite(.timeLimit(.minutes(1))) struct DiskCacheAgeTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func noLookUpFindsWhatIsTooOld(order: DiskCache.EvictionOrder) async throws {
        var cache: DiskCache? = fixture.cache(ageLimit: 100) { $0.evictionOrder = order }
        await cache?.storeNow(Data(10, of: 1), for: "old")
        await cache?.storeNow(Data(30_000, of: 1), for: "other")
        fixture.advance(seconds: 99)
        #expect(await cache?.contains("old") == true)
        fixture.advance(seconds: 2)
        try await expectNothing(in: #require(cache))
        try await fixture.end(&cache)
        try await expectNothing(in: fixture.cache(ageLimit: 100) { $0.evictionOrder = order })
    }

    private func expectNothing(in cache: DiskCache) async throws {
        for key in ["old", "other"] {
            #expect(await cache.data(for: key) == nil)
            #expect(await cache.item(for: key) == nil)
            #expect(await cache.entry(for: key) == nil)
            #expect(await !cache.contains(key))
        }
        #expect(await cache.entries(limit: 1).isEmpty)
        await withCheckedContinuation { continuation in
            _ = PlatformThread.start(name: "test") {
                #expect(!cache.isCached("old") && cache.cachedData(for: "old") == nil)
                #expect(cache.cachedItem(for: "old") == nil && cache.cachedEntry(for: "old") == nil)
                continuation.resume()
            }
        }
    }

    /// Neither use nor update is on disk when it is looked up again.
    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func countsFromWhatTheOrderSays(order: DiskCache.EvictionOrder) async {
        let cache = fixture.cache(ageLimit: 100) { $0.evictionOrder = order }
        await cache.storeNow(Data(10, of: 1), for: "used")
        await cache.storeNow(Data(10, of: 1), for: "updated")
        fixture.advance(seconds: 60)
        _ = await cache.data(for: "used")
        cache.update(DiskCache.Attributes(extendedData: Data([1])), for: "updated")
        fixture.advance(seconds: 60)
        #expect(await cache.contains("used") == (order == .access))
        #expect(await cache.contains("updated") == (order == .modification))
        await cache.flush()
        #expect(await cache.contains("used") == (order == .access))
        #expect(await cache.contains("updated") == (order == .modification))
        #expect(await cache.count == (order == .creation ? 0 : 1))
    }

    @Test func entriesSkipsWhatHasGoneByTime() async {
        let cache = fixture.cache(ageLimit: 100)
        for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "old \(number)") }
        fixture.advance(seconds: 80)
        let brief = DiskCache.Attributes(expiration: .seconds(10))
        for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "brief \(number)", attributes: brief) }
        await cache.storeNow(Data(10, of: 1), for: "good")
        fixture.advance(seconds: 30)
        #expect(await cache.entries(limit: 3).map(\.key) == ["good"])
    }

    @Test(arguments: [true, false])
    func theNextStoreRemovesWhatIsTooOldOrExpired(expires: Bool) async {
        let cache = fixture.cache(ageLimit: expires ? 1_000 : 100)
        let attributes = DiskCache.Attributes(expiration: expires ? .seconds(100) : nil)
        await cache.storeNow(Data(30_000, of: 1), for: "old", attributes: attributes)
        fixture.advance(seconds: 101)
        await cache.storeNow(Data(10, of: 1), for: "new")
        #expect(await cache.count == 1)
        #expect(fixture.valueFiles.isEmpty)
    }

    @Test(arguments: [true, false])
    func aTimerRemovesWhatIsTooOldOrExpired(expires: Bool) async {
        let cache = fixture.cache(ageLimit: expires ? 1_000 : 100, upkeepInterval: 0.01)
        let attributes = DiskCache.Attributes(expiration: expires ? .seconds(100) : nil)
        await cache.storeNow(Data(30_000, of: 1), for: "old", attributes: attributes)
        fixture.advance(seconds: 101)
        while await cache.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.valueFiles.isEmpty)
    }

    @Test func aTimerWithoutWorkKeepsTheCacheNoLonger() async throws {
        var cache: DiskCache? = fixture.cache(upkeepInterval: 0.001)
        await cache?.storeNow(Data(10, of: 1), for: "key")
        try await fixture.end(&cache)
    }

    // MARK: A clock that stood in the future

    private static let years64 = 64 * 31_557_600.0

    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func whatWasStoredInTheFutureCountsAsStoredNow(order: DiskCache.EvictionOrder) async throws {
        fixture.advance(seconds: Self.years64)
        var cache: DiskCache? = fixture.cache(ageLimit: 1_000) { $0.evictionOrder = order }
        await cache?.storeNow(Data(10, of: 1), for: "future")
        _ = await cache?.data(for: "future")
        try await fixture.end(&cache)
        fixture.advance(seconds: -Self.years64)
        let now = Date(microseconds: fixture.clock.withLock { $0 })
        let next = fixture.cache(ageLimit: 1_000) { $0.evictionOrder = order }
        await next.flush()
        let entry = try #require(await next.entry(for: "future"))
        for time in [entry.created, entry.modified, entry.lastAccess] { #expect(time <= now) }
        await next.trim(toAge: 500)
        #expect(await next.count == 1)
        fixture.advance(seconds: 600)
        await next.trim(toAge: 500)
        #expect(await next.count == 0)
    }

    @Test func trimmingToNoAgeTakesWhatWasStoredInTheFutureToo() async {
        fixture.advance(seconds: Self.years64)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "future")
        fixture.advance(seconds: -Self.years64)
        await cache.trim(toAge: 0)
        #expect(await cache.count == 0)
    }

    @Test func aLifetimeThatBeganInTheFutureBeginsNow() async {
        fixture.advance(seconds: Self.years64)
        let cache = fixture.cache(ageLimit: 10_000)
        await cache.storeNow(Data(10, of: 1), for: "lifetime", attributes: .init(expiration: .seconds(100)))
        let end = Date(microseconds: fixture.clock.withLock { $0 } + 100_000_000)
        await cache.storeNow(Data(10, of: 1), for: "date", attributes: .init(expiration: .date(end)))
        fixture.advance(seconds: -Self.years64)
        await cache.flush()
        fixture.advance(seconds: 99)
        #expect(await cache.contains("lifetime"))
        fixture.advance(seconds: 2)
        #expect(await !cache.contains("lifetime"))
        // Whoever named a date meant it.
        #expect(await cache.contains("date"))
    }

    @Test func aTimerBringsTimesOfTheFutureBack() async {
        fixture.advance(seconds: Self.years64)
        let cache = fixture.cache(ageLimit: 1_000, upkeepInterval: 0.01)
        await cache.storeNow(Data(10, of: 1), for: "future")
        fixture.advance(seconds: -Self.years64)
        let now = Date(microseconds: fixture.clock.withLock { $0 })
        while await (cache.entry(for: "future")?.lastAccess ?? now) > now, !Task.isCancelled { await Task.yield() }
        fixture.advance(seconds: 1_001)
        while await cache.count > 0, !Task.isCancelled { await Task.yield() }
    }
}
