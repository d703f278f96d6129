// Public only because the lock is compiled into other modules of this package.
public import CWebImageLock
internal import Synchronization
internal import WebImageCore

/// A part of a ``MemoryCache``, chosen by the hash of a key, with its own lock and order of use.
///
/// Two threads compete for a lock only if their keys are in the same shard. A shard is an address in memory that the
/// cache owns, since an object would be retained and released for each use by all threads. Shards do not share cache
/// lines, and the data used by each access is next to the lock: fetching a line from another processor costs more than
/// the rest of the access.
@usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: the contents are accessed between `lock` and `unlock` only.

    @usableFromInline
    struct Contents: ~Copyable {
        @usableFromInline var store: LRUStore<Key, Value>
        /// The index among the cache's shards.
        @usableFromInline let index: Int

        init(index: Int, store: consuming LRUStore<Key, Value>) {
            self.index = index
            self.store = store
        }
    }

    /// Not part of the contents, since locking it would then be an access to all of them. Not a `Lock`, since a
    /// closure for each access takes longer than the access.
    @usableFromInline let mutex: UnsafeMutablePointer<cwi_lock>
    @usableFromInline let contents: UnsafeMutablePointer<Contents>

    /// - Parameter address: memory for the lock, followed by the contents.
    @inlinable
    init(at address: UnsafeMutableRawPointer) {
        mutex = address.assumingMemoryBound(to: cwi_lock.self)
        contents = (address + Self.contentsOffset).assumingMemoryBound(to: Contents.self)
    }

    /// In bytes: the lock's size, and at least the contents' alignment.
    @inlinable static var contentsOffset: Int { 16 }

    @inlinable var store: LRUStore<Key, Value> {
        _read { yield contents.pointee.store }
        nonmutating _modify { yield &contents.pointee.store }
    }

    @inlinable
    func lock() {
        #if WEBIMAGE_TSAN
            cwi_lock_acquire_seen(mutex)
        #else
            cwi_lock_acquire(mutex)
        #endif
    }

    @inlinable
    func unlock() {
        #if WEBIMAGE_TSAN
            cwi_lock_release_seen(mutex)
        #else
            cwi_lock_release(mutex)
        #endif
    }

    /// Runs `body` with the lock held.
    @inlinable
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Removes the store with all its entries, and replaces it with an empty one with the same settings and statistics.
    func takeStore() -> RetiredStore<Key, Value> { RetiredStore(exchange(&store, with: store.successor())) }
}

/// The memory of a cache's shards.
@usableFromInline
struct MemoryShards<Key: Hashable & Sendable, Value: Sendable>: ~Copyable, @unchecked Sendable {
    // `@unchecked`: the addresses never change.
    @usableFromInline let base: UnsafeMutableRawPointer
    /// A multiple of two cache lines, which processors fetch in pairs.
    @usableFromInline let stride: Int
    @usableFromInline let count: Int

    init(count: Int, _ makeStore: () -> LRUStore<Key, Value>) {
        typealias Shard = MemoryShard<Key, Value>
        precondition(MemoryLayout<cwi_lock>.size <= Shard.contentsOffset)
        precondition(MemoryLayout<Shard.Contents>.alignment <= Shard.contentsOffset)
        let alignment = 128
        let size = Shard.contentsOffset + MemoryLayout<Shard.Contents>.size
        self.count = count
        stride = (size + alignment - 1) / alignment * alignment
        base = .allocate(byteCount: count * stride, alignment: alignment)
        for (index, shard) in all.enumerated() {
            shard.mutex.initialize(to: cwi_lock(state: 0))
            shard.contents.initialize(to: Shard.Contents(index: index, store: makeStore()))
        }
    }

    deinit {
        for shard in all {
            shard.contents.deinitialize(count: 1)
            shard.mutex.deinitialize(count: 1)
        }
        base.deallocate()
    }

    var all: [MemoryShard<Key, Value>] { (0..<count).map { self[$0] } }

    @inlinable
    @inline(__always)
    subscript(index: Int) -> MemoryShard<Key, Value> {
        MemoryShard(at: base + index &* stride)
    }
}

/// A store that is no longer used by a cache, for the thread that releases its values.
final class RetiredStore<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: nothing reads the store; releasing the last reference releases what is in it.
    private let store: LRUStore<Key, Value>
    init(_ store: consuming LRUStore<Key, Value>) { self.store = store }
}

/// The totals and limits of all shards of a ``MemoryCache``, and the stamps of their oldest entries.
@usableFromInline
final class MemoryTotals: Sendable {
    /// Keeps the neighbours in memory on other cache lines.
    private struct Padding {
        private let words: (SIMD8<Int64>, SIMD8<Int64>) = (.zero, .zero)
    }

    private let start = Padding()
    private let sharedCost = Atomic(0)
    private let sharedCount = Atomic(0)
    private let sharedCostLimit: Atomic<Int>
    private let sharedCountLimit: Atomic<Int>
    private let sharedEntryCostLimit: Atomic<Int>
    private let middle = Padding()
    /// The stamp of each shard's oldest entry, which evictions compare; `.max` for an empty shard. Written under the
    /// shard's lock, read without it. They are adjacent in memory, since an eviction reads all of them and they rarely
    /// change otherwise.
    private let oldestStamps: [32 of Atomic<Int64>] = InlineArray { _ in Atomic(.max) }
    private let shardCount: Int
    private let end = Padding()

