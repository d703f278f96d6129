import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct MemoryCacheTests {
    @Test func findsStoredValues() {
        let cache = MemoryCache<String, Int>(costLimit: 100)
        cache.set(1, for: "a", cost: 10)
        cache.set(2, for: "b", cost: 20)
        #expect(cache.value(for: "a") == 1)
        #expect(cache.value(for: "b") == 2)
        #expect(cache.value(for: "c") == nil)
        #expect(cache.contains("a"))
        #expect(!cache.contains("c"))
        #expect(cache.count == 2)
        #expect(cache.totalCost == 30)
    }

    @Test func replacesAValueAndItsCost() {
        let cache = MemoryCache<String, Int>(costLimit: 100)
        cache.set(1, for: "a", cost: 90)
        cache.set(2, for: "a", cost: 15)
        #expect(cache.value(for: "a") == 2)
        #expect(cache.count == 1)
        #expect(cache.totalCost == 15)
    }

    @Test func evictsTheLeastRecentlyUsedEntry() {
        let cache = MemoryCache<Int, Int>(costLimit: .max, countLimit: 3)
        for key in 1...3 { cache.set(key, for: key) }
        _ = cache.value(for: 1)
        cache.set(4, for: 4)
        #expect(!cache.contains(2))
        #expect(cache.contains(1) && cache.contains(3) && cache.contains(4))
    }

    @Test func containsDoesNotCountAsUse() {
        let cache = MemoryCache<Int, Int>(costLimit: .max, countLimit: 2)
        cache.set(1, for: 1)
        cache.set(2, for: 2)
        _ = cache.contains(1)
        cache.set(3, for: 3)
        #expect(!cache.contains(1))
    }

    @Test func keepsTheCostBelowItsLimit() {
        let cache = MemoryCache<Int, Int>(costLimit: 100)
        for key in 1...4 { cache.set(key, for: key, cost: 30) }
        #expect(cache.totalCost == 90)
        #expect(!cache.contains(1))
        cache.set(5, for: 5, cost: 95)
        #expect(cache.count == 1)
        #expect(cache.totalCost == 95)
    }

    @Test func storesNoEntryAboveTheCostLimitAndRemovesTheOneItReplaces() {
        let cache = MemoryCache<Int, Int>(costLimit: 100)
        cache.set(1, for: 1, cost: 10)
        cache.set(2, for: 2, cost: 10)
        cache.set(3, for: 1, cost: 101)
        #expect(cache.value(for: 1) == nil)
        #expect(cache.value(for: 2) == 2)
        #expect(cache.totalCost == 10)
    }

    @Test func countsANegativeCostAsZero() {
        let cache = MemoryCache<Int, Int>(costLimit: 100)
        cache.set(1, for: 1, cost: -50)
        #expect(cache.totalCost == 0)
    }

    @Test func doesNotOverflowWithTheGreatestCosts() {
        let cache = MemoryCache<Int, Int>(costLimit: .max)
        cache.set(1, for: 1, cost: .max / 2)
        cache.set(2, for: 2, cost: .max / 2)
        cache.set(3, for: 3, cost: .max)
        #expect(cache.count == 1)
        #expect(cache.value(for: 2) == 2)
    }

    @Test func insertDoesNotReplaceAValue() {
        let cache = MemoryCache<String, Int>(costLimit: 10, countLimit: 2)
        #expect(cache.insert(1, for: "a", cost: 1))
        #expect(!cache.insert(2, for: "a", cost: 5))
        #expect(cache.value(for: "a") == 1)
        #expect(cache.totalCost == 1)
        #expect(!cache.insert(3, for: "b", cost: 11), "it costs more than all may")
        cache.set(4, for: "c")
        cache.insert(5, for: "a")
        cache.set(6, for: "d")
        #expect(cache.contains("a"), "an attempt counts as a use")
    }

    @Test func removesAndReturnsAValue() {
        let cache = MemoryCache<Int, Int>(costLimit: 100)
        cache.set(1, for: 1, cost: 10)
        #expect(cache.remove(for: 1) == 1)
        #expect(cache.remove(for: 1) == nil)
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
    }

    @Test func removeAllKeepsTheLimits() {
        let cache = MemoryCache<Int, Int>(costLimit: 100, countLimit: 2)
        cache.set(1, for: 1, cost: 10)
        cache.removeAll()
        #expect(cache.count == 0)
        #expect(cache.totalCost == 0)
        #expect(cache.costLimit == 100)
        #expect(cache.countLimit == 2)
        cache.set(2, for: 2)
        #expect(cache.value(for: 2) == 2)
    }

    @Test func trimsToACostAndToACount() {
        let cache = MemoryCache<Int, Int>(costLimit: 1_000)
        for key in 1...10 { cache.set(key, for: key, cost: 10) }
        cache.trim(toCost: 75)
        #expect(cache.totalCost == 70)
        #expect(!cache.contains(3) && cache.contains(4))
        cache.trim(toCount: 2)
        #expect(cache.count == 2)
        #expect(cache.contains(9) && cache.contains(10))
        cache.trim(toCount: 0)
        #expect(cache.count == 0)
    }

    @Test func lowerLimitsTakeEffectImmediately() {
        let cache = MemoryCache<Int, Int>(costLimit: 1_000)
        for key in 1...10 { cache.set(key, for: key, cost: 10) }
        cache.costLimit = 50
        #expect(cache.count == 5)
        cache.countLimit = 1
        #expect(cache.count == 1)
        #expect(cache.contains(10))
        cache.countLimit = 0
        cache.set(11, for: 11)
        #expect(cache.count == 0)
    }

    @Test func releasesValuesOutsideTheLock() {
        final class Reentrant: Sendable {
            let cache: MemoryCache<Int, Reentrant>
            init(_ cache: MemoryCache<Int, Reentrant>) { self.cache = cache }
            // Under the lock this would deadlock.
            deinit { _ = cache.count }
        }
        let cache = MemoryCache<Int, Reentrant>(costLimit: 10, countLimit: 2)
        for key in 0..<5 { cache.set(Reentrant(cache), for: key) }
        cache.set(Reentrant(cache), for: 4)
        cache.set(Reentrant(cache), for: 4, cost: 11)
        cache.remove(for: 3)
        for key in 0..<5 { cache.set(Reentrant(cache), for: key) }
        cache.trim(toCount: 1)
        cache.removeAll()
        #expect(cache.count == 0)
    }

    @Test func releasesKeysOutsideTheLock() {
        final class ReentrantKey: Hashable, Sendable {
            let number: Int
            let release: @Sendable () -> Void
            init(_ number: Int, release: @escaping @Sendable () -> Void) {
                (self.number, self.release) = (number, release)
            }
            deinit { release() }
            static func == (first: ReentrantKey, second: ReentrantKey) -> Bool { first.number == second.number }
            func hash(into hasher: inout Hasher) { hasher.combine(number) }
        }
        let releases = LockBox(0)
        let cache = MemoryCache<ReentrantKey, Int>(costLimit: .max, countLimit: 2)
        for number in 0..<5 {
            // Under the lock this would deadlock.
            let key = ReentrantKey(number) { [weak cache] in
                _ = cache?.statistics
                releases.withLock { $0 += 1 }
            }
            cache.set(number, for: key)
        }
        #expect(releases.withLock { $0 } == 3)
        cache.removeAll()
        #expect(releases.withLock { $0 } == 5)
    }

    @Test func findsEntriesWhoseHashesCollide() {
        struct Colliding: Hashable {
            let number: Int
            func hash(into hasher: inout Hasher) { hasher.combine(number % 3) }
        }
        let cache = MemoryCache<Colliding, Int>(costLimit: .max)
        for number in 0..<200 { cache.set(number, for: Colliding(number: number)) }
        for number in stride(from: 0, to: 200, by: 2) { cache.remove(for: Colliding(number: number)) }
        for number in 0..<200 {
            #expect(cache.value(for: Colliding(number: number)) == (number % 2 == 0 ? nil : number))
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct MemoryCacheExpirationTests {
    @Test func doesNotReturnExpiredValues() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1, cost: 5, expiration: .after(.seconds(10)))
        fixture.cache.set(2, for: 2, expiration: .never)
        fixture.ticking.advance(seconds: 9)
        #expect(fixture.cache.value(for: 1) == 1)
        fixture.ticking.advance(seconds: 1)
        #expect(!fixture.cache.contains(1))
        #expect(fixture.cache.remove(for: 1) == nil)
        #expect(fixture.cache.count == 1 && fixture.cache.totalCost == 0)
        #expect(fixture.cache.value(for: 2) == 2)
    }

    @Test func insertReplacesAnExpiredEntry() {
        let fixture = MemoryCacheFixture<Int, Int>()
        fixture.cache.set(1, for: 1, expiration: .after(.seconds(10)))
        fixture.ticking.advance(seconds: 10)
        #expect(fixture.cache.insert(2, for: 1))
        #expect(fixture.cache.value(for: 1) == 2)
    }

    @Test func supportsDatesAndADefaultExpiration() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.expiration = .after(.seconds(5)) }
        fixture.cache.set(1, for: 1)
        fixture.cache.set(2, for: 2, expiration: .date(Date(timeIntervalSince1970: 1_003)))
        fixture.cache.set(3, for: 3, expiration: .never)
        fixture.ticking.advance(seconds: 3)
        #expect((1...3).filter { fixture.cache.contains($0) } == [1, 3])
        fixture.ticking.advance(seconds: 2)
        #expect((1...3).filter { fixture.cache.contains($0) } == [3])
    }

    @Test func aUseExtendsAnExpirationByTheRule() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.expirationExtension = .original }
        fixture.cache.set(1, for: 1, expiration: .after(.seconds(10)))
        fixture.ticking.advance(seconds: 6)
        #expect(fixture.cache.value(for: 1) == 1)
        fixture.ticking.advance(seconds: 6)
        #expect(fixture.cache.contains(1))
        fixture.ticking.advance(seconds: 4)
        #expect(!fixture.cache.contains(1), "to be asked for is no use")
    }

    @Test func removesExpiredEntriesOnRequest() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = .seconds(100) }
        for key in 0..<50 { fixture.cache.set(key, for: key, cost: 1, expiration: .after(.seconds(key))) }
        fixture.ticking.advance(seconds: 29)
        fixture.cache.removeExpired()
        #expect(fixture.cache.count == 20 && fixture.cache.totalCost == 20)
        #expect((30..<50).allSatisfy { fixture.cache.contains($0) })
        fixture.cache.set(99, for: 99)
        fixture.ticking.advance(seconds: 100)
        fixture.cache.removeExpired()
        #expect(fixture.cache.count == 0)
    }
}

