import CacheCrashWriter
import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// The exact order of eviction.
@Suite(.timeLimit(.minutes(3))) struct DiskCacheLRUTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// Ten thousand uses; the cache is reopened after every thousand.
    @Test(.timeLimit(.minutes(2)))
    func evictsTheLeastRecentlyUsedAfterTenThousandUsesAndTenReopenings() async throws {
        var random = SplitMix64(seed: 11)
        var model = DiskCacheModel()
        var cache: DiskCache? = fixture.cache()
        for step in 0..<10_000 as Range<UInt64> {
            if step % 1_000 == 500 { try await reopen(&cache) }
            let current = try #require(cache)
            let key = "key \(Int.random(in: 0..<250, using: &random))"
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60:
                let expected = model.use(key)
                #expect(await current.data(for: key) == expected)
            case 60..<90:
                let byteCount = step % 20 == 0 ? 30_000 : Int.random(in: 1...500, using: &random)
                await current.storeNow(CheckedValue.make(key: key, version: step, byteCount: byteCount), for: key)
                model.store(version: step, byteCount: byteCount, for: key)
            case 90..<94:
                current.remove(for: key)
                model.remove(key)
            case 94..<99:
                // `contains` does not count as use.
                #expect(await current.contains(key) == model.contains(key))
            default: await current.flush()
            }
        }
        try await expectVictims(model.keys, in: #require(cache))
        #expect(fixture.reported.isEmpty)
    }

    /// The latest uses are only in memory until the cache is released.
    @Test func usesNotYetWrittenCountAfterReopening() async throws {
        var cache: DiskCache? = fixture.cache()
        var model = DiskCacheModel()
        for number in 0..<100 {
            await cache?.storeNow(Data(10, of: 1), for: "\(number)")
            model.store(version: 0, byteCount: 10, for: "\(number)")
        }
        var random = SplitMix64(seed: 3)
        for _ in 0..<300 {
            let key = "\(Int.random(in: 0..<100, using: &random))"
            #expect(await cache?.data(for: key) != nil)
            _ = model.use(key)
        }
        try await reopen(&cache)
        try await expectVictims(model.keys, in: #require(cache))
    }

    /// More than one batch of noted accesses, of which each is written while the next is noted.
    @Test func theOrderSurvivesMoreUsesThanOneBatchHolds() async throws {
        var cache: DiskCache? = fixture.cache()
        let keys = (0..<10_000).map { "\($0)" }
        for key in keys { cache?.store(Data(1, of: 1), for: key) }
        await cache?.flush()
        var random = SplitMix64(seed: 5)
        let used = keys.shuffled(using: &random)
        for key in used { #expect(await cache?.data(for: key) != nil) }
        try await reopen(&cache)
        let current = try #require(cache)
        await current.trim(toSize: 1_000)
        #expect(Set(await current.entries(limit: 20_000).map(\.key)) == Set(used.suffix(1_000)))
    }

    @Test func aUseDuringTheWriteOfAValueCounts() {
        var staging = DiskStaging(byteLimit: 1000)
        let attachments = DiskAttachments(DiskCache.Attributes(), standard: .never, now: 1)
        _ = staging.store(Data(10, of: 1), attachments, for: "used", now: 1, completion: nil)
        let batch = staging.nextBatch()
        _ = staging.finish(batch)
        _ = staging.noteAccess(to: "used", extendingBy: .none, now: 2)
        #expect(staging.nextBatch().accesses.byKey[KeyText("used")]?.time == 2)
    }

    /// A look-up that read the row earlier may need the use; the extended expiration is in the row.
    @Test func aUseJustWrittenIsStillKnown() {
        var staging = DiskStaging(byteLimit: 1_000)
        let number = DiskReader.EntryNumber(id: 1, generation: 1)
        _ = staging.noteAccess(to: number, expires: 50, now: 2)
        let batch = staging.accessBatch()
        #expect(staging.lastAccess(of: number) == 2 && staging.extendedExpiry(of: number) == 50)
        _ = staging.finish(batch)
        _ = staging.finish(staging.accessBatch())
        #expect(staging.lastAccess(of: number) == 2 && staging.extendedExpiry(of: number) == nil)
    }

    @Test func aUseOfAValueWaitingToBeWrittenCounts() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "first")
        for round in 0..<50 {
            // It varies whether they are written when they are looked up.
            cache.store(Data(10, of: 2), for: "used")
            cache.store(Data(10, of: 3), for: "unused")
            #expect(await cache.data(for: "used") != nil)
            await cache.trim(toSize: 10)
            #expect(await cache.contains("used"), "round \(round)")
            #expect(await cache.count == 1)
        }
    }

    private func reopen(_ cache: inout DiskCache?) async throws {
        try await fixture.end(&cache)
        // A cache numbers its events from the clock's time on.
        fixture.advance(seconds: 1)
        cache = fixture.cache()
    }

    /// Removes one entry after the other, by trimming to one byte less than the total.
    private func expectVictims(_ order: [String], in cache: DiskCache) async throws {
        #expect(await cache.count == order.count)
        for (place, victim) in order.enumerated() {
            #expect(await cache.contains(victim))
            await cache.trim(toSize: await cache.totalSize - 1)
            try #require(await !cache.contains(victim), "victim \(place) is another")
            try #require(await cache.count == order.count - place - 1)
        }
    }
}

