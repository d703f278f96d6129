internal import Glibc
internal import WebImageCore

/// Runs work one piece at a time, in order, on a queue of several threads; it occupies no thread while it has no work.
final class SerialQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isRunning = false
        /// The thread in a caller's completion.
        var completingThread: pthread_t?
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

    /// Calls completions of callers, from a piece of work that has nothing more to do to their data.
    func complete(_ body: () -> Void) {
        state.withLock { $0.completingThread = pthread_self() }
        body()
        state.withLock { $0.completingThread = nil }
    }

    /// Whether a thread is in a completion. If it does not return, another thread may work in place of this queue.
    func isCompleting(on thread: pthread_t) -> Bool { state.withLock { $0.completingThread == thread } }

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
