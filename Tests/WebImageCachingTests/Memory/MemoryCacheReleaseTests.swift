import FoundationEssentials
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct WeakTierTests {
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

    @Test func findsAnEvictedValueStillInUse() {
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

    /// The first look-up revives the value, the second finds it in the cache.
    @Test func aRejectedValueIsAMiss() {
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

    @Test func countsHitsAndMissesOnlyIfRequested() {
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

    @Test func doesNotRetainValues() {
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

    @Test func forgetsRemovedAndReplacedValues() {
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

    @Test func doesNotReviveExpiredValues() {
        let fixture = fixture { $0.expirationExtension = .original }
        let value = Value(1)
        fixture.cache.set(value, for: 1, expiration: .after(.seconds(10)))
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

    @Test func insertDoesNotReplaceAnEvictedValueStillInUse() {
        let fixture = fixture()
        let value = Value(1)
        fixture.cache.set(value, for: 1)
        fixture.cache.trim(toCount: 0)
        #expect(!fixture.cache.insert(Value(2), for: 1))
        #expect(fixture.cache.value(for: 1) === value)
        #expect(fixture.cache.count == 1)
    }

    @Test func findsAValueAboveTheCostLimit() {
        let fixture = fixture { $0.entryCostLimit = 10 }
        let value = Value(1)
        fixture.cache.set(value, for: 1, cost: 11)
        #expect(fixture.cache.count == 0)
        #expect(fixture.cache.value(for: 1) === value)
        #expect(fixture.cache.count == 0)
    }

    @Test func keepsNoSlotsForReleasedValues() {
        let fixture = fixture { $0.countLimit = 10 }
        for number in 0..<2_000 { fixture.cache.set(Value(number), for: number) }
        #expect(slotCount(of: fixture.cache) == 10)
    }

    @Test func removesTheSlotsOfReleasedValues() {
        let fixture = fixture { $0.countLimit = 10 }
        for number in 0..<10_000 {
            let value = Value(number)
            fixture.cache.set(value, for: number)
            fixture.cache.remove(for: number - 20)
            // The value is evicted while in use, and released afterwards.
            withExtendedLifetime(value) { fixture.cache.trim(toCount: 0) }
        }
        #expect(slotCount(of: fixture.cache) <= MemoryTable<Int, Value>.minimumSweepCount)
    }

    private func slotCount(of cache: MemoryCache<Int, Value>) -> Int {
        cache.table.withLock { $0.index.count }
    }

    @Test func findsValuesInUseAfterPressureAndInTheBackground() {
        let source = MemoryPressureSource()
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

    @Test func revivesImagesWhosePixelsAreInUse() throws {
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
        #expect(cache.value(for: 2)?.data == .init([1]), "the bytes are the shown image's")
        cache.trim(toCount: 0)
        shown = nil
        #expect(cache.value(for: 2) == nil, "its pixels are alive, its bytes are not")
        #expect(cache.contains(1))
    }

    /// If values were released under a lock, this would deadlock.
    @Test func valuesReleasedDuringALookUpAreReleasedOutsideTheLock() async {
        final class Reentrant: Sendable {
            let cache: MemoryCache<Int, Reentrant>
            init(_ cache: MemoryCache<Int, Reentrant>) { self.cache = cache }
            deinit { for key in 0..<4 { cache.remove(for: -1 - key) } }
        }
        let cache = MemoryCacheFixture<Int, Reentrant> { configuration in
            configuration.revival = .weak
            configuration.countLimit = 4
        }.cache
        await withTaskGroup { group in
            for part in 0..<4 {
                group.addTask {
                    for number in 0..<1_000 {
                        let value = Reentrant(cache)
                        cache.set(value, for: number % 300)
                        withExtendedLifetime(value) {}
                        _ = cache.value(for: (number + part) % 300)
                        _ = cache.contains((number + 1) % 300)
                    }
                }
            }
        }
        cache.removeAll()
        #expect(cache.count == 0)
    }
}

@Suite(.timeLimit(.minutes(3))) struct ValueReleaseTests {
    /// Records the label of the thread that releases it, which the test's executor sets.
    private final class Probe: Sendable {
        let onRelease: @Sendable () -> Void
        init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
        deinit { onRelease() }
    }

    @Test func releasesOnTheCallersThreadByDefault() {
        let released = LockBox(0)
        let fixture = MemoryCacheFixture<Int, Probe> { $0.countLimit = 1 }
        let probe: () -> Probe = { Probe { released.withLock { $0 += 1 } } }
        fixture.cache.set(probe(), for: 1)
        fixture.cache.set(probe(), for: 1)
        #expect(released.withLock { $0 } == 1, "replaced")
        fixture.cache.set(probe(), for: 2)
        #expect(released.withLock { $0 } == 2, "evicted")
        fixture.cache.remove(for: 2)
        #expect(released.withLock { $0 } == 3, "removed")
        fixture.cache.set(probe(), for: 3)
        fixture.cache.removeAll()
        #expect(released.withLock { $0 } == 4, "removed with all")
    }

    @Test func releasesOnTheExecutor() {
        let released = LockBox(0)
        let work = LockBox<[@Sendable () -> Void]>([])
        var fixture: MemoryCacheFixture<Int, Probe>? = MemoryCacheFixture { configuration in
            configuration.countLimit = 2
            configuration.valueRelease = .custom { body in work.withLock { $0.append(body) } }
        }
        func run() -> Int {
            // The closures are retained: this checks where they run.
            for body in work.withLock({ $0 }) { body() }
            defer { released.withLock { $0 = 0 } }
            return released.withLock { $0 }
        }
        for key in 0..<5 { fixture?.cache.set(Probe { released.withLock { $0 += 1 } }, for: key) }
        #expect(released.withLock { $0 } == 0)
        #expect(run() == 3)
        fixture?.cache.trim(toCount: 1)
        #expect(released.withLock { $0 } == 0)
        #expect(run() == 1)
        fixture?.cache.removeAll()
        #expect(released.withLock { $0 } == 0)
        #expect(run() == 1)
        fixture?.cache.set(Probe { released.withLock { $0 += 1 } }, for: 9)
        fixture = nil
        #expect(released.withLock { $0 } == 0, "what the cache holds at its end")
        #expect(run() == 1)
    }

    @Test func releasesInTheBackground() async throws {
        let gate = Countdown()
        let isHeld = LockBox(true)
        let wasHeld = LockBox<Bool?>(nil)
        let fixture = MemoryCacheFixture<Int, Probe> { $0.valueRelease = .background }
        let probe: () -> Probe = {
            Probe {
                // Released on the caller's thread, which holds the lock, this would deadlock.
                isHeld.withLock { isHeld in wasHeld.withLock { $0 = isHeld } }
                gate.signal()
            }
        }
        fixture.cache.set(probe(), for: 1)
        isHeld.withLock { isHeld in
            fixture.cache.removeAll()
            isHeld = false
        }
        try await gate.wait()
        #expect(wasHeld.withLock { $0 } == false)
    }
}
