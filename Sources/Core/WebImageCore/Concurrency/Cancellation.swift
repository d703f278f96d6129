internal import Glibc
internal import Synchronization

/// A flag that tells long-running work (a decode, a resize) that its result is no longer needed.
///
/// Work polls the flag at its checkpoints: a scan, a batch of rows, a frame. Work that waits is woken. The flag may be set
/// from any thread and is never cleared.
public final class Cancellation: Sendable {
    private let flag = Atomic(false)
    private let handlers = Lock(Handlers())
    private let onPoll: (@Sendable (Cancellation) -> Void)?
    private let parent: Cancellation?
    /// The time that the work may take before ``check()`` throws; `nil` for no limit.
    fileprivate let budget: TimeBudget?

    /// Creates a flag that is not set.
    public init() {
        onPoll = nil
        parent = nil
        budget = nil
    }

    /// See ``TimeBudget/cancellation(after:)``.
    fileprivate init(_ parent: Cancellation?, within budget: TimeBudget) {
        onPoll = nil
        self.parent = parent
        self.budget = budget
    }

    /// Creates a flag that calls `onPoll` before each check, such as to follow the flag of another library.
    ///
    /// ```swift
    /// let cancellation = Cancellation { flag in
    ///     if Task.isCancelled { flag.cancel() }
    /// }
    /// ```
    ///
    /// - Parameter onPoll: gets this flag, on the thread that polls it. It must return soon, and must not poll the flag.
    public init(onPoll: @escaping @Sendable (Cancellation) -> Void) {
        self.onPoll = onPoll
        parent = nil
        budget = nil
    }

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool {
        onPoll?(self)
        return flag.load(ordering: .relaxed) || parent?.isCancelled == true
    }

    /// Stops the work at its next checkpoint, and wakes it if it waits.
    public func cancel() {
        flag.store(true, ordering: .relaxed)
        for handler in handlers.withLock({ $0.takeAll() }) { handler() }
    }

    /// Throws ``WebImageError/cancelled`` if the flag is set, or ``WebImageError/LimitFailure/processorTime(limit:)``
    /// if the time is used up. Called at checkpoints.
    public func check() throws(WebImageError) {
        if isCancelled { throw .cancelled }
        if let budget, budget.isSpent { throw budget.error }
    }
}

// MARK: - Work that waits

extension Cancellation {
    private struct Handlers {
        private var handlers: [Int: @Sendable () -> Void] = [:]
        private var lastNumber = 0

        mutating func add(_ handler: @escaping @Sendable () -> Void) -> Int {
            lastNumber += 1
            handlers[lastNumber] = handler
            return lastNumber
        }

        mutating func remove(_ number: Int) { handlers[number] = nil }

        mutating func takeAll() -> [@Sendable () -> Void] {
            defer { handlers = [:] }
            return Array(handlers.values)
        }
    }

    /// Calls `body`, which waits for something, and `handler` if the flag is set meanwhile or was set before: it ends the wait. Called on the
    /// thread that cancels, perhaps once more just after `body` has returned.
    public func withHandler<Result, Failure: Error>(
        _ handler: @escaping @Sendable () -> Void, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let number = handlers.withLock { $0.add(handler) }
        defer { handlers.withLock { $0.remove(number) } }
        // The flag is set before the handlers are taken.
        if flag.load(ordering: .relaxed) { handler() }
        guard let parent else { return try body() }
        return try parent.withHandler(handler, body)
    }
}

/// The processor time that a piece of work may take: waiting for bytes uses none, and a busy machine accepts the same work as an idle one.
package final class TimeBudget: Sendable {
    private let limit: Duration
    private let seconds: Double
    private let now: @Sendable () -> Double
    private let usage = Lock(Usage())

    private struct Usage {
        var spent = 0.0
        var runningSince: Double?
    }

    /// - Parameters:
    ///   - limit: the size of the budget.
    ///   - now: returns the processor time that the calling thread has used, in seconds.
    package init(_ limit: Duration, now: @escaping @Sendable () -> Double = TimeBudget.threadTime) {
        self.limit = limit
        seconds = limit.inExactSeconds
        self.now = now
    }

    /// The budget of work with this flag; `nil` for none.
    package static func of(_ cancellation: Cancellation?) -> TimeBudget? { cancellation?.budget }

    /// Returns a flag that is set when `parent` is set, and that also stops work which exceeds this budget.
    package func cancellation(after parent: Cancellation?) -> Cancellation { Cancellation(parent, within: self) }

    /// Counts the time that `body` takes on this thread. If `body` continues on another thread, both times count.
    package func running<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = now()
        let outer = usage.withLock { usage in
            defer { usage.runningSince = start }
            return usage.runningSince
        }
        defer {
            let end = now()
            usage.withLock { usage in
                // The time of a part counts once, as that of the whole.
                if outer == nil { usage.spent += end - start }
                usage.runningSince = outer
            }
        }
        return try body()
    }

    /// Whether the budget is used up; called by the thread that does the work.
    var isSpent: Bool {
        let now = now()
        return usage.withLock { $0.spent + ($0.runningSince.map { now - $0 } ?? 0) } >= seconds
    }

    var error: WebImageError { .limitExceeded(reason: .processorTime(limit: limit)) }

    /// The processor time of the calling thread, in seconds.
    static let threadTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
