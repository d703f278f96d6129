import WebImageCore

/// Lets tests wait, without sleeping, until something has happened a number of times.
public final class Countdown: Sendable {
    private struct State {
        var remaining: Int
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state: LockBox<State>

    /// Opens after `count` signals.
    public init(_ count: Int = 1) { state = LockBox(State(remaining: count)) }

    /// How many signals are missing; below zero when there were more than expected.
    public var remaining: Int { state.withLock { $0.remaining } }

    /// Counts down by one, from any thread.
    public func signal() {
        let waiters = state.withLock { state in
            state.remaining -= 1
            guard state.remaining <= 0 else { return [CheckedContinuation<Void, any Error>]() }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        waiters.forEach { $0.resume() }
    }

    /// Waits for the last signal; throws ``TimeLimitReached`` when it takes longer than the safety net allows.
    public func wait(atMost limit: Duration = .seconds(30)) async throws {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let net = Task {
            try await Task.sleep(for: limit)
            let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.resume(throwing: TimeLimitReached(missing: remaining, limit: limit))
        }
        defer { net.cancel() }
        try await withCheckedThrowingContinuation { continuation in
            let isOpen = state.withLock { state in
                guard state.remaining > 0 else { return true }
                state.waiters[number] = continuation
                return false
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// Something a test waits for did not happen.
public struct TimeLimitReached: Error, CustomStringConvertible {
    /// How many signals were missing.
    public let missing: Int
    /// How long the test waited.
    public let limit: Duration

    /// The missing signals.
    public var description: String { "\(missing) signals missing after \(limit)" }
}
