import WebImageCore

/// A clock whose time passes when the test says so.
public final class ManualClock: Clock {
    /// A time of a ``ManualClock``.
    public struct Instant: InstantProtocol {
        let offset: Duration

        /// The time `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// How much later `other` is.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether `first` is earlier.
        public static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [(deadline: Instant, continuation: CheckedContinuation<Void, Never>)] = []
        var observers: [(count: Int, countdown: Countdown)] = []
    }

    private let state = LockBox(State())

    /// Makes a clock that stands still.
    public init() {}

    /// The time now.
    public var now: Instant { state.withLock { $0.now } }
    /// The clock has no steps.
    public var minimumResolution: Duration { .zero }

    /// Sleeps until the test has let that much time pass; does not mind cancellation.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard deadline > state.now else { return true }
                state.sleepers.append((deadline, continuation))
                for observer in state.observers where observer.count <= state.sleepers.count {
                    observer.countdown.signal()
                }
                state.observers.removeAll { $0.count <= state.sleepers.count }
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// How many sleep on it.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until `count` sleep on it.
    public func waitForSleepers(_ count: Int = 1) async throws {
        let countdown = Countdown()
        state.withLock { state in
            if state.sleepers.count >= count {
                countdown.signal()
            } else {
                state.observers.append((count, countdown))
            }
        }
        try await countdown.wait()
    }

    /// Lets time pass, and wakes those whose time has come.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            defer { state.sleepers.removeAll { $0.deadline <= state.now } }
            return state.sleepers.filter { $0.deadline <= state.now }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }
}
