import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageCaching

@Suite struct WeakTierTests {
    private final class Value: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    private func fixture(
        _ configure: (inout MemoryCache<Int, Value>.Configuration) -> Void = { _ in }
    ) -> MemoryCacheFixture<Int, Value> {
        MemoryCacheFixture { configuration in
            configuration.revival = .weak
            configure(&configuration)
        }
    }

    @Test func findsAnEvictedValueThatIsAlive() {
        let fixture = fixture { $0.costLimit = 10 }
        let shown = Value(1)
        fixture.cache.set(shown, for: 1, cost: 7)
        fixture.cache.set(Value(2), for: 2, cost: 8)
        #expect(fixture.cache.totalCost == 8)
        #expect(fixture.cache.contains(1))
        #expect(fixture.cache.value(for: 1) === shown)
        #expect(fixture.cache.totalCost == 7, "it is back with its cost, and the other one had to go")
        #expect(fixture.cache.value(for: 2) == nil)
        let statistics = fixture.cache.statistics
        #expect(statistics.weakHitCount == 1 && statistics.missCount == 1 && statistics.hitCount == 0)
    }

    /// The first time it is revived, the second time the cache has it again.
    @Test func aValueOfNoUseIsAMissWhereverItWasFound() {
        let fixture = fixture { $0.countLimit = 1 }
        let shown = Value(1)
        fixture.cache.set(shown, for: 1)
        fixture.cache.set(Value(2), for: 2)
        for missCount in 1...2 {
            let refused = fixture.cache.value(for: 1, countsHit: true, countsMiss: true, where: { $0.number == 2 })
            #expect(refused == nil)
            let statistics = fixture.cache.statistics
            #expect(statistics.hitCount == 0 && statistics.weakHitCount == 0 && statistics.missCount == missCount)
        }
        let found = fixture.cache.value(for: 1, countsHit: true, countsMiss: true, where: { $0.number == 1 })
        #expect(found === shown)
        #expect(fixture.cache.statistics.hitCount == 1 && fixture.cache.statistics.missCount == 2)
    }

    @Test func aLookUpCountsOnlyAsFarAsItIsTold() {
        let fixture = fixture { $0.countLimit = 1 }
        let shown = Value(1)
        fixture.cache.set(shown, for: 1)
        fixture.cache.set(Value(2), for: 2)
        for key in [1, 1, 3] {
            let value = fixture.cache.value(for: key, countsHit: false, countsMiss: false, where: { _ in true })
            let expected = key == 1 ? shown : nil
            #expect(value === expected)
        }
        let statistics = fixture.cache.statistics
        #expect(statistics.hitCount == 0 && statistics.weakHitCount == 0 && statistics.missCount == 0)
    }

    @Test func doesNotKeepValuesAlive() {
        let fixture = fixture { $0.countLimit = 1 }
        weak var gone: Value?
        do {
            let value = Value(1)
            gone = value
            fixture.cache.set(value, for: 1)
        }
        #expect(gone != nil)
        fixture.cache.set(Value(2), for: 2)
        #expect(gone == nil)
        #expect(fixture.cache.value(for: 1) == nil)
    }

    @Test func forgetsWhatWasRemovedOrReplaced() {
        let fixture = fixture()
        let (first, second, third) = (Value(1), Value(2), Value(3))
        fixture.cache.set(first, for: 1)
        fixture.cache.remove(for: 1)
        #expect(fixture.cache.value(for: 1) == nil)
        fixture.cache.set(first, for: 1)
        fixture.cache.set(second, for: 1)
        fixture.cache.trim(toCount: 0)
        #expect(fixture.cache.value(for: 1) === second)
        fixture.cache.set(third, for: 3)
        fixture.cache.trim(toCount: 0)
        fixture.cache.removeAll()
        #expect(fixture.cache.value(for: 1) == nil && fixture.cache.value(for: 3) == nil)
        withExtendedLifetime((first, second, third)) {}
    }

    @Test func doesNotReviveWhatHasExpired() {
        let fixture = fixture { $0.expirationExtension = .original }
        let value = Value(1)
        fixture.cache.set(value, for: 1, expiration: .seconds(10))
        fixture.ticking.advance(seconds: 6)
        _ = fixture.cache.value(for: 1)
        fixture.cache.trim(toCount: 0)
        fixture.ticking.advance(seconds: 6)
        #expect(fixture.cache.value(for: 1) === value, "the use had lengthened it")
        fixture.cache.trim(toCount: 0)
        fixture.ticking.advance(seconds: 10)
        #expect(!fixture.cache.contains(1))
        #expect(fixture.cache.value(for: 1) == nil)
    }

