import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct MemoryCacheModelTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func matchesASimpleModel(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let rule: ExpirationExtension = [.none, .original, .atLeast(.seconds(20))][Int(seed % 3)]
        let fixture = MemoryCacheFixture<String, Int> { configuration in
            configuration.costLimit = seed % 2 == 0 ? 500 : .max
            configuration.countLimit = 40
            configuration.entryCostLimit = 300
            configuration.ageLimit = .seconds(60)
            configuration.expirationExtension = rule
        }
        let cache = fixture.cache
        var model = ModelCache(
            costLimit: cache.costLimit, countLimit: 40, entryCostLimit: 300, ageLimit: 60, rule: rule)
        var faults = 0
        for step in 0..<20_000 {
            let key = "k\(Int.random(in: 0..<80, using: &random))"
            let cost = Int.random(in: 0..<(step % 50 == 0 ? 600 : 40), using: &random)
            let seconds = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<1_000, using: &random) {
            case 0..<400: if cache.value(for: key) != model.use(key) { faults += 1 }
            case 400..<550:
                cache.set(step, for: key, cost: cost)
                model.set(step, for: key, cost: cost, end: nil, lifetime: nil)
            case 550..<700:
                cache.set(step, for: key, cost: cost, expiration: .after(.seconds(seconds)))
                model.set(step, for: key, cost: cost, end: model.now + seconds, lifetime: seconds)
            case 700..<720:
                let date = Date(timeIntervalSince1970: Double(1_000 + model.now + seconds))
                cache.set(step, for: key, cost: cost, expiration: .date(date))
                model.set(step, for: key, cost: cost, end: model.now + seconds, lifetime: nil)
            case 720..<780:
                if cache.insert(step, for: key, cost: cost) != model.insert(step, for: key, cost: cost) { faults += 1 }
            case 780..<850: if cache.remove(for: key) != model.remove(key) { faults += 1 }
            case 850..<900: if cache.contains(key) != model.contains(key) { faults += 1 }
            case 900..<960:
                fixture.ticking.advance(seconds: 1)
                model.now += 1
            case 960..<970:
                cache.trim(toCost: cost * 10)
                model.removeExpired()
                model.evict { $0.totalCost > cost * 10 }
            case 970..<980:
                cache.trim(toCount: seconds)
                model.removeExpired()
                model.evict { $0.entries.count > seconds }
            case 980..<985:
                cache.trim(toAge: .seconds(seconds))
                model.removeExpired()
                model.evict { $0.now - $0.entries[0].lastUse >= seconds }
            case 985..<995:
                cache.removeExpired()
                model.removeExpired()
            case 995..<998:
                cache.countLimit = 20 + seconds
                cache.ageLimit = .seconds(30 + seconds)
                (model.countLimit, model.ageLimit) = (20 + seconds, 30 + seconds)
                model.evict { $0.entries.count > $0.countLimit }
                model.evict { $0.now - $0.entries[0].lastUse >= $0.ageLimit }
            default:
                cache.removeAll()
                model.entries = []
            }
            if cache.count != model.entries.count || cache.totalCost != model.totalCost { faults += 1 }
        }
        #expect(faults == 0)
        let statistics = cache.statistics
        #expect(statistics.count == model.entries.count && statistics.totalCost == model.totalCost)
        cache.trim(toCount: cache.count)
        model.removeExpired()
        // Trimming to one entry less removes the least recently used entry.
        while let victim = model.entries.first {
            #expect(cache.contains(victim.key))
            cache.trim(toCount: cache.count - 1)
            #expect(!cache.contains(victim.key))
            model.entries.removeFirst()
        }
        #expect(cache.count == 0 && cache.totalCost == 0)
    }

    @Test func evictsUnusedEntriesBeforeUsedOnes() {
        let cache = MemoryCacheFixture<Int, Int> { $0.countLimit = 100 }.cache
        for key in 0..<100 { cache.set(key, for: key) }
        for key in stride(from: 0, to: 100, by: 2) { _ = cache.value(for: key) }
        // The odd ones, which were not used, are evicted first, then the even ones.
        let victims = Array(stride(from: 1, to: 100, by: 2)) + Array(stride(from: 0, to: 100, by: 2))
        for (index, victim) in victims.enumerated() {
            #expect(cache.contains(victim))
            cache.set(index, for: 1_000 + index)
            #expect(!cache.contains(victim))
            #expect(cache.count == 100)
        }
    }

    @Test func keepsTheOrderWhenTheClockStandsStill() {
        let cache = MemoryCache<Int, Int>(
            configuration: .init(countLimit: 20), clock: MemoryClock { 5 }, maintenance: .shared)
        for key in 0..<20 { cache.set(key, for: key) }
        _ = cache.value(for: 0)
        for key in 1..<20 {
            cache.set(key, for: 100 + key)
            #expect(!cache.contains(key) && cache.count == 20)
        }
        #expect(cache.contains(0))
    }

    @Test func anEarlierReadingOfTheClockDoesNotMakeAnEntryOlder() {
        let fixture = MemoryCacheFixture<Int, Int> { $0.ageLimit = .seconds(1) }
        fixture.ticking.set(nanoseconds: 1_000_000_000_000)
        fixture.cache.set(1, for: 1)
        // As if another thread had read the clock a second before the first one.
        fixture.ticking.set(nanoseconds: 999_000_000_000)
        fixture.cache.set(2, for: 2)
        fixture.ticking.set(nanoseconds: 1_000_500_000_000)
        #expect(fixture.cache.contains(1) && fixture.cache.contains(2))
    }

    @Test func evictsTheLeastRecentlyUsedAfterManyUses() {
        let cache = MemoryCacheFixture<Int, Int>().cache
        var random = SplitMix64(seed: 7)
        var order = Array(0..<2_000)
        for key in order { cache.set(key, for: key) }
        while order.count > 100 {
            for _ in 0..<3 {
                order.shuffle(using: &random)
                for key in order { #expect(cache.value(for: key) == key) }
            }
            let removed = order.remove(at: order.count / 2)
            #expect(cache.remove(for: removed) == removed)
            let victims = order.prefix(order.count / 3)
            cache.trim(toCount: order.count - victims.count)
            order.removeFirst(victims.count)
            #expect(order.allSatisfy(cache.contains))
            #expect(!victims.contains(where: cache.contains))
            #expect(cache.count == order.count)
        }
    }
}

