/// What a ``MemoryCache`` has done since it was made, or since ``MemoryCache/resetStatistics()``.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// Look-ups that found a value among the cached ones.
    public var hitCount = 0
    /// Look-ups that found a value which was no longer cached but still alive elsewhere.
    public var weakHitCount = 0
    /// Look-ups that found nothing.
    public var missCount = 0
    /// Values stored, those in the place of older ones among them.
    public var insertionCount = 0
    /// Entries that had to go, by cause.
    public var evictionCounts = EvictionCounts()
    /// The entries there are now.
    public var count = 0
    /// What they cost together now.
    public var totalCost = 0

    /// Makes statistics of nothing.
    @inlinable
    public init() {}

    /// The part of all look-ups that found a value, from 0 to 1; 0 before the first one.
    public var hitRate: Double {
        let found = hitCount + weakHitCount
        return found == 0 ? 0 : Double(found) / Double(found + missCount)
    }

    /// A number for each ``EvictionCause``.
    public struct EvictionCounts: Sendable, Hashable {
        // No vector: its alignment would put the lock of a shard and what it guards on different cache lines.
        @usableFromInline var counts: [7 of Int] = InlineArray(repeating: 0)

        @inlinable
        init() {}

        /// How many entries went for this cause.
        @inlinable
        public subscript(cause: EvictionCause) -> Int {
            get { counts[cause.rawValue] }
            set { counts[cause.rawValue] = newValue }
        }

        /// How many entries went for any cause.
        public var total: Int { EvictionCause.allCases.reduce(0) { $0 + self[$1] } }

        /// Whether all numbers are equal.
        public static func == (first: EvictionCounts, second: EvictionCounts) -> Bool {
            EvictionCause.allCases.allSatisfy { first[$0] == second[$0] }
        }

        /// Feeds all numbers to the hasher.
        public func hash(into hasher: inout Hasher) {
            for cause in EvictionCause.allCases { hasher.combine(self[cause]) }
        }
    }

    mutating func add(_ other: MemoryCacheStatistics) {
        hitCount += other.hitCount
        weakHitCount += other.weakHitCount
        missCount += other.missCount
        insertionCount += other.insertionCount
        for cause in EvictionCause.allCases { evictionCounts[cause] += other.evictionCounts[cause] }
        count += other.count
        totalCost += other.totalCost
    }
}
