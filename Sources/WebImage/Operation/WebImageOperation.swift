import WebImageCore

/// A load under way, as one caller sees it: several may share the work behind it.
///
/// Dropping it does not cancel the load.
public final class WebImageOperation: Sendable {
    /// What it loads.
    public let request: WebImageRequest

    typealias ProgressHandler = @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    typealias CompletionHandler = @Sendable (Result<WebImageResponse, WebImageError>) -> Void

    private let callbackQueue: any CallbackQueue
    private let state: Lock<State>

    /// ```
    ///  loading ──cancel()──► cancelled ──┐
    ///     └──────result queued───────────┴──► ended, decided on the callback queue
    /// ```
    /// The decision falls on the callback queue: a cancel made there before the completion ran always wins, and whoever
    /// comes second finds the handlers gone.
    private struct State {
        var isCancelled = false
        var priority: LoadPriority
        var subscription: (any WorkStep)?
        var progressHandler: ProgressHandler?
        var completionHandler: CompletionHandler?
        var onEnd: (@Sendable () -> Void)?
        var progress = ProgressMailbox()

        var isEnded: Bool { completionHandler == nil }
    }

    init(
        request: WebImageRequest, callbackQueue: any CallbackQueue, progress: ProgressHandler?,
        completion: @escaping CompletionHandler
    ) {
        self.request = request
        self.callbackQueue = callbackQueue
        state = Lock(
            State(priority: request.priority, progressHandler: progress, completionHandler: completion))
    }

    /// Whether the completion has been called, or is being called.
    public var isFinished: Bool { state.withLock { $0.isEnded } }

    /// Whether ``cancel()`` came before the end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// How urgent it is; a change moves the work wherever it waits.
    public var priority: LoadPriority {
        get { state.withLock { $0.priority } }
        set {
            let subscription = state.withLock { state in
                state.priority = newValue
                return state.subscription
            }
            subscription?.setPriority(newValue)
        }
    }

    /// Gives the picture up.
    ///
    /// The completion gets ``WebImageError/cancelled``, on the callback queue like every result. If this is called there,
    /// nothing else is delivered from now on; called elsewhere, a callback that runs already may finish. Work that others
    /// share goes on for them; otherwise it stops at its next checkpoint.
    public func cancel() {
        let (isFirst, subscription) = state.withLock { state -> (Bool, (any WorkStep)?) in
            guard !state.isEnded, !state.isCancelled else { return (false, nil) }
            state.isCancelled = true
            defer { state.subscription = nil }
            return (true, state.subscription)
        }
        guard isFirst else { return }
        subscription?.cancel()
        callbackQueue.enqueue { [self] in end(with: .failure(.cancelled)) }
    }

    // MARK: For the manager

    /// Called once when the operation ends, before the completion; or at once if it has ended.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
        let isEnded = state.withLock { state in
            if !state.isEnded { state.onEnd = body }
            return state.isEnded
        }
        if isEnded { body() }
    }

    /// Names the work this operation waits for.
    func attach(_ subscription: any WorkStep) {
        let (isWanted, priority) = state.withLock { state in
            let isWanted = !state.isCancelled && !state.isEnded
            if isWanted { state.subscription = subscription }
            return (isWanted, state.priority)
        }
        if !isWanted {
            subscription.cancel()
        } else if priority != request.priority {
            subscription.setPriority(priority)
        }
    }

    /// Queues the result; what a cancel has overtaken by then is dropped.
    func finish(_ result: Result<WebImageResponse, WebImageError>) {
        callbackQueue.enqueue { [self] in
            guard !isCancelled else { return }
            end(with: result)
        }
    }

    /// Queues news for the progress handler, unless some wait there already: those are replaced.
    func report(_ progress: LoadProgress) {
        let isNew = state.withLock { state in
            guard state.progressHandler != nil, !state.isCancelled else { return false }
            return state.progress.put(progress)
        }
        guard isNew else { return }
        callbackQueue.enqueue { [self] in deliverProgress() }
    }

    private func deliverProgress() {
        let (handler, news) = state.withLock { state in
            (state.isCancelled ? nil : state.progressHandler, state.progress.takeAll())
        }
        guard let handler else { return }
        for progress in news { handler(progress.received, progress.expected) }
    }

    private func end(with result: Result<WebImageResponse, WebImageError>) {
        let (completion, onEnd) = state.withLock { state in
            defer {
                state.completionHandler = nil
                state.progressHandler = nil
                state.subscription = nil
                state.onEnd = nil
            }
            return (state.completionHandler, state.onEnd)
        }
        onEnd?()
        completion?(result)
    }
}