/// Entries past the age limit are never found, and are soon removed. Times in the future count as now.
@Suite(.timeLimit(.minutes(1))) struct DiskCacheAgeTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func lookUpsDoNotFindEntriesPastTheAgeLimit(order: DiskCache.EvictionOrder) async throws {
        var cache: DiskCache? = fixture.cache(ageLimit: .seconds(100)) { $0.evictionOrder = order }
        await cache?.storeNow(Data(10, of: 1), for: "old")
        await cache?.storeNow(Data(30_000, of: 1), for: "other")
        fixture.advance(seconds: 99)
        #expect(await cache?.contains("old") == true)
        fixture.advance(seconds: 2)
        try await expectNothing(in: #require(cache))
        try await fixture.end(&cache)
        try await expectNothing(in: fixture.cache(ageLimit: .seconds(100)) { $0.evictionOrder = order })
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
                #expect(!cache.blockingContains("old") && cache.blockingData(for: "old") == nil)
                #expect(cache.blockingItem(for: "old") == nil && cache.blockingEntry(for: "old") == nil)
                continuation.resume()
            }
        }
    }

    /// Neither use nor update is on disk when it is looked up again.
    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func theAgeCountsFromTheTimeThatTheEvictionOrderUses(order: DiskCache.EvictionOrder) async {
        let cache = fixture.cache(ageLimit: .seconds(100)) { $0.evictionOrder = order }
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

    @Test func listingSkipsExpiredAndTooOldEntries() async {
        let cache = fixture.cache(ageLimit: .seconds(100))
        for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "old \(number)") }
        fixture.advance(seconds: 80)
        let brief = DiskCache.Attributes(expiration: .after(.seconds(10)))
        for number in 0..<10 { await cache.storeNow(Data(10, of: 1), for: "brief \(number)", attributes: brief) }
        await cache.storeNow(Data(10, of: 1), for: "good")
        fixture.advance(seconds: 30)
        #expect(await cache.entries(limit: 3).map(\.key) == ["good"])
    }

    @Test(arguments: [true, false])
    func theNextStoreRemovesTooOldAndExpiredEntries(expires: Bool) async {
        let cache = fixture.cache(ageLimit: .seconds(expires ? 1_000 : 100))
        let attributes = DiskCache.Attributes(expiration: expires ? .after(.seconds(100)) : nil)
        await cache.storeNow(Data(30_000, of: 1), for: "old", attributes: attributes)
        fixture.advance(seconds: 101)
        await cache.storeNow(Data(10, of: 1), for: "new")
        #expect(await cache.count == 1)
        #expect(fixture.valueFiles.isEmpty)
    }

    @Test(arguments: [true, false])
    func aTimerRemovesTooOldAndExpiredEntries(expires: Bool) async {
        let cache = fixture.cache(ageLimit: .seconds(expires ? 1_000 : 100), trimInterval: .milliseconds(10))
        let attributes = DiskCache.Attributes(expiration: expires ? .after(.seconds(100)) : nil)
        await cache.storeNow(Data(30_000, of: 1), for: "old", attributes: attributes)
        fixture.advance(seconds: 101)
        while await cache.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.valueFiles.isEmpty)
    }

    @Test func anIdleTimerDoesNotRetainTheCache() async throws {
        var cache: DiskCache? = fixture.cache(trimInterval: .milliseconds(1))
        await cache?.storeNow(Data(10, of: 1), for: "key")
        try await fixture.end(&cache)
    }

    // MARK: A clock that stood in the future

    private static let years64 = 64 * 31_557_600.0

    @Test(arguments: DiskCache.EvictionOrder.allCases)
    func entriesStoredInTheFutureCountAsStoredNow(order: DiskCache.EvictionOrder) async throws {
        fixture.advance(seconds: Self.years64)
        var cache: DiskCache? = fixture.cache(ageLimit: .seconds(1_000)) { $0.evictionOrder = order }
        await cache?.storeNow(Data(10, of: 1), for: "future")
        _ = await cache?.data(for: "future")
        try await fixture.end(&cache)
        fixture.advance(seconds: -Self.years64)
        let now = Date(microseconds: fixture.clock.withLock { $0 })
        let next = fixture.cache(ageLimit: .seconds(1_000)) { $0.evictionOrder = order }
        await next.flush()
        let entry = try #require(await next.entry(for: "future"))
        for time in [entry.created, entry.modified, entry.lastAccess] { #expect(time <= now) }
        await next.trim(toAge: .seconds(500))
        #expect(await next.count == 1)
        fixture.advance(seconds: 600)
        await next.trim(toAge: .seconds(500))
        #expect(await next.count == 0)
    }

    @Test func trimmingToAgeZeroRemovesEntriesStoredInTheFuture() async {
        fixture.advance(seconds: Self.years64)
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "future")
        fixture.advance(seconds: -Self.years64)
        await cache.trim(toAge: .zero)
        #expect(await cache.count == 0)
    }

    @Test func aLifetimeStartedInTheFutureStartsNow() async {
        fixture.advance(seconds: Self.years64)
        let cache = fixture.cache(ageLimit: .seconds(10_000))
        await cache.storeNow(Data(10, of: 1), for: "lifetime", attributes: .init(expiration: .after(.seconds(100))))
        let end = Date(microseconds: fixture.clock.withLock { $0 } + 100_000_000)
        await cache.storeNow(Data(10, of: 1), for: "date", attributes: .init(expiration: .date(end)))
        fixture.advance(seconds: -Self.years64)
        await cache.flush()
        fixture.advance(seconds: 99)
        #expect(await cache.contains("lifetime"))
        fixture.advance(seconds: 2)
        #expect(await !cache.contains("lifetime"))
        // An explicit date is kept.
        #expect(await cache.contains("date"))
    }

    @Test func aTimerResetsAccessTimesInTheFuture() async {
        fixture.advance(seconds: Self.years64)
        let cache = fixture.cache(ageLimit: .seconds(1_000), trimInterval: .milliseconds(10))
        await cache.storeNow(Data(10, of: 1), for: "future")
        fixture.advance(seconds: -Self.years64)
        let now = Date(microseconds: fixture.clock.withLock { $0 })
        while await (cache.entry(for: "future")?.lastAccess ?? now) > now, !Task.isCancelled { await Task.yield() }
        fixture.advance(seconds: 1_001)
        while await cache.count > 0, !Task.isCancelled { await Task.yield() }
    }
}

