internal import Dispatch

/// A source of time that calls back at a given time.
///
/// The system's monotonic clock is the default everywhere. A view may use its frame clock instead, and tests and
/// programs that render frames use a ``ManualTimerClock``. A clock may be used while the caller holds a lock, so it
/// must never call back inside a call.
public protocol TimerClock: Sendable {
    /// The time since an arbitrary moment; never decreases. May be called on any thread.
    var now: Duration { get }

    /// Calls `body` once, at `time` or as soon after it as possible.
    ///
    /// May be called on any thread, also by a scheduled body. Bodies run on a thread chosen by the clock, one after the
    /// other, in the order of their times and then of scheduling. They never run inside this call or under a lock of
    /// the clock.
    func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall
}

/// A call scheduled by a ``TimerClock``.
public struct ScheduledCall: Sendable {
    private let onCancel: @Sendable () -> Void

    /// - Parameter onCancel: removes the call from the clock; may be called late, and more than once.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Cancels the call, unless it has begun on another thread.
    public func cancel() { onCancel() }
}

/// The system's monotonic clock, which stands still while the machine sleeps.
///
/// Calls run on its serial queue, within a fraction of a millisecond on an idle machine. It has a timer only while calls are
/// pending.
package final class SystemTimerClock: TimerClock {
    /// The clock of animations.
    package static let shared = SystemTimerClock()

    private struct State {
        var schedule = CallSchedule()
        var timer: (any DispatchSourceTimer)?
        /// When the timer fires; `nil` while it is not set, or its handler runs.
        var timerTime: Int64?
        var isRunning = false
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "webimage-clock", qos: .userInteractive)

    package init() {}

    deinit { state.withLock { $0.timer }?.cancel() }

    /// The time since boot, without sleep.
    package var now: Duration { .nanoseconds(Self.nanoseconds) }

    package func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let due = max(0, time.nanoseconds)
        let number = state.withLock { state in
            let number = state.schedule.add(at: due, body)
            setTimer(&state)
            return number
        }
        return ScheduledCall { [weak self] in
            // The body is released outside the lock.
            _ = self?.state.withLock { $0.schedule.remove(at: due, number: number) }
        }
    }

    /// Sets the timer for the next call, unless the handler will do so. A timer that fires too early is set again.
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

/// The pending calls of a clock, in order.
package struct CallSchedule: Sendable {
    private struct Call {
        let time: Int64
        let number: Int
        let body: @Sendable () -> Void
    }

    /// The latest first, so that the next one is at the end.
    private var calls: [Call] = []
    private var lastNumber = 0

    /// When the next call is due, in nanoseconds.
    package var nextTime: Int64? { calls.last?.time }

    package var count: Int { calls.count }

    package init() {}

    /// Adds a call after those of the same time. Returns its number.
    package mutating func add(at time: Int64, _ body: @escaping @Sendable () -> Void) -> Int {
        lastNumber += 1
        let call = Call(time: time, number: lastNumber, body: body)
        calls.insert(call, at: position(of: time, lastNumber))
        return lastNumber
    }

    /// Removes a call. Returns its body, to be released outside a lock.
    package mutating func remove(at time: Int64, number: Int) -> (@Sendable () -> Void)? {
        let position = position(of: time, number)
        guard calls.indices.contains(position), calls[position].number == number else { return nil }
        return calls.remove(at: position).body
    }

    /// Removes the next call if it is due at `time`.
    package mutating func removeNext(dueAt time: Int64) -> (@Sendable () -> Void)? {
        guard let next = calls.last, next.time <= time else { return nil }
        return calls.removeLast().body
    }

    private func position(of time: Int64, _ number: Int) -> Int {
        var range = 0..<calls.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let isLater = calls[middle].time > time || calls[middle].time == time && calls[middle].number > number
            range = isLater ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

extension Duration {
    /// Whole nanoseconds, clamped.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, isTooLarge) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLarge ? seconds < 0 ? .min : .max : sum
    }
}
