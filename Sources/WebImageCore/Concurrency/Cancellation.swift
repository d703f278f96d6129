internal import Synchronization

/// A flag that tells long-running work (a decode, a resize) that nobody wants its result any more.
///
/// Work polls it at its checkpoints: a scan, a batch of rows, a frame. It may be set from any thread and is never
/// cleared.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)
    private let onPoll: (@Sendable (Cancellation) -> Void)?

    /// Makes a flag that is not set.
    public init() { onPoll = nil }

    /// Makes a flag that calls `onPoll` before each look at it: a test counts checkpoints with it, or cancels at one.
    package init(onPoll: @escaping @Sendable (Cancellation) -> Void) { self.onPoll = onPoll }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool {
        onPoll?(self)
        return flag.load(ordering: .relaxed)
    }

    /// Asks the work to stop at its next checkpoint.
    public func cancel() { flag.store(true, ordering: .relaxed) }

    /// Throws ``WebImageError/cancelled`` once the flag is set; a checkpoint calls it.
    public func check() throws(WebImageError) {
        if isCancelled { throw .cancelled }
    }
}
