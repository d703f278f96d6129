internal import WebImageCore

/// The requests of a service, and the work that they have begun, so that its end can wait for both.
final class WorkInProgress: Sendable {
    private struct State {
        var count = 0
        var isStopping = false, hasStopped = false
        var waiters: [Waiter<Void>] = []
    }

    private let state = Lock(State())

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Begins a request; throws if the service is stopping.
    func beginRequest() throws(Refusal) { try begin { $0.isStopping } }

    /// Begins what a request does not wait for once its client has left; throws if the service has stopped.
    func beginWork() throws(Refusal) { try begin { $0.hasStopped } }

    private func begin(unless isRefused: (State) -> Bool) throws(Refusal) {
        let hasBegun = state.withLock { state in
            guard !isRefused(state) else { return false }
            state.count += 1
            return true
        }
        if !hasBegun { throw .stopping }
    }

    /// Ends what has begun.
    func end() {
        let waiters = state.withLock { state in
            state.count -= 1
            return Self.stopped(&state)
        }
        for waiter in waiters { waiter.resume(()) }
    }

    /// Refuses requests from now on, and waits until those in progress and their work have ended, for at most `time`.
    func stop(within time: Duration) async {
        let (clock, waiter) = (SystemTimerClock.shared, Waiter<Void>())
        let waiters = state.withLock { state in
            state.isStopping = true
            state.waiters.append(waiter)
            return Self.stopped(&state)
        }
        for waiter in waiters { waiter.resume(()) }
        let timer = clock.schedule(at: clock.now + time) { waiter.resume(()) }
        await waiter.value
        timer.cancel()
    }

    /// Returns what waits for the end, once it has come.
    private static func stopped(_ state: inout State) -> [Waiter<Void>] {
        guard state.isStopping, state.count == 0 else { return [] }
        state.hasStopped = true
        defer { state.waiters = [] }
        return state.waiters
    }
}
