import WebImageCore
import WebImageLoading

/// One attempt at a loader, as indicators of network activity count it: once, however many requests share it.
final class LoaderActivity: Sendable {
    private struct State {
        var counters: [NetworkActivity] = []
        var hasEnded = false
    }

    private let state = Lock(State())

    /// Counts it, unless it is counted there already or has ended.
    func count(in counter: NetworkActivity) {
        state.withLock { state in
            guard !state.hasEnded, !state.counters.contains(where: { $0 === counter }) else { return }
            state.counters.append(counter)
            // Under the lock, so that the end comes later. It calls nothing.
            counter.increment()
        }
    }

    func end() {
        let counters = state.withLock { state in
            state.hasEnded = true
            defer { state.counters = [] }
            return state.counters
        }
        for counter in counters { counter.decrement() }
    }
}
