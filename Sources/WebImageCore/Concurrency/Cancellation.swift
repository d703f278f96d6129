internal import Synchronization

/// A flag that tells long-running work (a decode, a resize) that its result is no longer needed.
///
/// Work polls the flag at its checkpoints: a scan, a batch of rows, a frame. The flag may be set from any thread and is
/// never cleared.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)
    private let onPoll: (@Sendable (Cancellation) -> Void)?
    private let parent: Cancellation?
    /// The processor time that the work may take before ``check()`` throws; `nil` for no limit.
    package let budget: TimeBudget?

    /// Creates a flag that is not set.
    public init() {
        onPoll = nil
        parent = nil
        budget = nil
    }

    /// Creates a flag that is set when `parent` is set, and that also stops work which exceeds `budget`.
    package init(_ parent: Cancellation?, within budget: TimeBudget) {
        onPoll = nil
        self.parent = parent
        self.budget = budget
    }

    /// Creates a flag that calls `onPoll` before each check. Tests count checkpoints with it, or cancel at one.
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

    /// Throws ``WebImageError/cancelled`` if the flag is set, or ``WebImageError/LimitFailure/processorTime(seconds:)`` if the
    /// time is used up. Called at checkpoints.
    public func check() throws(WebImageError) {
        if isCancelled { throw .cancelled }
        if let budget, budget.isSpent { throw .limitExceeded(reason: .processorTime(seconds: budget.seconds)) }
    }
}
