import Testing
import WebImageCore

@testable import WebImageCaching

@Suite struct MemoryCacheLimitTests {
    @Test func hasNoLimitsByDefault() {
        let configuration = MemoryCache<Int, Int>.Configuration()
        #expect(configuration.costLimit == .max && configuration.countLimit == .max)
        #expect(configuration.entryCostLimit == .max && configuration.ageLimit == .infinity)
        #expect(configuration.expiration == .never && configuration.expirationExtension == .none)
        #expect(configuration.revival == nil && configuration.removesAllInBackground)
        #expect(configuration.pressureSource is SystemMemoryPressure)
        guard case .caller = configuration.valueRelease else {
            Issue.record("values are released elsewhere")
            return
        }
    }

    @Test func keepsPicturesForTwelveHoursAndFindsThoseOnTheScreen() {
        let configuration = MemoryCache<Int, Image>.Configuration.images
        #expect(configuration.ageLimit == 43_200)
        #expect(configuration.costLimit == MemoryBudget.defaultImageCost())
        #expect(configuration.revival != nil)
    }

    @Test func handsOutNothingThatWasNotUsedForLong() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = 10 }
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

    @Test func aLowerAgeLimitTakesEffectAtOnce() {
        let fixture = MemoryCacheFixture<Int, Int>()
        #expect(fixture.cache.ageLimit == .infinity)
        fixture.cache.set(1, for: 1)
        fixture.ticking.advance(seconds: 100)
        fixture.cache.set(2, for: 2)
        fixture.cache.ageLimit = 50
        #expect(fixture.cache.ageLimit == 50)
        #expect(fixture.cache.count == 1 && fixture.cache.contains(2))
        fixture.cache.ageLimit = 0
        fixture.cache.set(3, for: 3)
        #expect(fixture.cache.value(for: 3) == nil, "nothing stays for no time")
    }

    @Test func trimsToAnAge() {
        let fixture = MemoryCacheFixture<Int, Int>()
        for key in 0..<5 {
            fixture.cache.set(key, for: key)
            fixture.ticking.advance(seconds: 10)
        }
        fixture.cache.trim(toAge: 25)
        #expect((0..<5).filter { fixture.cache.contains($0) } == [3, 4])
        #expect(fixture.cache.statistics.evictionCounts[.trim] == 3)
        fixture.cache.trim(toAge: 0)
        #expect(fixture.cache.count == 0)
    }

    @Test func doesNotKeepAnEntryAboveItsOwnLimit() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.entryCostLimit = 10 }
        fixture.cache.set(1, for: 1, cost: 10)
        fixture.cache.set(2, for: 2, cost: 11)
        #expect(fixture.cache.contains(1) && !fixture.cache.contains(2))
        fixture.cache.set(3, for: 1, cost: 11)
        #expect(!fixture.cache.contains(1), "the older value is not the key's any more")
    }

    @Test func aLowerEntryLimitTakesEffectAtOnce() {
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

    @Test func countsWhatHappensByCause() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.costLimit = 100 }
        let cache = fixture.cache
        for key in 0..<4 { cache.set(key, for: key, cost: 30) }
        cache.countLimit = 2
        cache.set(4, for: 4, expiration: .seconds(1))
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

    @Test func staysAsItIsInTheBackgroundWhenTold() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.removesAllInBackground = false }
        fixture.cache.set(1, for: 1)
        fixture.cache.didEnterBackground()
        #expect(fixture.cache.contains(1))
    }
}
