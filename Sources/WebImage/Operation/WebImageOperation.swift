import WebImageCore

/// A load under way, as one caller sees it: several may share the work behind it.
///
/// Dropping it does not cancel the load.
public final class WebImageOperation: Sendable {
    /// What it loads.
    public let request: WebImageRequest

    /// What has happened so far, also after a failure; made of notes each time it is asked for.
    public var trace: LoadTrace { recorder.trace(from: start) }

    let recorder = TraceRecorder()
    private let start = ContinuousClock.now

    typealias ProgressHandler = @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    typealias PreviewHandler = @Sendable (Image) -> Void
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
        var previewHandler: PreviewHandler?
        var completionHandler: CompletionHandler?
        var onEnd: (@Sendable () -> Void)?
        var progress = ProgressMailbox()
        var preview: Image?
        var previewNumber = 0
        var attempts: [LoadAttempt] = []

        var isEnded: Bool { completionHandler == nil }
    }

    init(
        request: WebImageRequest, callbackQueue: any CallbackQueue, progress: ProgressHandler?,
        preview: PreviewHandler? = nil, completion: @escaping CompletionHandler
    ) {
        self.request = request
        self.callbackQueue = callbackQueue
        state = Lock(
            State(
                priority: request.priority, progressHandler: progress, previewHandler: preview,
                completionHandler: completion))
    }

    /// Whether the completion has been called, or is being called.
    public var isFinished: Bool { state.withLock { $0.isEnded } }

    /// Whether ``cancel()`` came before the end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// How often a loader has been asked, and what came of it; the last attempt may still wait or run. Empty until the first
    /// has ended, and for a picture from memory or disk. Of work that it shares with others, all attempts.
    public var attempts: [LoadAttempt] { state.withLock { $0.attempts } }

    /// How urgent it is; a change moves the work wherever it waits.
    public var priority: LoadPriority {
        get { state.withLock { $0.priority } }
        set {
            state.withLock { $0.priority = newValue }
            applyPriority()
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
        let isWanted = state.withLock { state in
            let isWanted = !state.isCancelled && !state.isEnded
            if isWanted { state.subscription = subscription }
            return isWanted
        }
        if isWanted { applyPriority(unlessStill: request.priority) } else { subscription.cancel() }
    }

    /// Passes the priority on; again if it has changed meanwhile, so that the last value stays.
    private func applyPriority(unlessStill known: LoadPriority? = nil) {
        var applied = known
        while true {
            let (subscription, priority) = state.withLock { ($0.subscription, $0.priority) }
            guard let subscription, priority != applied else { return }
            subscription.setPriority(priority)
            applied = priority
        }
    }

    /// Queues the result; what a cancel has overtaken by then is dropped.
    func finish(_ result: Result<WebImageResponse, WebImageError>) {
        callbackQueue.enqueue { [self] in
            guard !isCancelled else { return }
            end(
                with: result.map { response in
                    var response = response
                    response.recorder = (recorder, start)
                    return response
                })
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
        // One at a time: the handler may cancel, and then gets no more.
        while let (handler, progress) = nextProgress() { handler(progress.received, progress.expected) }
    }

    private func nextProgress() -> (ProgressHandler, LoadProgress)? {
        state.withLock { state in
            guard !state.isCancelled, let handler = state.progressHandler, let progress = state.progress.take() else {
                return nil
            }
            return (handler, progress)
        }
    }

    /// Notes the attempts so far.
    func report(_ attempts: [LoadAttempt]) {
        state.withLock { state in
            // A late joiner's welcome may cross newer news on another thread.
            let isOld = attempts.count == state.attempts.count && state.attempts.last?.duration != nil
            if attempts.count >= state.attempts.count, !isOld { state.attempts = attempts }
        }
    }

    /// Queues a picture for the preview handler, in place of one that waits there.
    ///
    /// - Parameter number: rises with each; one that comes after one with a higher number is dropped.
    func report(_ preview: Image, number: Int) {
        let isNew = state.withLock { state in
            guard state.previewHandler != nil, !state.isCancelled, number > state.previewNumber else { return false }
            defer { (state.preview, state.previewNumber) = (preview, number) }
            return state.preview == nil
        }
        guard isNew else { return }
        callbackQueue.enqueue { [self] in deliverPreview() }
    }

    private func deliverPreview() {
        let delivery = state.withLock { state -> (PreviewHandler, Image)? in
            defer { state.preview = nil }
            guard !state.isCancelled, let handler = state.previewHandler, let preview = state.preview else {
                return nil
            }
            return (handler, preview)
        }
        if let (handler, preview) = delivery { handler(preview) }
    }

    private func end(with result: Result<WebImageResponse, WebImageError>) {
        let (completion, onEnd, attempts) = state.withLock { state in
            defer {
                state.completionHandler = nil
                state.progressHandler = nil
                state.previewHandler = nil
                state.preview = nil
                state.subscription = nil
                state.onEnd = nil
            }
            return (state.completionHandler, state.onEnd, state.attempts)
        }
        onEnd?()
        completion?(
            result.map { response in
                var response = response
                response.attempts = attempts
                return response
            })
    }
}
