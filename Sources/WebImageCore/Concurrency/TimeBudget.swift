internal import Glibc

/// Processor time that a piece of work may take, counted while it runs: what waits for its next bytes spends none, and a
/// busy machine refuses nothing that an idle one takes.
package final class TimeBudget: Sendable {
    /// How much it is.
    package let seconds: Double
    private let now: @Sendable () -> Double
    private let usage = Lock(Usage())

    private struct Usage {
        var spent = 0.0
        var runningSince: Double?
    }

    /// - Parameter now: the time in seconds that the calling thread has used.
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

    /// Whether nothing is left; asked by the thread that runs.
    package var isSpent: Bool {
        let now = now()
        return usage.withLock { $0.spent + ($0.runningSince.map { now - $0 } ?? 0) } >= seconds
    }

    /// What the calling thread has used.
    package static let threadTime: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