/// A simple model of `MemoryCache`: entries oldest first, times in whole seconds.
private struct ModelCache {
    struct Entry {
        let key: String
        let value: Int
        let cost: Int
        var lastUse: Int
        var end: Int?
        let lifetime: Int?
    }

    var entries: [Entry] = []
    var now = 0
    let costLimit: Int
    var countLimit: Int
    let entryCostLimit: Int
    var ageLimit: Int
    let rule: ExpirationExtension

    init(costLimit: Int, countLimit: Int, entryCostLimit: Int, ageLimit: Int, rule: ExpirationExtension) {
        (self.costLimit, self.countLimit, self.entryCostLimit) = (costLimit, countLimit, entryCostLimit)
        (self.ageLimit, self.rule) = (ageLimit, rule)
    }

    var totalCost: Int { entries.reduce(0) { $0 + $1.cost } }

    func isGone(_ entry: Entry) -> Bool { now - entry.lastUse >= ageLimit || entry.end.map { $0 <= now } ?? false }

    func contains(_ key: String) -> Bool { entries.contains { $0.key == key && !isGone($0) } }

    mutating func use(_ key: String) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        var entry = entries.remove(at: index)
        guard !isGone(entry) else { return nil }
        entry.lastUse = now
        if let lifetime = entry.lifetime, let end = entry.end {
            switch rule {
            case .none: break
            case .original: entry.end = now + lifetime
            case .atLeast(let duration): entry.end = max(end, now + Int(duration.components.seconds))
            }
        }
        entries.append(entry)
        return entry.value
    }

    mutating func set(_ value: Int, for key: String, cost: Int, end: Int?, lifetime: Int?) {
        entries.removeAll { $0.key == key }
        guard cost <= costLimit, cost <= entryCostLimit else { return }
        entries.append(Entry(key: key, value: value, cost: cost, lastUse: now, end: end, lifetime: lifetime))
        evict { $0.totalCost > $0.costLimit || $0.entries.count > $0.countLimit }
    }

    mutating func insert(_ value: Int, for key: String, cost: Int) -> Bool {
        guard use(key) == nil else { return false }
        set(value, for: key, cost: cost, end: nil, lifetime: nil)
        return contains(key)
    }

    mutating func remove(_ key: String) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        let entry = entries.remove(at: index)
        return isGone(entry) ? nil : entry.value
    }

    mutating func removeExpired() {
        let gone = Set(entries.filter(isGone).map(\.key))
        entries.removeAll { gone.contains($0.key) }
    }

    mutating func evict(while isNeeded: (ModelCache) -> Bool) {
        while !entries.isEmpty, isNeeded(self) { entries.removeFirst() }
    }
}

@Suite(.timeLimit(.minutes(3))) struct MemoryCacheThreadTests {
    @Test func countsAndValuesAreConsistentAcrossThreads() async {
        let cache = MemoryCache<Int, Int>(costLimit: 1_000, countLimit: 50)
        let foreignValues = LockBox(0)
        await withTaskGroup { group in
            for seed in 0..<4 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix64(seed: seed)
                    for _ in 0..<10_000 {
                        let key = Int.random(in: 0..<100, using: &random)
                        switch Int.random(in: 0..<40, using: &random) {
                        case 0..<14: cache.set(key, for: key, cost: key)
                        case 14..<20: cache.insert(key, for: key, cost: key, expiration: .after(.seconds(100)))
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

    @Test func isWithinItsLimitsWhenNoCallIsInProgress() async {
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

    @Test func severalThreadsEvictNoMoreThanNecessary() async {
        for (costLimit, countLimit) in [(Int.max, 10), (10, Int.max)] {
            let cache = MemoryCache<Int, Int>(costLimit: costLimit, countLimit: countLimit)
            for key in 0..<10 { cache.set(key, for: key, cost: 1) }
            for round in 1...ReleaseChecks.choose(100, forRelease: 500) {
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
}
