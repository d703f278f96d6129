import CacheCrashWriter
import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImageCaching

/// Random operations, on a disk cache and on a model that anybody can check by reading it.
@Suite struct DiskCacheModelTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private static let sizeLimit: Int64 = 1_500_000
    private static let ageLimit = 1_000.5

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
        for step in 0..<10_000 as Range<UInt64> {
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
                    attributes: DiskCache.Attributes(expiration: lifetime.map { .seconds(Double($0)) }))
                model.store(version: step, byteCount: byteCount, for: key, lifetime: lifetime)
                // Limits are applied after a store has ended: a use meanwhile would spare what the model has let go.
                await withCheckedContinuation { stored in current.lane.submit { stored.resume() } }
            case 700..<760:
                // Several at once, so that they share a batch; few enough that none has to go for them.
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
    func concurrentLookUpsFindTheLastChangeOrALaterOne() async throws {
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