@Suite(.timeLimit(.minutes(3))) struct MemoryCacheLimitTests {
    @Test func hasNoLimitsByDefault() {
        let configuration = MemoryCache<Int, Int>.Configuration()
        #expect(configuration.costLimit == .max && configuration.countLimit == .max)
        #expect(configuration.entryCostLimit == .max && configuration.ageLimit == nil)
        #expect(configuration.expiration == .never && configuration.expirationExtension == .none)
        #expect(configuration.revival == nil && configuration.shareKeptInBackground == 0)
        #expect(configuration.shareKeptUnderPressure == 0.5)
        #expect(configuration.pressureSource === MemoryPressureSource.system)
        guard case .caller = configuration.valueRelease else {
            Issue.record("values are released elsewhere")
            return
        }
    }

    @Test func keepsImagesForTwelveHoursAndFindsThoseOfViews() {
        var configuration = MemoryCache<Int, Image>.Configuration.images
        #expect(configuration.ageLimit == .seconds(43_200))
        #expect(configuration.costLimit == MemoryBudget.defaultImageCost())
        #expect(configuration.findsLivingImages == nil && configuration.revival?.isUseful == ViewPresence.isAnnounced)
        configuration.findsLivingImages = true
        #expect(configuration.findsLivingImages == true && configuration.revival?.isUseful == true)
        configuration.findsLivingImages = false
        #expect(configuration.findsLivingImages == false && configuration.revival == nil)
        configuration.findsLivingImages = nil
        #expect(configuration.findsLivingImages == nil)
    }

    @Test func doesNotReturnValuesUnusedForLongerThanTheAgeLimit() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = .seconds(10) }
        fixture.cache.set(1, for: 1, cost: 3)
        fixture.cache.set(2, for: 2, cost: 4)
        fixture.ticking.advance(seconds: 9)
        #expect(fixture.cache.value(for: 1) == 1)
        fixture.ticking.advance(seconds: 1)
        #expect(!fixture.cache.contains(2))
        #expect(fixture.cache.value(for: 2) == nil)
        #expect(fixture.cache.value(for: 1) == 1)
        #expect(fixture.cache.totalCost == 3)
        #expect(fixture.cache.statistics.evictionCounts[.age] == 1)
    }

    @Test func aLowerAgeLimitTakesEffectImmediately() {
        let fixture = MemoryCacheFixture<Int, Int>()
        #expect(fixture.cache.ageLimit == nil)
        fixture.cache.set(1, for: 1)
        fixture.ticking.advance(seconds: 100)
        fixture.cache.set(2, for: 2)
        fixture.cache.ageLimit = .seconds(50)
        #expect(fixture.cache.ageLimit == .seconds(50))
        #expect(fixture.cache.count == 1 && fixture.cache.contains(2))
        fixture.cache.ageLimit = .zero
        fixture.cache.set(3, for: 3)
        #expect(fixture.cache.value(for: 3) == nil, "nothing stays for no time")
    }

    @Test func trimsToAnAgeLimit() {
        let fixture = MemoryCacheFixture<Int, Int>()
        for key in 0..<5 {
            fixture.cache.set(key, for: key)
            fixture.ticking.advance(seconds: 10)
        }
        fixture.cache.trim(toAge: .seconds(25))
        #expect((0..<5).filter { fixture.cache.contains($0) } == [3, 4])
        #expect(fixture.cache.statistics.evictionCounts[.trim] == 3)
        fixture.cache.trim(toAge: .zero)
        #expect(fixture.cache.count == 0)
    }

    @Test func doesNotStoreAnEntryAboveTheEntryCostLimit() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.entryCostLimit = 10 }
        fixture.cache.set(1, for: 1, cost: 10)
        fixture.cache.set(2, for: 2, cost: 11)
        #expect(fixture.cache.contains(1) && !fixture.cache.contains(2))
        fixture.cache.set(3, for: 1, cost: 11)
        #expect(!fixture.cache.contains(1), "the older value is not the key's any more")
    }

    @Test func aLowerEntryCostLimitTakesEffectImmediately() {
        let fixture = MemoryCacheFixture<Int, Int>()
        for key in 0..<40 { fixture.cache.set(key, for: key, cost: key) }
        fixture.cache.entryCostLimit = 9
        #expect(fixture.cache.entryCostLimit == 9)
        #expect((0..<40).filter { fixture.cache.contains($0) } == Array(0..<10))
        #expect(fixture.cache.totalCost == 45 && fixture.cache.count == 10)
        #expect(fixture.cache.statistics.evictionCounts[.cost] == 30)
        fixture.cache.entryCostLimit = -1
        #expect(fixture.cache.entryCostLimit == 0)
        #expect(fixture.cache.contains(0) && fixture.cache.count == 1, "what costs nothing may stay")
    }

    @Test func statisticsCountEvictionsByCause() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.costLimit = 100 }
        let cache = fixture.cache
        for key in 0..<4 { cache.set(key, for: key, cost: 30) }
        cache.countLimit = 2
        cache.set(4, for: 4, expiration: .after(.seconds(1)))
        _ = (cache.value(for: 4), cache.value(for: 99))
        fixture.ticking.advance(seconds: 1)
        _ = cache.value(for: 4)
        cache.didEnterBackground()
        let statistics = cache.statistics
        #expect(statistics.insertionCount == 5)
        #expect(statistics.hitCount == 1 && statistics.missCount == 2)
        #expect(statistics.hitRate == 1.0 / 3)
        #expect(statistics.evictionCounts[.cost] == 1 && statistics.evictionCounts[.count] == 2)
        #expect(statistics.evictionCounts[.expiration] == 1 && statistics.evictionCounts[.background] == 1)
        #expect(statistics.evictionCounts.total == 5)
        cache.resetStatistics()
        #expect(cache.statistics == MemoryCacheStatistics())
    }

    @Test(
        arguments: [(0, []), (0.3, [7, 8, 9]), (1, Array(0..<10)), (-1, []), (.infinity, Array(0..<10))]
            as [(Double, [Int])])
    func keepsAShareInTheBackground(share: Double, kept: [Int]) {
        let calls = LockBox(0)
        let fixture = MemoryCacheFixture<Int, Int> { configuration in
            configuration.shareKeptInBackground = share
            configuration.didEnterBackground = { calls.withLock { $0 += 1 } }
        }
        for key in 0..<10 { fixture.cache.set(key, for: key, cost: 10) }
        fixture.cache.didEnterBackground()
        #expect((0..<10).filter { fixture.cache.contains($0) } == kept)
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func statisticsNameTheirCache() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.name = "avatars" }
        #expect(fixture.cache.name == "avatars" && fixture.cache.statistics.name == "avatars")
        #expect(MemoryCache<Int, Int>(costLimit: 1).name == nil)
    }
}

@Suite(.timeLimit(.minutes(3))) struct MemoryBudgetTests {
    @Test func defaultsToAFifthOfTheMemoryAndAtMostAGibibyte() {
        let cost = MemoryBudget.defaultImageCost()
        #expect(cost > 0)
        #expect(cost <= 1 << 30)
    }
}
