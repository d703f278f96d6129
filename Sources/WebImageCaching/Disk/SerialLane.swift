internal import WebImageCore

/// Runs work one piece at a time, in order, on a queue of several threads, and holds none of them while it has none.
final class SerialLane: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let queue: WorkQueue
    private let state = Lock(State())

    init(queue: WorkQueue) { self.queue = queue }

    func submit(_ body: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.waiting.append(body)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { run() }
    }

    private func run() {
        // Above the reads' usual priority: what is written frees memory, and one thread is all it ever takes.
        queue.submit(priority: .high) {
            var bodies = self.state.withLock { state in
                let waiting = state.waiting
                state.waiting = []
                state.isRunning = !waiting.isEmpty
                return waiting
            }
            guard !bodies.isEmpty else { return }
            // Each goes once it has run: what it holds, such as an open index, must not wait for those behind it.
            var rest = Array(bodies.reversed())
            bodies = []
            while let body = rest.popLast() { body() }
            self.run()
        }
    }
}
