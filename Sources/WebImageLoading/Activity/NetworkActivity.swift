internal import WebImageCore

/// How many transfers are under way, for an indicator that shows whether any is.
///
/// ```swift
/// for await isActive in NetworkActivity.shared.changes() { spinner.isSpinning = isActive }
/// ```
///
/// Downloaders count themselves; who transfers by other means calls ``increment()`` and ``decrement()``.
public final class NetworkActivity: Sendable {
    /// The one that downloaders report to.
    public static let shared = NetworkActivity()

    /// How long a change waits for its opposite before it is reported: 1/30 s, as YYWebImage's indicator has it. A
    /// transfer or a pause that is shorter does not make an indicator flicker.
    public static let settlingTime: Duration = .seconds(1) / 30

    private struct State {
        var count = 0
        /// What has been reported.
        var isActive = false
        var isSettling = false
        var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
        var nextListener = 0
    }

    private let clock: any Clock<Duration>
    private let state = Lock(State())

    /// Makes a counter of its own.
    ///
    /// - Parameter clock: measures ``settlingTime``.
    public init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

    /// How many transfers are under way.
    public var count: Int { state.withLock { $0.count } }

    /// Notes that a transfer has begun.
    public func increment() { change(by: 1) }

    /// Notes that a transfer has ended. The count never goes below 0.
    public func decrement() { change(by: -1) }

    /// Whether any transfer is under way: at first as it is now, then each change once it has lasted for
    /// ``settlingTime``. A reader that falls behind gets the latest only.
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

    /// Whether a change waits to be reported or forgotten.
    package var isSettling: Bool { state.withLock { $0.isSettling } }

    /// Notes that so many transfers have begun, or ended. Calls nothing before it returns.
    package func change(by difference: Int) {
        guard difference != 0 else { return }
        let begins = state.withLock { state in
            state.count = max(0, state.count + difference)
            guard !state.isSettling, (state.count > 0) != state.isActive else { return false }
            state.isSettling = true
            return true
        }
        guard begins else { return }
        // The time is not started anew by further changes, or a busy program would never report any.
        Task { [clock] in
            try? await clock.sleep(for: Self.settlingTime)
            settle()
        }
    }

    private func settle() {
        state.withLock { state in
            state.isSettling = false
            guard (state.count > 0) != state.isActive else { return }
            state.isActive.toggle()
            // In the lock, so that two changes arrive in their order; a stream's reader never runs inside of this.
            for listener in state.listeners.values { listener.yield(state.isActive) }
        }
    }
}
