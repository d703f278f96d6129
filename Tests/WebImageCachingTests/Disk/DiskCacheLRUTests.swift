import CacheCrashWriter
import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// Which entry goes first, exactly.
@Suite struct DiskCacheLRUTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// Ten thousand uses, and every thousand the cache is closed and opened again.
    @Test(.timeLimit(.minutes(2)))
    func theVictimIsTheLeastRecentlyUsedAfterTenThousandUsesAndTenReopenings() async throws {
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
                // Asking is no use.
                #expect(await current.contains(key) == model.contains(key))
            default: await current.flush()
            }
        }
        try await expectVictims(model.keys, in: #require(cache))
        #expect(fixture.reported.isEmpty)
    }

    /// The uses of the last moments are in memory only, until the cache ends.
    @Test func usesThatWereNotWrittenYetCountAfterAReopening() async throws {
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
        let keys = (0..<20_000).map { "\($0)" }
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

    @Test func aUseOfAValueThatIsWrittenJustThenCounts() {
        var staging = DiskStaging(byteLimit: 1000)
        let attachments = DiskAttachments(DiskCache.Attributes(), standard: .never, now: 1)
        _ = staging.store(Data(10, of: 1), attachments, for: "used", now: 1, completion: nil)
        let batch = staging.nextBatch()
        _ = staging.finish(batch)
        _ = staging.noteAccess(to: "used", extendingBy: .none, now: 2)
        #expect(staging.nextBatch().accesses.byKey[KeyText("used")]?.time == 2)
    }

    /// Who has read its row before may ask afterwards. What has been put off by it stands in the row.
    @Test func aUseThatHasJustBeenWrittenIsStillKnown() {
        var staging = DiskStaging(byteLimit: 1_000)
        let number = DiskReader.EntryNumber(id: 1, generation: 1)
        _ = staging.noteAccess(to: number, expires: 50, now: 2)
        let batch = staging.accessBatch()
        #expect(staging.lastAccess(of: number) == 2 && staging.extendedExpiry(of: number) == 50)
        _ = staging.finish(batch)
        _ = staging.finish(staging.accessBatch())
        #expect(staging.lastAccess(of: number) == 2 && staging.extendedExpiry(of: number) == nil)
    }

    @Test func aUseOfAValueThatWaitsToBeWrittenCounts() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "first")
        for round in 0..<50 {
            // Whether they are written yet when they are looked up, is chance.
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

    /// Takes one entry after the other, by trimming to one byte less than there are.
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
