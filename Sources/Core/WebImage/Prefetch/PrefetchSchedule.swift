import WebImageCore

extension ImagePrefetcher {
    /// Starts the loads of all batches in order, a few at a time.
    final class Schedule: Sendable {
        private struct State {
            var batches: [PrefetchBatch] = []
            var runningCount = 0
            var isPaused = false
            var isStarting = false
            /// Whether something has changed while loads were being started.
            var mustLookAgain = false
            /// Whether it is called when low-data mode has ended.
            var awaitsData = false
        }

        private let manager: WebImageManager
        private let maximumConcurrentCount: Int
        private let state = Lock(State())

        init(_ manager: WebImageManager, maximumConcurrentCount: Int) {
            self.manager = manager
            self.maximumConcurrentCount = max(1, maximumConcurrentCount)
        }

        // Nothing else could resume what waits for the end of low-data mode.
        deinit { cancelAll() }

        var isPaused: Bool {
            get { state.withLock { $0.isPaused } }
            set {
                state.withLock { $0.isPaused = newValue }
                if !newValue { startNext() }
            }
        }

        func add(_ batch: PrefetchBatch) {
            guard batch.hasWaiting else { return batch.report() }
            state.withLock { state in
                // While paused, nothing else removes cancelled batches.
                state.batches.removeAll { $0.progress.isFinished }
                state.batches.append(batch)
            }
            startNext()
        }

        func cancelAll() {
            for batch in batches { batch.cancel() }
        }

        func cancel(where isCancelled: (PrefetchBatch.Job) -> Bool) {
            for batch in batches { batch.cancel(where: isCancelled) }
        }

        private var batches: [PrefetchBatch] { state.withLock { $0.batches } }

        /// Starts as many loads as may run.
        ///
        /// Only one thread does this at a time. A load that memory answers ends while it is being started, and calls
        /// this again.
        func startNext() {
            let isFirst = state.withLock { state in
                defer { (state.isStarting, state.mustLookAgain) = (true, true) }
                return !state.isStarting
            }
            guard isFirst else { return }
            while lookAgain() {
                // The limit is read for each load. The manager's idle handler calls this method when it rises.
                while let (batch, load) = next(limit: limit) { start(load, of: batch) }
            }
        }

        private var limit: Int {
            if waitsForData() { return 0 }
            return manager.running.hasWanted ? 1 : maximumConcurrentCount
        }

        /// Whether low-data mode holds everything up. Continues when it has ended.
        private func waitsForData() -> Bool {
            guard manager.lowDataMode.isEnabled else { return false }
            let isFirst = state.withLock { state in
                defer { state.awaitsData = true }
                return !state.awaitsData
            }
            guard isFirst else { return true }
            let waits = manager.lowDataMode.whenEnded { [weak self] in
                self?.state.withLock { $0.awaitsData = false }
                self?.startNext()
            }
            if !waits { state.withLock { $0.awaitsData = false } }
            return waits
        }

        private func lookAgain() -> Bool {
            state.withLock { state in
                state.isStarting = state.mustLookAgain
                state.mustLookAgain = false
                return state.isStarting
            }
        }

        private func next(limit: Int) -> (PrefetchBatch, (number: Int, request: WebImageRequest))? {
            state.withLock { state in
                // A batch without waiting requests stays until its loads have ended, so that they can be cancelled.
                state.batches.removeAll { $0.progress.isFinished }
                guard !state.isPaused, state.runningCount < limit else { return nil }
                for batch in state.batches {
                    guard let load = batch.next() else { continue }
                    state.runningCount += 1
                    return (batch, load)
                }
                return nil
            }
        }

        private func start(_ load: (number: Int, request: WebImageRequest), of batch: PrefetchBatch) {
            let completion: WebImageOperation.CompletionHandler = { [self] result in
                batch.end(load.number, result)
                state.withLock { $0.runningCount -= 1 }
                startNext()
            }
            let callbacks = WebImageOperation.Callbacks(DirectCallbackQueue(), completion: completion)
            // Now, because a token that ``WebImageManager/Configuration/optionsProcessor`` adds may have expired since the request was added.
            let operation = manager.start(manager.prepared(load.request), callbacks, isPrefetch: true)
            batch.attach(operation, load.number)
        }
    }
}