    /// - Parameter shardCount: at most 32.
    init(costLimit: Int, countLimit: Int, entryCostLimit: Int, shardCount: Int) {
        sharedCostLimit = Atomic(Self.clampedCost(costLimit))
        sharedCountLimit = Atomic(max(0, countLimit))
        sharedEntryCostLimit = Atomic(Self.clampedCost(entryCostLimit))
        self.shardCount = shardCount
    }

    var cost: Int { sharedCost.load(ordering: .relaxed) }
    var count: Int { sharedCount.load(ordering: .relaxed) }
    @usableFromInline var isEmpty: Bool { count == 0 }

    var costLimit: Int {
        get { sharedCostLimit.load(ordering: .relaxed) }
        set { sharedCostLimit.store(Self.clampedCost(newValue), ordering: .relaxed) }
    }
    var countLimit: Int {
        get { sharedCountLimit.load(ordering: .relaxed) }
        set { sharedCountLimit.store(max(0, newValue), ordering: .relaxed) }
    }
    var entryCostLimit: Int {
        get { sharedEntryCostLimit.load(ordering: .relaxed) }
        set { sharedEntryCostLimit.store(Self.clampedCost(newValue), ordering: .relaxed) }
    }

    /// Whether an entry of that cost may be stored.
    @usableFromInline
    func admits(cost: Int) -> Bool { cost <= costLimit && cost <= entryCostLimit }

    /// The goal of evictions after a store.
    @usableFromInline var limits: EvictionGoal { EvictionGoal(cost: costLimit, count: countLimit) }

    /// Adds what changed in a shard, under that shard's lock.
    @usableFromInline
    func add(cost: Int, count: Int) -> Change {
        if cost != 0 { sharedCost.wrappingAdd(cost, ordering: .relaxed) }
        var change: Change = []
        if count != 0 {
            let (old, new) = sharedCount.wrappingAdd(count, ordering: .relaxed)
            if old == 0 { change.insert(.isFilled) }
            if new == 0 { change.insert(.isEmptied) }
        }
        if self.cost > costLimit || self.count > countLimit { change.insert(.isInExcess) }
        return change
    }

    /// Subtracts an entry, under its shard's lock, if the goal requires its eviction. If several threads find one entry
    /// too many, only one evicts it.
    ///
    /// If both cost and count are exceeded, two threads may still each evict an entry, one for each reason.
    ///
    /// - Returns: the cause; `nil` if the entry may stay.
    @usableFromInline
    func countOut(cost: Int, stamp: Int64, for goal: EvictionGoal) -> EvictionCause? {
        if stamp <= goal.stamp {
            sharedCost.wrappingSubtract(cost, ordering: .relaxed)
            sharedCount.wrappingSubtract(1, ordering: .relaxed)
            return goal.cause
        }
        if Self.subtract(cost, from: sharedCost, ifAbove: goal.cost) {
            sharedCount.wrappingSubtract(1, ordering: .relaxed)
            return goal.cause ?? .cost
        }
        if Self.subtract(1, from: sharedCount, ifAbove: goal.count) {
            sharedCost.wrappingSubtract(cost, ordering: .relaxed)
            return goal.cause ?? .count
        }
        return nil
    }

    @usableFromInline
    func announce(oldestStamp: Int64, ofShard index: Int) { oldestStamps[index].store(oldestStamp, ordering: .relaxed) }

    /// Returns the shard with the oldest entry; `nil` if all are empty.
    @usableFromInline
    func oldestShard() -> (index: Int, stamp: Int64)? {
        var oldest = (index: 0, stamp: Int64.max)
        for index in 0..<shardCount {
            let stamp = oldestStamps[index].load(ordering: .relaxed)
            if stamp < oldest.stamp { oldest = (index, stamp) }
        }
        return oldest.stamp == .max ? nil : oldest
    }

    private static func subtract(_ amount: Int, from total: borrowing Atomic<Int>, ifAbove limit: Int) -> Bool {
        var old = total.load(ordering: .relaxed)
        while old > limit {
            let result = total.weakCompareExchange(expected: old, desired: old &- amount, ordering: .relaxed)
            if result.exchanged { return true }
            old = result.original
        }
        return false
    }

    /// The consequences of a change, which the caller handles without a lock.
    @usableFromInline
    struct Change: OptionSet, Sendable {
        @usableFromInline let rawValue: UInt8
        @inlinable init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A limit is exceeded.
        @inlinable static var isInExcess: Change { Change(rawValue: 1) }
        /// There were no entries before.
        @inlinable static var isFilled: Change { Change(rawValue: 2) }
        /// There were entries before, and there are none now.
        @inlinable static var isEmptied: Change { Change(rawValue: 4) }
    }

    /// At most half of the range, so that the total and one more entry never overflow.
    private static func clampedCost(_ cost: Int) -> Int { min(max(0, cost), .max / 2) }
}

/// The goal of evictions: the least recently used entries are evicted while any of these is exceeded.
@usableFromInline
struct EvictionGoal: Sendable {
    /// The maximum total cost of the remaining entries.
    var cost = Int.max
    /// The maximum number of entries.
    var count = Int.max
    /// Entries last used at this time or earlier are evicted as well, in nanoseconds on the cache's clock.
    var stamp = Int64.min
    /// The cause in the statistics; `nil` for ``EvictionCause/cost`` or ``EvictionCause/count``, whichever is exceeded.
    var cause: EvictionCause?
}
