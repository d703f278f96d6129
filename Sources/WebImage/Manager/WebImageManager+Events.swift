import WebImageCore

extension WebImageManager {
    /// What happens on the way to a picture, as it happens.
    ///
    /// ```swift
    /// for await event in manager.events(for: request) {
    ///     switch event {
    ///     case .progress(let received, let expected): print(received, expected ?? 0)
    ///     case .preview(let image): show(image)
    ///     case .finished(let result): print(result)
    ///     }
    /// }
    /// ```
    ///
    /// The load begins with the iteration and is cancelled when the iteration ends early: by `break`, or by cancelling
    /// the task, which still delivers ``LoadEvent/finished(_:)`` with ``WebImageError/cancelled``.
    public func events(for request: WebImageRequest) -> LoadEvents { LoadEvents(manager: self, request: request) }
}

/// The events of one load; each iteration is a load of its own.
public struct LoadEvents: AsyncSequence, Sendable {
    let manager: WebImageManager
    let request: WebImageRequest

    /// Starts the load.
    public func makeAsyncIterator() -> Iterator {
        let inbox = EventInbox()
        let callbacks = WebImageOperation.Callbacks(
            DirectCallbackQueue(), progress: { inbox.put(LoadProgress(received: $0, expected: $1)) },
            preview: { inbox.put($0) }, completion: { inbox.end($0) })
        let operation = manager.start(
            manager.prepared(request), callbacks)
        return Iterator(session: LoadSession(operation: operation, inbox: inbox))
    }

    /// Reads the events of one load.
    public struct Iterator: AsyncIteratorProtocol {
        let session: LoadSession

        /// How often a loader has been asked so far; see ``WebImageOperation/attempts``.
        public var attempts: [LoadAttempt] { session.operation.attempts }

        /// The next event; `nil` after ``LoadEvent/finished(_:)``.
        public mutating func next() async -> LoadEvent? {
            let session = session
            return await withTaskCancellationHandler {
                await session.inbox.next()
            } onCancel: {
                session.operation.cancel()
            }
        }

        /// The next event; `nil` after ``LoadEvent/finished(_:)``.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadEvent? {
            let session = session
            return await withTaskCancellationHandler(
                operation: { await session.inbox.next() }, onCancel: { session.operation.cancel() }, isolation: actor)
        }
    }
}

/// Ties a load to its reader: when the reader goes, the load is given up. A load that has ended does not mind.
final class LoadSession: Sendable {
    let operation: WebImageOperation
    let inbox: EventInbox

    init(operation: WebImageOperation, inbox: EventInbox) {
        self.operation = operation
        self.inbox = inbox
    }

    deinit { operation.cancel() }
}

/// Events that one reader has not read yet: never more than two of progress, one preview, and the end.
final class EventInbox: Sendable {
    private let state = Lock(State())

    private struct State {
        var progress = ProgressMailbox()
        var preview: Image?
        var result: Result<WebImageResponse, WebImageError>?
        var isEnded = false
        var reader: CheckedContinuation<LoadEvent?, Never>?

        /// What the reader gets next; `nil` when it must wait.
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

    /// Progress may come late: a joined load's, told on another thread than the end.
    func put(_ progress: LoadProgress) {
        change { state in
            guard state.result == nil, !state.isEnded else { return }
            _ = state.progress.put(progress)
        }
    }

    /// As progress.
    func put(_ preview: Image) {
        change { state in
            guard state.result == nil, !state.isEnded else { return }
            state.preview = preview
        }
    }

    func end(_ result: Result<WebImageResponse, WebImageError>) { change { $0.result = result } }

    func next() async -> LoadEvent? {
        await withCheckedContinuation { continuation in
            let event = state.withLock { state -> LoadEvent?? in
                if let event = state.take() { return event }
                state.reader = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    /// Changes the state, then wakes the reader if there is something for it; never under the lock.
    private func change(_ body: (inout State) -> Void) {
        let wakeUp = state.withLock { state -> (CheckedContinuation<LoadEvent?, Never>, LoadEvent?)? in
            body(&state)
            guard let reader = state.reader, let event = state.take() else { return nil }
            state.reader = nil
            return (reader, event)
        }
        if let (reader, event) = wakeUp { reader.resume(returning: event) }
    }
}
