import Dispatch
import Foundation
import Glibc
import Synchronization
import WebImageCaching
import WebImageCore

extension BenchmarkGroup {
    /// The memory cache beside a dictionary behind one lock, which is the least that a thread-safe cache can be: the
    /// dictionary keeps no order of use, no costs and no times, and has to be told what to evict. And beside `NSCache`,
    /// with as few entries as it can bear.
    static let memoryCache = BenchmarkGroup(name: "memory-cache") { table in
        print(
            """
            Budget: 1.5 x for hit, miss and overwrite. Times are for one operation of whichever thread. A hit reads the clock
            (24 ns here), which no dictionary does: of Int keys, the cheapest to hash, an operation takes up to 1.7 x for it. Two
            threads take turns, here as at the dictionary, and what they change gets from processor to processor. Here and now,
            a cache line takes \(Int(cacheLineTransferTime() / .nanoseconds(1))) ns for that.
            """)
        // QUICK=1 leaves the large tables out.
        for count in getenv("QUICK") == nil ? [20_000, 200_000] : [20_000] {
            try table.compareWithDictionary(MemoryCacheKeys(count: count) { $0 }, named: "\(count) Int")
            try table.compareWithDictionary(.imageKeys(count: count), named: "\(count) image keys")
        }
        try table.compare(
            MemoryCacheKeys(count: 5_000) { $0 }, MemoryCache<Int, Payload>.self, FoundationCache<Int>.self,
            named: "5000 Int, NSCache")
        if getenv("QUICK") == nil { try measureTrim(count: 500_000) }
    }

    /// A trim of all entries: how long the caller takes, and how long it takes until the last one is gone.
    private static func measureTrim(count: Int) throws {
        let keys = MemoryCacheKeys(count: count) { $0 }
        let cache = MemoryCache<Int, Payload>(limit: count)
        var (calls, ends): ([Duration], [Duration]) = ([], [])
        for _ in 0..<5 {
            keys.fill(cache, threadCount: 1)
            guard cache.count == count else { throw WrongResult(description: "\(cache.count) entries") }
            let start = ContinuousClock.now
            cache.trim(toCount: 0)
            calls.append(ContinuousClock.now - start)
            while cache.count > 0 { usleep(100) }
            ends.append(ContinuousClock.now - start)
        }
        print(
            "trim of \(count) Int: \(calls.sorted()[2]) in the caller, all gone after \(ends.sorted()[2]) (medians of 5)"
        )
    }
}

/// How long a word that one thread writes takes to reach the other.
private func cacheLineTransferTime() -> Duration {
    let turn = Turn()
    let roundCount = 10_000
    let ended = DispatchSemaphore(value: 0)
    @Sendable func play(_ player: Int) {
        for _ in 0..<roundCount {
            while turn.player.load(ordering: .acquiring) != player {}
            turn.player.store(1 - player, ordering: .releasing)
        }
    }
    var times: [Duration] = []
    for _ in 0..<9 {
        precondition(
            PlatformThread.start(name: "benchmark") {
                play(1)
                ended.signal()
            }, "no thread to be had")
        times.append(
            ContinuousClock().measure {
                play(0)
                ended.wait()
            } / (2 * roundCount))
    }
    return times.min() ?? .zero
}

private final class Turn: Sendable {
    let player = Atomic(0)
}

/// The cached values: objects, like the pixels of an image.
private final class Payload: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
}

private protocol BenchmarkedCache<Key>: Sendable {
    associatedtype Key: Hashable & Sendable
    init(limit: Int)
    func value(for key: Key) -> Payload?
    func set(_ value: Payload, for key: Key)
    /// Stores where the cache is full; `oldest` is what has to go.
    func set(_ value: Payload, for key: Key, evicting oldest: Key)
    var count: Int { get }
}

extension MemoryCache: BenchmarkedCache where Value == Payload {
    convenience init(limit: Int) { self.init(costLimit: 4 * limit) }
    func set(_ value: Payload, for key: Key) { set(value, for: key, cost: 4, expiration: nil) }
    func set(_ value: Payload, for key: Key, evicting oldest: Key) { set(value, for: key) }
}

private final class LockedDictionary<Key: Hashable & Sendable>: BenchmarkedCache {
    private let values = LockBox<[Key: Payload]>([:])

    init(limit: Int) {}

