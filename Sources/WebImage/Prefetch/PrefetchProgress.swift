/// The progress of a batch of prefetches.
public struct PrefetchProgress: Sendable, Hashable {
    /// The number of images, each counted once.
    public var total: Int
    /// The number of images that were loaded.
    public var loaded = 0
    /// The number of images that were cached already.
    public var skipped = 0
    /// The number of images that failed or were cancelled.
    public var failed = 0
    /// Whether the batch was cancelled.
    public var isCancelled = false

    package init(total: Int) { self.total = total }

    /// The number of images that were loaded, skipped or failed.
    public var finished: Int { loaded + skipped + failed }
    /// Whether no images remain.
    public var isFinished: Bool { finished == total }
}
