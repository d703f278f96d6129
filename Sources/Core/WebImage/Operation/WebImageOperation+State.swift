extension WebImageOperation {
    /// The state of a load.
    ///
    /// ```swift
    /// let operation = manager.load(WebImageRequest(url))
    /// switch operation.state {
    /// case .loading(let received, let expected?): print("\(received) of \(expected) bytes")
    /// case .decoding: print("almost there")
    /// case let other: print(other)
    /// }
    /// ```
    public enum State: Sendable, Hashable {
        /// Not started, because the manager is suspended.
        case waiting
        /// Looks into the caches, waits for a connection, or loads: with the number of bytes that have arrived, and the length of the
        /// file, if it is known. Bytes from the disk do not count.
        case loading(received: Int64, expected: Int64?)
        /// All bytes are there. They wait for a thread, or are decoded and processed.
        case decoding
        /// Ended with an image or an error. The completion has been called, or is being called.
        case finished
        /// Cancelled. The completion has been called with ``WebImageError/cancelled``, or will be.
        case cancelled
    }
}

/// How far a load is, and the readers of its states.
struct LoadPhase {
    private var loaded = LoadProgress(received: 0, expected: nil)
    var isDecoding = false
    /// Most operations have none.
    var readers: [AsyncStream<WebImageOperation.State>.Continuation] = []

    var state: WebImageOperation.State {
        isDecoding ? .decoding : .loading(received: loaded.received, expected: loaded.expected)
    }

    /// Notes progress; returns whether it is new. Progress for a late subscriber may arrive after newer progress from another thread.
    mutating func advance(to progress: LoadProgress) -> Bool {
        guard progress != loaded, progress.attempt >= loaded.attempt,
            progress.attempt > loaded.attempt || progress.received >= loaded.received
        else { return false }
        (loaded, isDecoding) = (progress, false)
        return true
    }

    /// Tells the readers. Called under the operation's lock, so that changes arrive in order: a stream's reader never runs inside of this.
    mutating func tell(_ state: WebImageOperation.State) {
        guard !readers.isEmpty else { return }
        for reader in readers { reader.yield(state) }
        guard state == .finished || state == .cancelled else { return }
        for reader in readers { reader.finish() }
        readers = []
    }
}