/// Random operations on a disk cache and on a simple model.
@Suite(.timeLimit(.minutes(3))) struct DiskCacheModelTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private static let sizeLimit: Int64 = 1_500_000
    private static let ageLimit = Duration.seconds(1_000.5)

    private func makeCache() -> DiskCache {
        fixture.cache(sizeLimit: Self.sizeLimit, ageLimit: Self.ageLimit) { $0.expirationExtension = .original }
    }

    /// Most values are small, some fill many pages, and some are empty.
    private static func byteCount(_ random: inout SplitMix64) -> Int {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: 0
        case 1..<14: Int.random(in: 1...2_000, using: &random)
        case 14..<19: Int.random(in: 2_000...40_000, using: &random)
        default: Int.random(in: 40_000...300_000, using: &random)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [1] as [UInt64])
    func behavesLikeADictionaryInOrderOfUse(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var model = DiskCacheModel(sizeLimit: Self.sizeLimit, ageLimit: Self.ageLimit)
        var cache: DiskCache? = makeCache()
        for step in 0..<ReleaseChecks.choose(4_000, forRelease: 10_000) as Range<UInt64> {
            if step % 500 == 499 { try await expect(cache, holds: model) }
            if Int.random(in: 0..<80, using: &random) == 0 {
                try await fixture.end(&cache)
                // A cache numbers its events from the clock's time on.
                fixture.advance(seconds: 1)
                model.time = fixture.clock.withLock { $0 }
                cache = makeCache()
                await cache?.flush()
                model.enforceLimits()
            }
            let current = try #require(cache)
            let key = "key \(Int.random(in: 0..<150, using: &random))"
            switch Int.random(in: 0..<1_000, using: &random) {
            case 0..<400:
                let expected = model.use(key)
                #expect(await current.data(for: key) == expected)
            case 400..<700:
                let byteCount = Self.byteCount(&random)
                let lifetime =
                    Int.random(in: 0..<3, using: &random) == 0 ? Int64.random(in: 1...600, using: &random) : nil
                await current.storeNow(
                    CheckedValue.make(key: key, version: step, byteCount: byteCount), for: key,
                    attributes: DiskCache.Attributes(expiration: lifetime.map { .after(.seconds($0)) }))
                model.store(version: step, byteCount: byteCount, for: key, lifetime: lifetime)
                // Limits apply after a store: a use before that would keep an entry that the model evicts.
                await withCheckedContinuation { stored in current.serialQueue.submit { stored.resume() } }
            case 700..<760:
                // Several at once, so that they share a batch, but few enough that none is evicted.
                guard model.size < Self.sizeLimit / 2 else { continue }
                for number in 0..<Int.random(in: 1...20, using: &random) {
                    let key = "key \(Int.random(in: 0..<150, using: &random))"
                    let version = step << 8 | UInt64(number)
                    let byteCount = min(Self.byteCount(&random), 40_000)
                    if Int.random(in: 0..<4, using: &random) == 0 {
                        current.remove(for: key)
                        model.remove(key)
                    } else {
                        current.store(CheckedValue.make(key: key, version: version, byteCount: byteCount), for: key)
                        model.store(version: version, byteCount: byteCount, for: key)
                    }
                }
                await current.flush()
                model.enforceLimits()
            case 760..<850:
                current.remove(for: key)
                model.remove(key)
            case 850..<920:
                #expect(await current.contains(key) == model.contains(key))
            case 920..<950:
                #expect(await current.count == model.count)
                #expect(await current.totalSize == model.size)
            case 950..<965:
                let target = Int64.random(in: Self.sizeLimit / 4...Self.sizeLimit, using: &random)
                await current.trim(toSize: target)
                model.trim(toSize: target)
            case 965..<985:
                fixture.advance(seconds: Double(Int.random(in: 1...300, using: &random)))
                model.time = fixture.clock.withLock { $0 }
                await current.flush()
                model.enforceLimits()
            case 985..<988:
                await current.removeAll()
                model.removeAll()
            default:
                await current.flush()
                model.enforceLimits()
            }
        }
        try await expect(cache, holds: model)
        #expect(fixture.reported.isEmpty)
    }

    private func expect(_ cache: DiskCache?, holds model: DiskCacheModel) async throws {
        let cache = try #require(cache)
        let entries = await cache.entries()
        #expect(Set(entries.map(\.key)) == Set(model.keys))
        for entry in entries { #expect(entry.byteCount == model.byteCount(of: entry.key)) }
        #expect(await cache.totalSize == model.size)
    }

    /// Each key counts its changes. A look-up finds the last change made before it began, or one made since.
    @Test(.timeLimit(.minutes(2)))
    func concurrentLookUpsFindTheLatestChange() async throws {
        let histories = (0..<40).map { History(key: "key \($0)") }
        let cache = fixture.cache()
        await withTaskGroup { group in
            for task in 0..<8 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix64(seed: task)
                    for step in 0..<3_000 {
                        let history = histories[Int.random(in: 0..<histories.count, using: &random)]
                        switch Int.random(in: 0..<20, using: &random) {
                        case 0..<10: await history.expectCurrentValue(in: cache)
                        case 10..<18: history.store(byteCount: Self.byteCount(&random) + 24, in: cache)
                        case 18: history.remove(in: cache)
                        default: if step % 25 == 0 { await cache.flush() }
                        }
                    }
                }
            }
        }
        for history in histories { await history.expectCurrentValue(in: cache) }
        await cache.flush()
        let reopened = fixture.cache()
        for history in histories { await history.expectCurrentValue(in: reopened) }
        #expect(await reopened.count == histories.count { $0.isPresent })
        #expect(fixture.reported.isEmpty)
    }
}

