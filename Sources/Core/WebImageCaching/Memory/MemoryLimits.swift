/// The limits of a ``MemoryCache``.
@usableFromInline
struct MemoryLimits: Sendable {
    /// At most half of the range, so that the total and one more entry never overflow.
    @usableFromInline var cost: Int { didSet { cost = Self.clampedCost(cost) } }
    @usableFromInline var count: Int { didSet { count = max(0, count) } }
    @usableFromInline var entryCost: Int { didSet { entryCost = Self.clampedCost(entryCost) } }
    /// How long an entry is kept without being used, in nanoseconds; `.max` for no limit.
    @usableFromInline var age: Int64

    init(cost: Int, count: Int, entryCost: Int, age: Int64) {
        (self.cost, self.count) = (Self.clampedCost(cost), max(0, count))
        (self.entryCost, self.age) = (Self.clampedCost(entryCost), age)
    }

    /// Whether an entry of that cost may be stored.
    @inlinable
    func admit(cost: Int) -> Bool { cost <= self.cost && cost <= entryCost }

    /// The goal of evictions after a store.
    @inlinable var goal: EvictionGoal { EvictionGoal(cost: cost, count: count) }

    private static func clampedCost(_ cost: Int) -> Int { min(max(0, cost), .max / 2) }
}

/// The goal of evictions: the least recently used entries are evicted while any of these is exceeded.
@usableFromInline
struct EvictionGoal: Sendable {
    /// The maximum total cost of the remaining entries.
    @usableFromInline var cost: Int
    /// The maximum number of entries.
    @usableFromInline var count: Int
    /// Entries last used at this time or earlier are evicted as well, in nanoseconds on the cache's clock.
    @usableFromInline var time: Int64
    /// The cause in the statistics; `nil` for what is exceeded.
    @usableFromInline var cause: EvictionCause?
    /// Entries used later stay, whatever is exceeded.
    @usableFromInline var newestTime = Int64.max

    @inlinable
    init(cost: Int = .max, count: Int = .max, time: Int64 = .min, cause: EvictionCause? = nil) {
        (self.cost, self.count, self.time, self.cause) = (cost, count, time, cause)
    }
}
