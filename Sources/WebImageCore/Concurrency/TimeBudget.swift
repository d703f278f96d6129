internal import Glibc

/// The processor time that a piece of work may take, counted while it runs. Waiting for bytes uses none, and a busy
/// machine accepts the same work as an idle one.
package final class TimeBudget: Sendable {
    /// The size of the budget.
    package let seconds: Double
    private let now: @Sendable () -> Double
    private let usage = Lock(Usage())

    private struct Usage {
        var spent = 0.0
        var runningSince: Double?
    }

    /// - Parameter now: returns the processor time that the calling thread has used, in seconds.
    package init(seconds: Double, now: @escaping @Sendable () -> Double = TimeBudget.threadTime) {
        self.seconds = seconds
        self.now = now
    }

    /// Counts the time that `body` takes on this thread.
    package func running<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = now()
        usage.withLock { $0.runningSince = start }
        defer {
            let end = now()
            usage.withLock { usage in
                usage.spent += end - start
                usage.runningSince = nil
            }
        }
        return try body()
    }

    /// Whether the budget is used up; called by the thread that does the work.
    package var isSpent: Bool {
        let now = now()
        return usage.withLock { $0.spent + ($0.runningSince.map { now - $0 } ?? 0) } >= seconds
    }

    /// The processor time of the calling thread, in seconds.
    package static let threadTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