    func value(for key: Key) -> Payload? { values.withLock { $0[key] } }

    func set(_ value: Payload, for key: Key) {
        let replaced = values.withLock { $0.updateValue(value, forKey: key) }
        withExtendedLifetime(replaced) {}
    }

    func set(_ value: Payload, for key: Key, evicting oldest: Key) {
        let removed = values.withLock { values in
            values[key] = value
            return values.removeValue(forKey: oldest)
        }
        withExtendedLifetime(removed) {}
    }

    var count: Int { values.withLock { $0.count } }
}

/// `NSCache`: each set searches its entries, so that 200,000 of them take minutes.
private final class FoundationCache<Key: Hashable & Sendable>: BenchmarkedCache, @unchecked Sendable {
    // `@unchecked`: `NSCache` has a lock of its own.
    private final class Box: NSObject {
        let key: Key
        init(_ key: Key) { self.key = key }
        override var hash: Int { key.hashValue }
        override func isEqual(_ object: Any?) -> Bool { (object as? Box)?.key == key }
    }

    private let cache = NSCache<Box, Payload>()
    let count: Int

    init(limit: Int) {
        cache.totalCostLimit = 4 * limit
        count = limit
    }

    func value(for key: Key) -> Payload? { cache.object(forKey: Box(key)) }
    func set(_ value: Payload, for key: Key) { cache.setObject(value, forKey: Box(key), cost: 4) }
    func set(_ value: Payload, for key: Key, evicting oldest: Key) { set(value, for: key) }
}

private struct MemoryCacheKeys<Key: Hashable & Sendable>: Sendable {
    /// Two sets of keys, in an order that has nothing to do with their places in memory.
    let stored: [Key]
    let absent: [Key]
    /// Equal to the stored ones, but made anew, as a request makes its key.
    let asked: [Key]
    let values: [Payload]

    init(count: Int, _ key: (Int) -> Key) {
        let order = Array(0..<count).shuffled()
        stored = order.map(key)
        asked = order.map(key)
        absent = (count..<2 * count).shuffled().map(key)
        values = order.map(Payload.init)
    }

    var count: Int { stored.count }

    /// Calls `body` for each place, divided among threads; how often it was true.
    ///
    /// The threads are real ones: on a busy machine, `concurrentPerform` does all the work on one.
    func onThreads(_ threadCount: Int, _ body: @escaping @Sendable (Int) -> Bool) -> Int {
        let total = LockBox(0)
        let count = count
        let work: @Sendable (Int) -> Void = { thread in
            var trueCount = 0
            for place in count / threadCount * thread..<count / threadCount * (thread + 1) where body(place) {
                trueCount += 1
            }
            total.withLock { $0 += trueCount }
        }
        let ended = DispatchSemaphore(value: 0)
        for thread in 1..<max(threadCount, 1) {
            let isStarted = PlatformThread.start(name: "benchmark") {
                work(thread)
                ended.signal()
            }
            precondition(isStarted, "no thread to be had")
        }
        work(0)
        for _ in 1..<max(threadCount, 1) { ended.wait() }
        return total.withLock { $0 }
    }

    @inline(never)
    func fill(_ cache: some BenchmarkedCache<Key>, threadCount: Int) {
        _ = onThreads(threadCount) { place in
            cache.set(values[place], for: asked[place])
            return true
        }
    }

    @inline(never)
    func find(in cache: some BenchmarkedCache<Key>, threadCount: Int) throws {
        let found = onThreads(threadCount) { cache.value(for: asked[$0])?.number == values[$0].number }
        try verify(found == count, "\(count - found) wrong values")
    }

    @inline(never)
    func miss(in cache: some BenchmarkedCache<Key>, threadCount: Int) throws {
        let missed = onThreads(threadCount) { cache.value(for: absent[$0]) == nil }
        try verify(missed == count, "\(count - missed) values from nowhere")
    }

    /// Stores one set of keys where the other one is.
    @inline(never)
    func evict(in cache: some BenchmarkedCache<Key>, storing new: [Key], evicting old: [Key], threadCount: Int) throws {
        _ = onThreads(threadCount) { place in
            cache.set(values[place], for: new[place], evicting: old[place])
            return true
        }
        try verify(cache.count == count, "\(cache.count) entries instead of \(count)")
    }

