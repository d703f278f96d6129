/// How far evictions go: the least recently used entries leave as long as one of these is exceeded.
@usableFromInline
struct EvictionGoal: Sendable {
    /// What the rest may cost together.
    var cost = Int.max
    /// How many may be left.
    var count = Int.max
    /// Entries that were used last at this time or before go as well, in nanoseconds on the cache's clock.
    var stamp = Int64.min
    /// What the statistics call it; `nil` for ``EvictionCause/cost`` or ``EvictionCause/count``, whichever is exceeded.
    var cause: EvictionCause?
}
