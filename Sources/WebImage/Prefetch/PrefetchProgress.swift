/// How far a batch of prefetches is.
public struct PrefetchProgress: Sendable, Hashable {
    /// How many pictures there are, each counted once.
    public var total: Int
    /// How many were fetched.
    public var loaded = 0
    /// How many were in a cache already.
    public var skipped = 0
    /// How many could not be loaded, or were cancelled.
    public var failed = 0
    /// Whether the batch was cancelled.
    public var isCancelled = false

    /// Makes the progress of a batch that has not begun.
    public init(total: Int) { self.total = total }

    /// How many are through, one way or the other.
    public var finished: Int { loaded + skipped + failed }
    /// Whether all are.
    public var isFinished: Bool { finished == total }
}
