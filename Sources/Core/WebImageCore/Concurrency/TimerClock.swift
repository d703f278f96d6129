internal import Dispatch
internal import Glibc

/// A source of time that calls back at a given time.
///
/// The system's monotonic clock is the default everywhere. A view may use its frame clock instead, and tests and
/// programs that render frames use a clock that they advance. A clock may be used while the caller holds a lock, so it
/// must never call back inside a call.
package protocol TimerClock: Sendable {
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
package struct ScheduledCall: Sendable {
    private let onCancel: @Sendable () -> Void

    /// - Parameter onCancel: removes the call from the clock; may be called late, and more than once.
    package init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Cancels the call, unless it has begun on another thread.
    package func cancel() { onCancel() }
}

/// The system's monotonic clock, which stands still while the machine sleeps.
///
/// Calls run on its serial queue, within a fraction of a millisecond on an idle machine. It has a timer only while
/// calls are pending.
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

/// A clock that moves only when advanced, for tests and for programs that render frames at their own pace.
package final class ManualTimerClock: TimerClock {
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
    package init() {}

    /// The time by which the clock was advanced.
    package var now: Duration { .nanoseconds(state.withLock { $0.now }) }

    /// The calls that have not come yet, for tests.
    package var pendingCallCount: Int { state.withLock { $0.schedule.count } }

    /// When the next call comes, for tests.
    package var nextCallTime: Duration? { state.withLock { $0.schedule.nextTime }.map { .nanoseconds($0) } }

    /// Schedules `body`. ``advance(by:)`` calls it, on its caller's thread.
    package func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
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
    package func advance(by duration: Duration = .zero) {
        let target = state.withLock { $0.time(after: duration) }
        while let body = state.withLock({ state -> (@Sendable () -> Void)? in
            if let next = state.schedule.nextTime, next <= target { state.now = max(state.now, next) }
            return state.schedule.removeNext(dueAt: target)
        }) { body() }
        state.withLock { $0.now = target }
    }

    /// Advances the time in one step, as if the process had been suspended: calls are late, all at the new time. For tests.
    package func jump(by duration: Duration) {
        state.withLock { $0.now = $0.time(after: duration) }
        advance()
    }
}

/// A moment, as the time since the machine was booted, including sleep.
///
/// It is what `ContinuousClock.Instant` is, with a layout that the compiler knows. Types that store one of those are copied
/// and destroyed by calls of the runtime.
package struct BootTime: Sendable, Comparable {
    package let nanoseconds: Int64

    /// - Parameter nanoseconds: since the machine was booted.
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The current time. Reading it takes no system call.
    package static var now: BootTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    package static func < (first: BootTime, second: BootTime) -> Bool { first.nanoseconds < second.nanoseconds }

    package static func - (later: BootTime, earlier: BootTime) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }

    /// Clamped to the last moment, 292 years after the boot.
    package static func + (time: BootTime, duration: Duration) -> BootTime {
        let (sum, isTooLarge) = time.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return BootTime(nanoseconds: isTooLarge ? (duration < .zero ? 0 : .max) : sum)
    }
}

extension Duration {
    /// The duration in seconds, as exactly as a `Double` can represent it.
    package var inExactSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// The text for messages, such as "30 s" or "0.3 s".
    package var inWords: String {
        let seconds = inExactSeconds
        return Int64(exactly: seconds).map { "\($0) s" } ?? "\(seconds) s"
    }
}
