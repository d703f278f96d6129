internal import WebImageCore

/// Runs work one piece at a time, in order, on a queue of several threads; it occupies no thread while it has no work.
final class SerialQueue: Sendable {
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
        // Above the usual priority: writing frees memory.
        queue.submit(priority: .high) {
            var bodies = self.state.withLock { state in
                let waiting = state.waiting
                state.waiting = []
                state.isRunning = !waiting.isEmpty
                return waiting
            }
            guard !bodies.isEmpty else { return }
            // Each body is released after it has run, so that the objects it retains, such as an open index, are
            // released, too.
            var rest = Array(bodies.reversed())
            bodies = []
            while let body = rest.popLast() { body() }
            self.run()
        }
    }
}
