internal import WebImageCore

/// How many transfers are in progress, for an indicator that shows whether any is.
///
/// ```swift
/// for await isActive in NetworkActivity.shared.changes() { print(isActive) }
/// ```
///
/// Downloaders count their transfers; for transfers by other means, call ``change(by:)``.
public final class NetworkActivity: Sendable {
    /// The one that downloaders report to.
    public static let shared = NetworkActivity()

    /// How long the count must stay the same before a change is reported: 1/30 s, as in YYWebImage's indicator. A
    /// transfer or a pause that is shorter does not make an indicator flicker.
    static let settlingTime: Duration = .seconds(1) / 30
    /// A change is reported after this time even if the count never stays the same, as in a busy program; 1 s.
    private static let longestSettlingTime: Duration = .seconds(1)

    private struct State {
        var count = 0
        /// The last reported value.
        var isActive = false
        /// When the count began to change, and when it last changed; `nil` while no change waits to be reported.
        var settling: (start: Duration, lastChange: Duration)?
        var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
        var nextListener = 0
    }

    private let clock: any Clock<Duration>
    /// The time since this object was made.
    private let now: @Sendable () -> Duration
    private let state = Lock(State())

    /// Creates a separate counter.
    ///
    /// - Parameter clock: measures the time for which a change must last; the system's by default.
    public init(clock: any Clock<Duration> = ContinuousClock()) {
        self.clock = clock
        now = Self.stopwatch(clock)
    }

    static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// How many transfers are in progress.
    public var count: Int { state.withLock { $0.count } }

    /// Whether any transfer is in progress: first the current value, then each change once the count has stayed the
    /// same for 1/30 s, or after a second in a program where it never does. A reader that falls behind gets only the
    /// latest.
    public func changes() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = continuation
            continuation.yield(state.isActive)
            return state.nextListener
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// Whether a change waits to be reported or forgotten, for tests.
    var isSettling: Bool { state.withLock { $0.settling != nil } }

    /// Notes that so many transfers have begun, or ended for a negative number. The count never goes below 0.
    public func change(by difference: Int) {
        guard difference != 0 else { return }
        let now = now()
        let begins = state.withLock { state in
            let count = max(0, state.count + difference)
            guard count != state.count else { return false }
            state.count = count
            // No handler would be called.
            guard !state.listeners.isEmpty || state.settling != nil else {
                state.isActive = count > 0
                return false
            }
            if let settling = state.settling {
                state.settling = (settling.start, max(now, settling.lastChange))
                return false
            }
            guard (count > 0) != state.isActive else { return false }
            state.settling = (now, now)
            return true
        }
        guard begins else { return }
        Task { [clock] in
            var wait = Self.settlingTime
            while wait > .zero {
                try? await clock.sleep(for: wait)
                wait = settle()
            }
        }
    }

    /// Reports the change, if there still is one; how long to wait for that, zero once it is done.
    private func settle() -> Duration {
        return state.withLock { state in
            // In the lock: a change must not be later than this.
            let now = now()
            guard let settling = state.settling else { return .zero }
            let end = min(settling.lastChange + Self.settlingTime, settling.start + Self.longestSettlingTime)
            guard end <= now else { return end - now }
            state.settling = nil
            guard (state.count > 0) != state.isActive else { return .zero }
            state.isActive.toggle()
            // In the lock, so that two changes arrive in their order; a stream's reader never runs inside of this.
            for listener in state.listeners.values { listener.yield(state.isActive) }
            return .zero
        }
    }
}
