import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct MemoryCacheThreadTests {
    @Test func keepsItsCountsAndValuesUnderSeveralThreads() async {
        let cache = MemoryCache<Int, Int>(costLimit: 1_000, countLimit: 50)
        let foreignValues = Lock(0)
        await withTaskGroup { group in
            for seed in 0..<4 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix64(seed: seed)
                    for _ in 0..<10_000 {
                        let key = Int.random(in: 0..<100, using: &random)
                        switch Int.random(in: 0..<40, using: &random) {
                        case 0..<14: cache.set(key, for: key, cost: key)
                        case 14..<20: cache.insert(key, for: key, cost: key, expiration: .seconds(100))
                        case 20..<34:
                            if let value = cache.value(for: key), value != key { foreignValues.withLock { $0 += 1 } }
                        case 34..<38: cache.remove(for: key)
                        case 38: cache.trim(toCount: 30)
                        default: cache.removeExpired()
                        }
                    }
                }
            }
        }
        #expect(foreignValues.withLock { $0 } == 0)
        let left = (0..<100).filter { cache.contains($0) }
        #expect(cache.count == left.count)
        #expect(cache.totalCost == left.reduce(0, +))
        #expect(cache.totalCost <= 1_000 && cache.count <= 50)
        let statistics = cache.statistics
        #expect(statistics.count == cache.count && statistics.totalCost == cache.totalCost)
    }

    @Test func losesNoValueWithoutALimit() async {
        let cache = MemoryCache<Int, Int>(costLimit: .max)
        await withTaskGroup { group in
            for part in 0..<4 {
                group.addTask {
                    for key in part * 2_000..<(part + 1) * 2_000 { cache.set(key, for: key, cost: 1) }
                }
            }
        }
        #expect(cache.count == 8_000 && cache.totalCost == 8_000)
        #expect((0..<8_000).allSatisfy { cache.value(for: $0) == $0 })
    }

    @Test func keepsItsLimitsWheneverNoCallIsUnderWay() async {
        let cache = MemoryCache<Int, Int>(costLimit: 100, countLimit: 10)
        for round in 0..<200 {
            await withTaskGroup { group in
                for part in 0..<3 {
                    group.addTask { for key in 0..<10 { cache.set(key, for: round * 100 + part * 10 + key, cost: 15) } }
                }
            }
            #expect(cache.totalCost <= 100 && cache.count <= 10)
        }
    }

    @Test func severalThreadsEvictNoMoreThanTheyMust() async {
        for (costLimit, countLimit) in [(Int.max, 10), (10, Int.max)] {
            let cache = MemoryCache<Int, Int>(costLimit: costLimit, countLimit: countLimit)
            for key in 0..<10 { cache.set(key, for: key, cost: 1) }
            for round in 1...500 {
                await withTaskGroup { group in
                    for part in 0..<2 {
                        group.addTask {
                            for key in 0..<100 { cache.set(key, for: round * 1_000 + part * 100 + key, cost: 1) }
                        }
                    }
                }
                #expect(cache.count == 10 && cache.totalCost == 10)
            }
        }
    }

    @Test func oneEntryTooManyIsCountedOutOnce() {
        let totals = MemoryTotals(costLimit: 10, countLimit: 3, entryCostLimit: .max)
        _ = totals.add(cost: 8, count: 4)
        #expect(totals.countOut(cost: 2, stamp: 1, for: totals.limits) == .count)
        // Another thread, before the first one has removed its entry.
        #expect(totals.countOut(cost: 2, stamp: 2, for: totals.limits) == nil)
        _ = totals.add(cost: 6, count: 0)
        #expect(totals.countOut(cost: 2, stamp: 1, for: totals.limits) == .cost)
        #expect(totals.countOut(cost: 2, stamp: 2, for: totals.limits) == nil)
        #expect(totals.count == 2 && totals.cost == 10)
    }
}
