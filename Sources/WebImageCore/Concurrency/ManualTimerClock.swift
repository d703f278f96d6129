/// A clock that stands still until it is moved: for tests, and for programs that render each frame in their own time.
public final class ManualTimerClock: TimerClock {
    private struct State {
        var now: Int64 = 0
        var schedule = CallSchedule()

        /// The end of time, after more than 292 years.
        func time(after duration: Duration) -> Int64 {
            let (sum, overflow) = now.addingReportingOverflow(max(0, duration.nanoseconds))
            return overflow ? .max : sum
        }
    }

    private let state = Lock(State())

    /// Makes a clock that shows 0.
    public init() {}

    /// What it was moved by so far.
    public var now: Duration { .nanoseconds(state.withLock { $0.now }) }

    /// How many calls wait for their time.
    public var pendingCallCount: Int { state.withLock { $0.schedule.count } }

    /// When the next call is due; `nil` if none is scheduled.
    public var nextCallTime: Duration? { state.withLock { $0.schedule.nextTime }.map { .nanoseconds($0) } }

    /// Calls `body` in ``advance(by:)``, on its caller's thread.
    public func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let (number, due) = state.withLock { state in
            // What comes late comes behind what is due now.
            let due = max(time.nanoseconds, state.now)
            return (state.schedule.add(at: due, body), due)
        }
        return ScheduledCall { [weak self] in
            _ = self?.state.withLock { $0.schedule.remove(at: due, number: number) }
        }
    }

    /// Moves the time on, and makes each call when the clock shows its time, before this returns.
    ///
    /// Not to be called by two threads at once, nor by a call.
    ///
    /// - Parameter duration: 0, the default, makes the calls that are due now; less counts as that.
    public func advance(by duration: Duration = .zero) {
        let target = state.withLock { $0.time(after: duration) }
        while let body = state.withLock({ state -> (@Sendable () -> Void)? in
            if let next = state.schedule.nextTime, next <= target { state.now = max(state.now, next) }
            return state.schedule.removeNext(dueAt: target)
        }) { body() }
        state.withLock { $0.now = target }
    }

    /// Moves the time on at one stroke, as if the process had been stopped: calls come late, all at the new time.
    public func jump(by duration: Duration) {
        state.withLock { $0.now = $0.time(after: duration) }
        advance()
    }
}
