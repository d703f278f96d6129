import WebImageCore

extension ImagePrefetcher {
    /// Starts the loads of all batches in their order, a few at a time.
    final class Schedule: Sendable {
        private struct State {
            var batches: [PrefetchBatch] = []
            var runningCount = 0
            var isPaused = false
            var isStarting = false
            /// Whether something has changed while loads were being started.
            var mustLookAgain = false
        }

        private let manager: WebImageManager
        private let configuration: Configuration
        private let state = Lock(State())

        init(_ manager: WebImageManager, _ configuration: Configuration) {
            self.manager = manager
            self.configuration = configuration
        }

        var isPaused: Bool {
            get { state.withLock { $0.isPaused } }
            set {
                state.withLock { $0.isPaused = newValue }
                if !newValue { startNext() }
            }
        }

        func add(_ batch: PrefetchBatch) {
            guard batch.hasWaiting else { return batch.tell() }
            state.withLock { state in
                // While it is paused, nothing else takes out those that were cancelled.
                state.batches.removeAll { $0.progress.isFinished }
                state.batches.append(batch)
            }
            startNext()
        }

        func cancelAll() {
            let batches = state.withLock { $0.batches }
            for batch in batches { batch.cancel() }
        }

        /// Starts as many as may run.
        ///
        /// One thread at a time: a load that memory answers ends, and calls this, while it is being started.
        func startNext() {
            let isFirst = state.withLock { state in
                defer { (state.isStarting, state.mustLookAgain) = (true, true) }
                return !state.isStarting
            }
            guard isFirst else { return }
            while lookAgain() {
                // Asked anew each time: the manager calls when nobody waits any more.
                while let (batch, request) = next(limit: limit) { start(request, of: batch) }
            }
        }

        private var limit: Int { manager.running.hasWanted ? 1 : max(1, configuration.maximumConcurrentCount) }

        private func lookAgain() -> Bool {
            state.withLock { state in
                state.isStarting = state.mustLookAgain
                state.mustLookAgain = false
                return state.isStarting
            }
        }

        private func next(limit: Int) -> (PrefetchBatch, WebImageRequest)? {
            state.withLock { state in
                // A batch without waiting requests stays as long as it has loads to be cancelled.
                state.batches.removeAll { $0.progress.isFinished }
                guard !state.isPaused, state.runningCount < limit else { return nil }
                for batch in state.batches {
                    guard let request = batch.next() else { continue }
                    state.runningCount += 1
                    return (batch, request)
                }
                return nil
            }
        }

        private func start(_ request: WebImageRequest, of batch: PrefetchBatch) {
            let number = batch.begin()
            let callbacks = WebImageOperation.Callbacks(DirectCallbackQueue()) { [self] result in
                batch.end(number, result)
                state.withLock { $0.runningCount -= 1 }
                startNext()
            }
            let operation = manager.start(
                manager.prepared(request), callbacks, isPrefetch: true)
            batch.attach(operation, number)
        }
    }
}