    /// Four gets to one set.
    @inline(never)
    func mix(in cache: some BenchmarkedCache<Key>, threadCount: Int) throws {
        let good = onThreads(threadCount) { place in
            guard place % 5 == 0 else { return cache.value(for: asked[place])?.number == values[place].number }
            cache.set(values[place], for: asked[place])
            return true
        }
        try verify(good == count, "\(count - good) wrong values")
    }

    private func verify(_ isRight: Bool, _ fault: @autoclosure () -> String) throws {
        guard isRight else { throw WrongResult(description: fault()) }
    }
}

extension MemoryCacheKeys where Key == ImageCacheKey {
    fileprivate static func imageKeys(count: Int) -> Self {
        MemoryCacheKeys(count: count) { number in
            ImageCacheKey(source: "https://images.example.org/photos/\(number).jpg", variant: "320x240,fill")
        }
    }
}

extension BenchmarkTable {
    fileprivate func compareWithDictionary<Key>(_ keys: MemoryCacheKeys<Key>, named name: String) throws {
        try compare(keys, MemoryCache<Key, Payload>.self, LockedDictionary<Key>.self, named: name)
    }

    private typealias Pair<Ours, Theirs> = (ours: Ours, theirs: Theirs)

    /// Six rows for one thread, six for two; all times are for one operation of whichever thread.
    fileprivate func compare<Key, Ours: BenchmarkedCache<Key>, Theirs: BenchmarkedCache<Key>>(
        _ keys: MemoryCacheKeys<Key>, _: Ours.Type, _: Theirs.Type, named name: String
    ) throws {
        let full = Pair(ours: Ours(limit: keys.count), theirs: Theirs(limit: keys.count))
        keys.fill(full.ours, threadCount: 1)
        keys.fill(full.theirs, threadCount: 1)
        for threads in [1, 2] {
            func row(_ what: String, ours: () throws -> Void, yardstick: () throws -> Void) rethrows {
                try compare(
                    "\(what), \(name), \(threads) thread\(threads == 1 ? "" : "s")", operationCount: keys.count,
                    roundCount: keys.count > 50_000 ? 9 : 31, ours: ours, yardstick: yardstick)
            }
            // Kept until the row is measured, so that their release is not.
            var grown: [Pair<Ours, Theirs>] = []
            row("grow") {
                let cache = Ours(limit: keys.count)
                keys.fill(cache, threadCount: threads)
                grown.append((cache, full.theirs))
            } yardstick: {
                let cache = Theirs(limit: keys.count)
                keys.fill(cache, threadCount: threads)
                grown.append((full.ours, cache))
            }
            grown = []
            try row("hit") {
                try keys.find(in: full.ours, threadCount: threads)
            } yardstick: {
                try keys.find(in: full.theirs, threadCount: threads)
            }
            try row("miss") {
                try keys.miss(in: full.ours, threadCount: threads)
            } yardstick: {
                try keys.miss(in: full.theirs, threadCount: threads)
            }
            row("overwrite") {
                keys.fill(full.ours, threadCount: threads)
            } yardstick: {
                keys.fill(full.theirs, threadCount: threads)
            }
            try row("80/20") {
                try keys.mix(in: full.ours, threadCount: threads)
            } yardstick: {
                try keys.mix(in: full.theirs, threadCount: threads)
            }
            try compareEviction(keys, full, threads: threads, row: row)
            keys.fill(full.ours, threadCount: 1)
        }
    }

    private func compareEviction<Key, Ours: BenchmarkedCache<Key>, Theirs: BenchmarkedCache<Key>>(
        _ keys: MemoryCacheKeys<Key>, _ full: Pair<Ours, Theirs>, threads: Int,
        row: (String, () throws -> Void, () throws -> Void) throws -> Void
    ) throws {
        var (ours, theirs) = ((keys.absent, keys.stored), (keys.absent, keys.stored))
        keys.fill(full.ours, threadCount: 1)
        try row("evict") {
            try keys.evict(in: full.ours, storing: ours.0, evicting: ours.1, threadCount: threads)
            ours = (ours.1, ours.0)
        } _: {
            try keys.evict(in: full.theirs, storing: theirs.0, evicting: theirs.1, threadCount: threads)
            theirs = (theirs.1, theirs.0)
        }
        // An even number of rounds, the warm-up among them: the first set of keys is stored again.
        try keys.find(in: full.ours, threadCount: 1)
    }
}
