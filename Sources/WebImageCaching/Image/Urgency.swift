internal import WebImageCore

/// How urgent work is that several wait for: as the most urgent of them. What it waits for itself follows every change.
final class Urgency: Sendable {
    private struct State {
        var priority: LoadPriority
        /// Moves what the work waits for now: a turn, a thread.
        var step: (@Sendable (LoadPriority) -> Void)?
    }

    private let state: Lock<State>

    init(_ priority: LoadPriority) { state = Lock(State(priority: priority)) }

    var priority: LoadPriority { state.withLock { $0.priority } }

    /// Somebody joins. It is not taken back when he leaves.
    func raise(to priority: LoadPriority) {
        state.withLock { state in
            guard priority > state.priority else { return }
            state.priority = priority
            // Inside the lock, so that the last value stays; it reaches queues of the library, and nobody's code.
            state.step?(priority)
        }
    }

    /// The work goes on to its next step.
    func apply(to step: @escaping @Sendable (LoadPriority) -> Void) {
        state.withLock { state in
            state.step = step
            step(state.priority)
        }
    }
}
