internal import Synchronization

/// A flag that tells long-running work (a decode, a resize) that nobody wants its result any more.
///
/// Work polls it at its checkpoints: a scan, a batch of rows, a frame. It may be set from any thread and is never
/// cleared.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)
    private let onPoll: (@Sendable (Cancellation) -> Void)?
    private let parent: Cancellation?
    /// What the work may take before ``check()`` ends it; `nil` for any time.
    package let budget: TimeBudget?

    /// Makes a flag that is not set.
    public init() {
        onPoll = nil
        parent = nil
        budget = nil
    }

    /// Makes a flag that is set when `parent` is, and also ends work that is out of time.
    package init(_ parent: Cancellation?, within budget: TimeBudget) {
        onPoll = nil
        self.parent = parent
        self.budget = budget
    }

    /// Makes a flag that calls `onPoll` before each look at it: a test counts checkpoints with it, or cancels at one.
    package init(onPoll: @escaping @Sendable (Cancellation) -> Void) {
        self.onPoll = onPoll
        parent = nil
        budget = nil
    }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool {
        onPoll?(self)
        return flag.load(ordering: .relaxed) || parent?.isCancelled == true
    }

    /// Asks the work to stop at its next checkpoint.
    public func cancel() { flag.store(true, ordering: .relaxed) }

    /// Throws ``WebImageError/cancelled`` once the flag is set, or ``WebImageError/decodingTimedOut(seconds:)``; a
    /// checkpoint calls it.
    public func check() throws(WebImageError) {
        if isCancelled { throw .cancelled }
        if let budget, budget.isSpent { throw .decodingTimedOut(seconds: budget.seconds) }
    }
}
