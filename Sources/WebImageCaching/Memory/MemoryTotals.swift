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

    /// The limit that is exceeded.
    @usableFromInline var excess: EvictionCause? {
        if cost > costLimit { return .cost }
        return count > countLimit ? .count : nil
    }

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
        if excess != nil { change.insert(.isInExcess) }
        return change
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