    @Test func insertingFindsTheLivingValueFirst() {
        let fixture = fixture()
        let value = Value(1)
        fixture.cache.set(value, for: 1)
        fixture.cache.trim(toCount: 0)
        #expect(!fixture.cache.insert(Value(2), for: 1))
        #expect(fixture.cache.value(for: 1) === value)
        #expect(fixture.cache.count == 1)
    }

    @Test func findsAValueThatIsTooExpensiveToKeep() {
        let fixture = fixture { $0.entryCostLimit = 10 }
        let value = Value(1)
        fixture.cache.set(value, for: 1, cost: 11)
        #expect(fixture.cache.count == 0)
        #expect(fixture.cache.value(for: 1) === value)
        #expect(fixture.cache.count == 0)
    }

    @Test func sweepsTheDeadOut() {
        let fixture = fixture { $0.countLimit = 10 }
        for number in 0..<100_000 { fixture.cache.set(Value(number), for: number) }
        let entryCount = fixture.cache.shards.all.reduce(0) { $0 + $1.weakTier.entries.count }
        #expect(entryCount <= fixture.cache.shards.count * (WeakTier<Int, Value>.leastSweepCount + 20))
        #expect(entryCount >= 10)
    }

    @Test func survivesEmptyingUnderPressureAndInTheBackground() {
        let source = ManualMemoryPressure()
        let fixture = fixture { $0.pressureSource = source }
        let value = Value(1)
        fixture.cache.set(value, for: 1)
        source.report(.critical)
        #expect(fixture.cache.count == 0)
        #expect(fixture.cache.value(for: 1) === value)
        fixture.cache.didEnterBackground()
        #expect(fixture.cache.count == 0)
        #expect(fixture.cache.value(for: 1) === value)
    }

    @Test func revivesPicturesWhosePixelsAreShown() throws {
        let cache = MemoryCacheFixture<Int, Image> { $0.revival = .weakPixels }.cache
        let pixels = try MutablePixelBuffer(width: 2, height: 2).freeze(isOpaque: true)
        cache.set(
            Image(pixels: pixels, scale: 2, format: .png, frameCount: 3, isPartial: true, isThumbnail: true), for: 1)
        var shown: Image? = Image(pixels: pixels, data: .init([1]))
        if let shown { cache.set(shown, for: 2) }
        cache.trim(toCount: 0)
        let image = try #require(cache.value(for: 1))
        #expect(image.pixels === pixels && image.scale == 2 && image.format == .png && image.frameCount == 3)
        #expect(image.isPartial && image.isThumbnail && !image.isTransformed)
        #expect(cache.value(for: 2)?.data == .init([1]))
        cache.trim(toCount: 0)
        #expect(cache.value(for: 2)?.data == .init([1]), "the bytes are the shown picture's")
        cache.trim(toCount: 0)
        shown = nil
        #expect(cache.value(for: 2) == nil, "its pixels are alive, its bytes are not")
        #expect(cache.contains(1))
    }

    @Test func releasesReferencesOutsideTheLock() {
        final class Probe: Sendable {
            let release: @Sendable () -> Void
            init(release: @escaping @Sendable () -> Void) { self.release = release }
            deinit { release() }
        }
        let releases = Lock(0)
        let cache = Lock<MemoryCache<Int, Int>?>(nil)
        let fixture = MemoryCacheFixture<Int, Int> { configuration in
            configuration.entryCostLimit = 9
            configuration.revival = ValueRevival { value in
                let probe = Probe {
                    // Under the lock this would never return.
                    _ = cache.withLock { $0 }?.statistics
                    releases.withLock { $0 += 1 }
                }
                guard value >= 0 else { return nil }
                return { () -> Int? in withExtendedLifetime(probe) { value % 2 == 0 ? value : nil } }
            }
        }
        cache.withLock { $0 = fixture.cache }
        defer { cache.withLock { $0 = nil } }
        func count(_ body: () -> Void) -> Int {
            releases.withLock { $0 = 0 }
            body()
            return releases.withLock { $0 }
        }
        #expect(count { fixture.cache.set(2, for: 1) } == 0)
        #expect(count { fixture.cache.set(4, for: 1) } == 1, "replaced")
        #expect(count { fixture.cache.remove(for: 1) } == 1, "removed")
        fixture.cache.set(2, for: 1)
        // The value that can't be referred to takes a probe of its own with it.
        #expect(count { fixture.cache.set(-1, for: 1) } == 2, "no longer to be found")
        fixture.cache.set(2, for: 1, expiration: .seconds(1))
        fixture.ticking.advance(seconds: 2)
        #expect(count { fixture.cache.removeExpired() } == 1, "expired")
        fixture.cache.set(1, for: 1, cost: 10)
        #expect(count { _ = fixture.cache.value(for: 1) } == 1, "dead")
        #expect(count { for key in 0..<2_000 { fixture.cache.set(1, for: key, cost: 10) } } > 500, "swept out")
    }
}
