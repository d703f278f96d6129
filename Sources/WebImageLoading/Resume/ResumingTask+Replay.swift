internal import FoundationEssentials
internal import WebImageCore

/// Delivers stored bytes, on a thread of the store.
extension ResumingTask {
    /// Returns `true` to the caller that has to start a thread: stored bytes wait, and no thread delivers them. Called
    /// under the lock.
    func claimReplay(_ state: inout State) -> Bool {
        guard state.phase == .replaying, !state.isReplaying, !state.isPaused || state.failure != nil else {
            return false
        }
        state.isReplaying = true
        return true
    }

    func submitReplay() {
        let priority = state.withLock { $0.priority }
        PartialBodyStore.queue.submit(priority: priority) { [self] in replay() }
    }

    private enum Piece {
        case stored(ResumableBody.Found, PartialFile.Record, byteCount: Int)
        case event(LoaderEvent)
        /// The loader's events are delivered directly from now on.
        case none
        /// The thread is released until the task is resumed.
        case later
    }

    private func replay() {
        while true {
            switch nextPiece() {
            case .stored(let found, let record, let byteCount):
                if let bytes = found.file.bytes(of: record, atMost: byteCount) {
                    deliver(.bytes(bytes))
                } else {
                    giveUpStoredBytes()
                }
            case .event(let event): deliver(event)
            case .none: return adjustValve()
            case .later: return
            }
        }
    }

    private func nextPiece() -> Piece {
        state.withLock { state in
            guard state.phase == .replaying else { return .later }
            if state.isPaused, state.failure == nil {
                state.isReplaying = false
                return .later
            }
            if state.failure == nil, let found = state.found, state.byteCount < found.byteCount,
                state.nextRecord < found.contents.records.count
            {
                let record = found.contents.records[state.nextRecord]
                state.nextRecord += 1
                let byteCount = min(Int64(record.byteCount), found.byteCount - state.byteCount)
                return .stored(found, record, byteCount: Int(byteCount))
            }
            guard state.waiting.isEmpty else { return .event(state.waiting.removeFirst()) }
            state.phase = .loading
            state.isReplaying = false
            return .none
        }
    }

    /// The bytes on disk have changed since they were verified.
    private func giveUpStoredBytes() {
        let (body, valve) = state.withLock { state in
            state.failure = .invalidResponse(
                reason: .truncated(expected: state.totalByteCount, received: state.byteCount), url: failureURL)
            return (state.body, state.valve)
        }
        body?.end(.complete)
        valve.cancel()
    }
}
