/// A clock that moves only when advanced, for tests and for programs that render frames at their own pace.
public final class ManualTimerClock: TimerClock {
    private struct State {
        var now: Int64 = 0
        var schedule = CallSchedule()

        /// Clamped to the largest time, after more than 292 years.
        func time(after duration: Duration) -> Int64 {
            let (sum, overflow) = now.addingReportingOverflow(max(0, duration.nanoseconds))
            return overflow ? .max : sum
        }
    }

    private let state = Lock(State())

    /// Creates a clock at time 0.
    public init() {}

    /// The time by which the clock was advanced.
    public var now: Duration { .nanoseconds(state.withLock { $0.now }) }

    package var pendingCallCount: Int { state.withLock { $0.schedule.count } }

    package var nextCallTime: Duration? { state.withLock { $0.schedule.nextTime }.map { .nanoseconds($0) } }

    /// Schedules `body`. ``advance(by:)`` calls it, on its caller's thread.
    public func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let (number, due) = state.withLock { state in
            // A time in the past comes after the calls that are due now.
            let due = max(time.nanoseconds, state.now)
            return (state.schedule.add(at: due, body), due)
        }
        return ScheduledCall { [weak self] in
            _ = self?.state.withLock { $0.schedule.remove(at: due, number: number) }
        }
    }

    /// Advances the time and makes each call at its time, before this method returns.
    ///
    /// Must not be called concurrently, nor from a scheduled call.
    ///
    /// - Parameter duration: 0, the default, makes the calls that are due now. Negative durations count as 0.
    public func advance(by duration: Duration = .zero) {
        let target = state.withLock { $0.time(after: duration) }
        while let body = state.withLock({ state -> (@Sendable () -> Void)? in
            if let next = state.schedule.nextTime, next <= target { state.now = max(state.now, next) }
            return state.schedule.removeNext(dueAt: target)
        }) { body() }
        state.withLock { $0.now = target }
    }

    /// Advances the time in one step, as if the process had been suspended: calls are late, all at the new time.
    package func jump(by duration: Duration) {
        state.withLock { $0.now = $0.time(after: duration) }
        advance()
    }
}
