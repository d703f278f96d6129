import WebImageCore

extension WebImageManager {
    /// Returns the events of a load: progress, previews and the result.
    ///
    /// ```swift
    /// for await event in manager.events(for: WebImageRequest(url)) {
    ///     switch event {
    ///     case .progress(let received, let expected): print(received, expected ?? 0)
    ///     case .preview(let image): show(image)
    ///     case .finished(let result): print(result)
    ///     }
    /// }
    /// ```
    ///
    /// The load starts with the iteration. It is cancelled if the iteration ends early, by `break` or by cancelling the
    /// task. After the task is cancelled, the iteration still delivers ``LoadEvent/finished(_:)`` with
    /// ``WebImageError/cancelled``.
    ///
    /// Each iteration is a separate load.
    public func events(for request: WebImageRequest) -> some AsyncSequence<LoadEvent, Never> & Sendable {
        LoadEvents(manager: self, request: request)
    }
}

private struct LoadEvents: AsyncSequence, Sendable {
    let manager: WebImageManager
    let request: WebImageRequest

    /// Starts the load.
    func makeAsyncIterator() -> Iterator {
        let inbox = EventInbox()
        let callbacks = WebImageOperation.Callbacks(
            DirectCallbackQueue(), progress: { inbox.put(LoadProgress(received: $0, expected: $1)) },
            preview: { inbox.put($0) }, completion: { inbox.end($0) })
        let operation = manager.start(manager.prepared(request), callbacks)
        return Iterator(session: LoadSession(operation: operation, inbox: inbox))
    }

    struct Iterator: AsyncIteratorProtocol {
        let session: LoadSession

        mutating func next() async -> LoadEvent? { await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async -> LoadEvent? {
            let session = session
            return await withTaskCancellationHandler(
                operation: { await session.inbox.next() }, onCancel: { session.operation.cancel() }, isolation: actor)
        }
    }
}

/// Cancels a load when its reader is deallocated. This has no effect on a load that has ended.
final class LoadSession: Sendable {
    let operation: WebImageOperation
    let inbox: EventInbox

    init(operation: WebImageOperation, inbox: EventInbox) {
        self.operation = operation
        self.inbox = inbox
    }

    deinit { operation.cancel() }
}

/// The unread events of one reader: at most two of progress, one preview, and the result.
final class EventInbox: Sendable {
    private let state = Lock(State())

    private struct State {
        var progress = ProgressMailbox()
        var preview: Image?
        var result: Result<WebImageResponse, WebImageError>?
        var isEnded = false
        /// Resumed once, by the call that takes it. A checked one has no fixed layout; see `BootTime`.
        var reader: UnsafeContinuation<Void, Never>?
        /// The event that the reader takes when it is resumed, under the lock, like the value of a `Waiter`.
        var next: LoadEvent??

        /// Returns the reader's next event; `nil` if the reader must wait.
        mutating func take() -> LoadEvent?? {
            if let progress = progress.take() {
                return .progress(received: progress.received, expected: progress.expected)
            }
            if let preview {
                self.preview = nil
                return .preview(preview)
            }
            if let result {
                self.result = nil
                isEnded = true
                return .finished(result)
            }
            return isEnded ? .some(nil) : nil
        }
    }

    /// Progress of a joined load may arrive after the result, because another thread reports it. It is then dropped.
    func put(_ progress: LoadProgress) {
        change { state in
            guard state.result == nil, !state.isEnded else { return }
            _ = state.progress.put(progress)
        }
    }

    /// A preview may arrive after the result, like progress. It is then dropped.
    func put(_ preview: Image) {
        change { state in
            guard state.result == nil, !state.isEnded else { return }
            state.preview = preview
        }
    }

    func end(_ result: Result<WebImageResponse, WebImageError>) { change { $0.result = result } }

    func next() async -> LoadEvent? {
        await withUnsafeContinuation { continuation in
            let isThere = state.withLock { state in
                state.next = state.take()
                if state.next == nil { state.reader = continuation }
                return state.next != nil
            }
            if isThere { continuation.resume() }
        }
        return state.withLock { $0.next.take() } ?? nil
    }

    /// Changes the state, then resumes the reader if there is an event for it, outside the lock.
    private func change(_ body: (inout State) -> Void) {
        let reader = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            body(&state)
            guard state.reader != nil, let event = state.take() else { return nil }
            state.next = event
            return state.reader.take()
        }
        reader?.resume()
    }
}
