import WebImageCore

/// A clock that moves only when a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let sleep = Task { try await clock.sleep(for: .seconds(60)) }
/// try await clock.waitForSleepers()
/// clock.advance(by: .seconds(60))
/// try await sleep.value
/// ```
///
/// All functions may be called from any thread, but ``advance(by:)`` only from one at a time.
public final class ManualClock: Clock {
    /// A time of a ``ManualClock``.
    public struct Instant: InstantProtocol {
        let offset: Duration

        /// Returns the time `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns how much later `other` is.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether `first` is earlier than `second`.
        public static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
    }

    /// The clock for what the library schedules.
    let timer = ManualTimer()

    /// Creates a clock that stands still.
    public init() {}

    /// The current time.
    public var now: Instant { Instant(offset: timer.now) }
    /// Zero: the clock has no steps.
    public var minimumResolution: Duration { .zero }

    /// How many tasks, delayed responses and retries wait for the clock.
    public var sleeperCount: Int { timer.pendingCallCount }

    /// Sleeps until the clock has reached `deadline`.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        guard deadline.offset > timer.now else { return }
        let waiter = Waiter<Bool>()
        let call = timer.schedule(at: deadline.offset) { waiter.resume(true) }
        if deadline.offset <= timer.now {
            // It was advanced meanwhile.
            call.cancel()
            return
        }
        let isOver = await withTaskCancellationHandler {
            await waiter.value
        } onCancel: {
            call.cancel()
            waiter.resume(false)
        }
        if !isOver { throw CancellationError() }
    }

    /// Waits until at least `count` sleep on the clock; 1 by default. Call it before ``advance(by:)`` where what sleeps starts in another
    /// task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, as by a test's time limit.
    public func waitForSleepers(_ count: Int = 1) async throws {
        try await timer.observers.wait(for: count) { timer.pendingCallCount }
    }

    /// Advances the clock in one step: what waits for a time until then continues, in the order of these times.
    public func advance(by duration: Duration) { timer.advance(by: duration) }
}

/// The pending calls of a ``ManualClock``, which a test can wait for.
final class ManualTimer: TimerClock {
    private struct State {
        var now = Duration.zero
        var calls: [(time: Duration, number: Int, body: @Sendable () -> Void)] = []
        var lastNumber = 0

        /// Removes the first call that is due.
        mutating func takeNext() -> (@Sendable () -> Void)? {
            let next = calls.indices.filter { calls[$0].time <= now }.min {
                (calls[$0].time, calls[$0].number) < (calls[$1].time, calls[$1].number)
            }
            return next.map { calls.remove(at: $0).body }
        }
    }

    private let state = Lock(State())
    let observers = CountObservers()

    var now: Duration { state.withLock { $0.now } }
    var pendingCallCount: Int { state.withLock { $0.calls.count } }

    func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let (number, count) = state.withLock { state in
            state.lastNumber += 1
            state.calls.append((time, state.lastNumber, body))
            return (state.lastNumber, state.calls.count)
        }
        observers.tell(count)
        return ScheduledCall { [weak self] in
            // Released outside the lock.
            let calls = self?.state.withLock { state in
                let index = state.calls.firstIndex { $0.number == number }
                return index.map { state.calls.remove(at: $0) }
            }
            withExtendedLifetime(calls) {}
        }
    }

    /// In one step, so that a task that continues reads the new time.
    func advance(by duration: Duration) {
        state.withLock { $0.now += max(.zero, duration) }
        while let body = state.withLock({ $0.takeNext() }) { body() }
    }
}
