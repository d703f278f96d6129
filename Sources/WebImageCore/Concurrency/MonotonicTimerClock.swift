internal import Dispatch

/// The system's monotonic clock: it does not know when somebody sets the time, and stands still while the machine sleeps.
///
/// Calls come on a serial queue of its own, within a fraction of a millisecond of their time on an idle machine. It holds a
/// timer only while calls wait.
public final class MonotonicTimerClock: TimerClock {
    /// The clock every player uses unless told otherwise.
    public static let shared = MonotonicTimerClock()

    private struct State {
        var schedule = CallSchedule()
        var timer: (any DispatchSourceTimer)?
        /// For when the timer is set; `nil` while it is not, or its handler runs.
        var timerTime: Int64?
        var isRunning = false
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "webimage-animation", qos: .userInteractive)

    /// Makes a clock with a queue of its own.
    public init() {}

    deinit { state.withLock { $0.timer }?.cancel() }

    /// The time since the machine's start, without its sleep.
    public var now: Duration { .nanoseconds(Self.nanoseconds) }

    /// Calls `body` on the clock's queue.
    public func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let due = max(0, time.nanoseconds)
        let number = state.withLock { state in
            let number = state.schedule.add(at: due, body)
            setTimer(&state)
            return number
        }
        return ScheduledCall { [weak self] in
            _ = self?.state.withLock { $0.schedule.remove(at: due, number: number) }
        }
    }

    /// Sets the timer for the next call, unless the handler will do it, or the timer comes early enough: then it finds
    /// nothing due and is set again.
    private func setTimer(_ state: inout State) {
        guard !state.isRunning else { return }
        guard let next = state.schedule.nextTime else {
            state.timer?.cancel()
            (state.timer, state.timerTime) = (nil, nil)
            return
        }
        if let timerTime = state.timerTime, timerTime <= next { return }
        if state.timer == nil {
            let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
            timer.setEventHandler { [weak self] in self?.runDueCalls() }
            state.timer = timer
            timer.resume()
        }
        // 0 would mean now to Dispatch.
        let deadline = DispatchTime(uptimeNanoseconds: UInt64(max(1, next)))
        state.timer?.schedule(deadline: deadline, leeway: .nanoseconds(0))
        state.timerTime = next
    }

    private func runDueCalls() {
        state.withLock { ($0.timerTime, $0.isRunning) = (nil, true) }
        while let body = state.withLock({ $0.schedule.removeNext(dueAt: Self.nanoseconds) }) { body() }
        state.withLock { state in
            state.isRunning = false
            setTimer(&state)
        }
    }

    private static var nanoseconds: Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds) }
}
