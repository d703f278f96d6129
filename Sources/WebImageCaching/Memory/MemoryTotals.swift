internal import Synchronization

/// What all shards of a ``MemoryCache`` hold together, and how much they may. Gets leave it alone.
@usableFromInline
final class MemoryTotals: Sendable {
    private let start = CacheLines()
    private let sharedCost = Atomic(0)
    private let sharedCount = Atomic(0)
    private let sharedCostLimit: Atomic<Int>
    private let sharedCountLimit: Atomic<Int>
    private let sharedEntryCostLimit: Atomic<Int>
    private let end = CacheLines()

    init(costLimit: Int, countLimit: Int, entryCostLimit: Int) {
        sharedCostLimit = Atomic(Self.clampedCost(costLimit))
        sharedCountLimit = Atomic(max(0, countLimit))
        sharedEntryCostLimit = Atomic(Self.clampedCost(entryCostLimit))
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

    /// What evictions are to reach after a store.
    @usableFromInline var limits: EvictionGoal { EvictionGoal(cost: costLimit, count: countLimit) }

    /// Counts a change of a shard in, under that shard's lock.
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

    /// Counts an entry out, under its shard's lock, if the goal asks for it: of several threads that find one entry too
    /// many, one may evict it.
    ///
    /// Where both a cost and a count are exceeded at once, two threads may still take an entry each for the two reasons.
    ///
    /// - Returns: why the entry has to go; `nil` if it may stay.
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

    private static func subtract(_ amount: Int, from total: borrowing Atomic<Int>, ifAbove limit: Int) -> Bool {
        var old = total.load(ordering: .relaxed)
        while old > limit {
            let result = total.weakCompareExchange(expected: old, desired: old &- amount, ordering: .relaxed)
            if result.exchanged { return true }
            old = result.original
        }
        return false
    }

    /// What a change led to, for the caller to act on once it holds no lock.
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
