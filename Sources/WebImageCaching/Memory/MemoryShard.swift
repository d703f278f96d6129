internal import Synchronization
internal import WebImageCore

#if WEBIMAGE_TSAN
    internal import Glibc
#endif

/// A part of a ``MemoryCache``, chosen by the hash of a key, with its own lock and order of use.
///
/// Two threads compete for a lock only if their keys are in one shard. A shard is an address in memory that the cache owns:
/// an object would be retained and released for each use, by all threads. No two shards share a cache line, and what each
/// use touches is beside the lock: fetching a line from another processor costs more than the rest of a use.
@usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: the contents are accessed between `lock` and `unlock` only.

    @usableFromInline
    struct Contents: ~Copyable {
        @usableFromInline var store: LRUStore<Key, Value>
        /// Its place among the cache's shards.
        @usableFromInline let index: Int

        init(index: Int, store: consuming LRUStore<Key, Value>) {
            self.index = index
            self.store = store
        }
    }

    /// Not a part of the contents: locking it would be an access to all of them.
    @usableFromInline let mutex: UnsafeMutablePointer<ShardMutex>
    @usableFromInline let contents: UnsafeMutablePointer<Contents>

    /// - Parameter address: of memory for the lock, with the contents behind it.
    @inlinable
    init(at address: UnsafeMutableRawPointer) {
        mutex = address.assumingMemoryBound(to: ShardMutex.self)
        contents = (address + Self.contentsOffset).assumingMemoryBound(to: Contents.self)
    }

    /// In bytes: the lock's size, and at least the contents' alignment.
    @inlinable static var contentsOffset: Int { 16 }

    @inlinable var store: LRUStore<Key, Value> {
        _read { yield contents.pointee.store }
        nonmutating _modify { yield &contents.pointee.store }
    }

    @inlinable
    func lock() { mutex.pointee.lock() }

    @inlinable
    func unlock() { mutex.pointee.unlock() }

    /// Runs `body` with the lock held.
    @inlinable
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Takes the store with all its entries, and leaves an empty one with the same settings and statistics.
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
        precondition(MemoryLayout<ShardMutex>.size <= Shard.contentsOffset)
        precondition(MemoryLayout<Shard.Contents>.alignment <= Shard.contentsOffset)
        let alignment = 128
        let size = Shard.contentsOffset + MemoryLayout<Shard.Contents>.size
        self.count = count
        stride = (size + alignment - 1) / alignment * alignment
        base = .allocate(byteCount: count * stride, alignment: alignment)
        for (index, shard) in all.enumerated() {
            shard.mutex.initialize(to: ShardMutex())
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

/// A store that no cache uses any more, for the thread that releases its values.
final class RetiredStore<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: nothing reads the store; releasing the last reference releases what is in it.
    private let store: LRUStore<Key, Value>
    init(_ store: consuming LRUStore<Key, Value>) { self.store = store }
}

/// The lock of a shard.
///
/// It is not inlined, so that other modules get specialised code for everything that depends on `Key` and `Value` without
/// seeing it. A `Lock` would be an object beside other shards' locks.
@usableFromInline
struct ShardMutex: ~Copyable, @unchecked Sendable {
    // `@unchecked` for the pointer: POSIX locks are for all threads.
    #if WEBIMAGE_TSAN
        // See `Lock` for the reason.
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

        init() {
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }

        @usableFromInline func lock() { pthread_mutex_lock(mutex) }
        @usableFromInline func unlock() { pthread_mutex_unlock(mutex) }
    #else
        private let mutex = Mutex<Void>(())

        init() {}

        @usableFromInline func lock() { mutex._unsafeLock() }
        @usableFromInline func unlock() { mutex._unsafeUnlock() }
    #endif
}

/// What all shards of a ``MemoryCache`` hold together, how much they may, and how old their oldest entries are.
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
    /// The stamp of each shard's oldest entry, for evictions to compare; `.max` for an empty shard. Written under the shard's
    /// lock, read without. They are side by side, as an eviction reads all of them and little else changes them.
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

    /// Whether one entry of that cost may be kept.
    @usableFromInline
    func admits(cost: Int) -> Bool { cost <= costLimit && cost <= entryCostLimit }

    /// What evictions must reach after a store.
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

    /// Subtracts an entry, under its shard's lock, if the goal requires its eviction: of several threads that find one entry
    /// too many, one may evict it.
    ///
    /// Where both a cost and a count are exceeded at once, two threads may still take an entry each for the two reasons.
    ///
    /// - Returns: why the entry must go; `nil` if it may stay.
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

    /// Returns the shard with the oldest entry; `nil` when all are empty.
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

    /// What a change led to, for the caller to handle once it holds no lock.
    @usableFromInline
    struct Change: OptionSet, Sendable {
        @usableFromInline let rawValue: UInt8
        @inlinable init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A limit is exceeded.
        @inlinable static var isInExcess: Change { Change(rawValue: 1) }
        /// There were no entries before.
        @inlinable static var isFilled: Change { Change(rawValue: 2) }
        /// There are no entries any more.
        @inlinable static var isEmptied: Change { Change(rawValue: 4) }
    }

    /// Half of the range, so that the total and one more entry never overflow.
    private static func clampedCost(_ cost: Int) -> Int { min(max(0, cost), .max / 2) }
}

/// How far evictions go: the least recently used entries leave as long as one of these is exceeded.
@usableFromInline
struct EvictionGoal: Sendable {
    /// The most that the remaining entries may cost together.
    var cost = Int.max
    /// The most entries.
    var count = Int.max
    /// Entries last used at this time or earlier leave as well, in nanoseconds on the cache's clock.
    var stamp = Int64.min
    /// The cause in the statistics; `nil` for ``EvictionCause/cost`` or ``EvictionCause/count``, whichever is exceeded.
    var cause: EvictionCause?
}