/// Uses of entries that are not written yet.
@Suite(.timeLimit(.minutes(1))) struct DiskAccessesTests {
    @Test func theLastUseOfEachEntryIsKeptInTheOrderOfTheirNumbers() {
        var accesses = DiskAccesses()
        for id in (0..<1_000).reversed() as [Int64] {
            accesses.note(.init(id: id, generation: 1), time: id, expires: id == 7 ? 70 : nil)
        }
        for id in [7, 700] as [Int64] { accesses.note(.init(id: id, generation: 1), time: 2_000 + id, expires: nil) }
        #expect(accesses.count == 1_000 && accesses.firstTime == 0)
        #expect(accesses.byID.map(\.id) == Array(0..<1_000))
        #expect(accesses.byID[7].access.time == 2_007 && accesses.byID[7].access.expires == 70)
        #expect(accesses.lastTime(.init(id: 700, generation: 1), key: nil) == 2_700)
        #expect(accesses.expires(.init(id: 7, generation: 1), key: nil) == 70)
        #expect(accesses.lastTime(.init(id: 1_000, generation: 1), key: nil) == nil)
    }

    @Test func usesOfAnotherIndexAreForgotten() {
        var accesses = DiskAccesses()
        accesses.note(.init(id: 1, generation: 1), time: 5, expires: nil)
        #expect(accesses.lastTime(.init(id: 1, generation: 2), key: nil) == nil)
        accesses.note(.init(id: 2, generation: 2), time: 6, expires: nil)
        #expect(accesses.count == 1 && accesses.byID.map(\.id) == [2])
        accesses.forgetEntries()
        #expect(accesses.isEmpty && accesses.byID.isEmpty)
    }
}
