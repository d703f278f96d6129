/// What an ``AnimationPlayer`` takes the time from, and who calls it when a frame is due.
///
/// ``MonotonicTimerClock`` is the system's. A view makes one of its frame clock, so that frames change when the screen
/// does; a test, or a program that renders a film, moves a ``ManualTimerClock`` by hand. Players ask it under their locks: it
/// answers at once, and calls nobody back inside a call.
public protocol TimerClock: Sendable {
    /// The time since some moment; it never goes back. May be asked on any thread.
    var now: Duration { get }

    /// Calls `body` once: at `time`, or as soon after it as the clock can; a time that has passed means soon.
    ///
    /// May be called on any thread, also by a body. Bodies run on a thread of the clock's choice, one after the other, the
    /// earliest first and those of one time in the order in which they came; never inside this call, and never while the
    /// clock holds a lock.
    func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall
}

/// A call that a clock is to make.
public struct ScheduledCall: Sendable {
    private let onCancel: @Sendable () -> Void

    /// - Parameter onCancel: makes the clock forget the call; may be called late, and more than once.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }

    /// Tells the clock to forget it. A call that is being made on another thread may still finish.
    public func cancel() { onCancel() }
}

extension Duration {
    /// Whole nanoseconds; what does not fit is the largest or the smallest number.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, isTooLarge) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLarge ? seconds < 0 ? .min : .max : sum
    }
}
