import Testing
import WebImageCore

@testable import WebImageCaching

@Suite struct MemoryCacheTests {
    @Test func findsWhatWasStored() {
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

    @Test func askingWhetherAnEntryExistsIsNoUse() {
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

    @Test func doesNotKeepAnEntryThatCostsMoreThanTheLimitNorWhatItReplaces() {
        let cache = MemoryCache<Int, Int>(costLimit: 100)
        cache.set(1, for: 1, cost: 10)
        cache.set(2, for: 2, cost: 10)
        cache.set(3, for: 1, cost: 101)
        #expect(cache.value(for: 1) == nil)
        #expect(cache.value(for: 2) == 2)
        #expect(cache.totalCost == 10)
    }

    @Test func countsANegativeCostAsNone() {
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

    @Test func insertsOnlyWhereThereIsNothing() {
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

    @Test func removesEverythingAndKeepsTheLimits() {
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

    @Test func lowerLimitsTakeEffectAtOnce() {
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
            // Under the lock this would never return.
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
        let releases = Lock(0)
        let cache = MemoryCache<ReentrantKey, Int>(costLimit: .max, countLimit: 2)
        for number in 0..<5 {
            // Under the lock this would never return.
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
