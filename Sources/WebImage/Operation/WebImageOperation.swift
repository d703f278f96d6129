public import WebImageCaching
public import WebImageCore

/// A load under way, as one caller sees it: several may share the work behind it.
///
/// Dropping it does not cancel the load.
public final class WebImageOperation: Sendable {
    /// What it loads, with what the manager has added.
    public let request: WebImageRequest
    /// What its picture is found by.
    public let cacheKey: ImageCacheKey
    /// The cache that stores its image.
    public let cache: any ImageCaching

    /// What has happened so far, also after a failure; made of notes each time it is asked for.
    public var trace: LoadTrace { recorder.trace(from: start) }

    let recorder = TraceRecorder()
    private let start = ContinuousClock.now

    typealias ProgressHandler = @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    typealias PreviewHandler = @Sendable (Image) -> Void
    typealias CompletionHandler = @Sendable (Result<WebImageResponse, WebImageError>) -> Void

    /// Whom it tells, and where.
    struct Callbacks: Sendable {
        let queue: any CallbackQueue
        let progress: ProgressHandler?
        let preview: PreviewHandler?
        let completion: CompletionHandler

        init(
            _ queue: any CallbackQueue, progress: ProgressHandler? = nil, preview: PreviewHandler? = nil,
            completion: @escaping CompletionHandler
        ) {
            self.queue = queue
            self.progress = progress
            self.preview = preview
            self.completion = completion
        }
    }

    /// How far a load is.
    public enum State: Sendable, Hashable {
        /// It has not begun: the manager is suspended.
        case waiting
        /// It is under way.
        case running
        /// The completion has been called, or is being called, with a picture or an error.
        case finished
        /// It was cancelled; the completion has been called with that, or will be.
        case cancelled
    }

    private let callbackQueue: any CallbackQueue
    private let counters: PipelineCounters
    private let didFinish: WebImageManager.FinishHook?
    private let storage: Lock<Storage>

    /// ```
    ///  loading ──cancel()──► cancelled ──┐
    ///     └──────result queued───────────┴──► ended, decided on the callback queue
    /// ```
    /// The decision falls on the callback queue: a cancel made there before the completion ran always wins, and whoever
    /// comes second finds the handlers gone.
    private struct Storage {
        var isCancelled = false
        var isHeldUp = false
        var response: WebImageResponse?
        var priority: LoadPriority
        var subscription: (any LoaderTask)?
        var progressHandler: ProgressHandler?
        var previewHandler: PreviewHandler?
        var completionHandler: CompletionHandler?
        var onEnd: [@Sendable () -> Void] = []
        var progress = ProgressMailbox()
        var preview: Image?
        /// Of the newest; below the first.
        var previewNumber = -1
        var attempts: [LoadAttempt] = []

        var isEnded: Bool { completionHandler == nil }

        /// From now on nobody is told anything. What it held is to be let go outside the lock: what a handler captures may
        /// run code when it goes, and may ask this operation.
        mutating func end(with result: Result<WebImageResponse, WebImageError>) -> Ending {
            defer {
                (progressHandler, previewHandler, completionHandler) = (nil, nil, nil)
                (subscription, preview, onEnd) = (nil, nil, [])
            }
            return Ending(
                result: result, completion: completionHandler, onEnd: onEnd, progress: progressHandler,
                previewHandler: previewHandler, preview: preview, subscription: subscription)
        }
    }

    private struct Ending {
        let result: Result<WebImageResponse, WebImageError>
        let completion: CompletionHandler?
        let onEnd: [@Sendable () -> Void]
        let progress: ProgressHandler?
        let previewHandler: PreviewHandler?
        let preview: Image?
        let subscription: (any LoaderTask)?
    }

    init(
        request: WebImageRequest, key: ImageCacheKey, cache: any ImageCaching, _ callbacks: Callbacks,
        counters: PipelineCounters, didFinish: WebImageManager.FinishHook? = nil
    ) {
        self.request = request
        self.counters = counters
        self.cache = cache
        self.didFinish = didFinish
        cacheKey = key
        callbackQueue = callbacks.queue
        storage = Lock(
            Storage(
                priority: request.priority, progressHandler: callbacks.progress, previewHandler: callbacks.preview,
                completionHandler: callbacks.completion))
    }

    /// Its switches.
    public var options: WebImageOptions { request.options }

    /// How far it is.
    public var state: State {
        storage.withLock { storage in
            if storage.isCancelled { return .cancelled }
            if storage.isEnded { return .finished }
            return storage.isHeldUp ? .waiting : .running
        }
    }

    /// What it came to; `nil` before the end, and after a failure.
    public var response: WebImageResponse? { storage.withLock { $0.response } }

    /// Whether the completion has been called, or is being called.
    public var isFinished: Bool { storage.withLock { $0.isEnded } }

    /// Whether ``cancel()`` came before the end.
    public var isCancelled: Bool { storage.withLock { $0.isCancelled } }

    /// How often a loader has been asked, and what came of it; the last attempt may still wait or run. Empty until the first
    /// has ended, and for a picture from memory or disk. Of work that it shares with others, all attempts.
    public var attempts: [LoadAttempt] { storage.withLock { $0.attempts } }

    /// How urgent it is; a change moves the work wherever it waits.
    public var priority: LoadPriority {
        get { storage.withLock { $0.priority } }
        set {
            let subscription = storage.withLock { storage in
                storage.priority = newValue
                return storage.subscription
            }
            subscription?.follow { priority }
        }
    }

    /// Gives the picture up.
    ///
    /// The completion gets ``WebImageError/cancelled``, on the callback queue like every result. If this is called there,
    /// nothing else is delivered from now on; called elsewhere, a callback that runs already may finish. Work that others
    /// share goes on for them; otherwise it stops at its next checkpoint.
    public func cancel() {
        let (isFirst, subscription) = storage.withLock { storage -> (Bool, (any LoaderTask)?) in
            guard !storage.isEnded, !storage.isCancelled else { return (false, nil) }
            storage.isCancelled = true
            defer { storage.subscription = nil }
            return (true, storage.subscription)
        }
        guard isFirst else { return }
        subscription?.cancel()
        callbackQueue.enqueue { [self] in end(with: .failure(.cancelled)) }
    }

    // MARK: For the manager

    /// Notes whether the manager, which is suspended, holds it up.
    func note(isHeldUp: Bool) { storage.withLock { $0.isHeldUp = isHeldUp } }

    /// Called once when the operation ends, before the completion; or at once if it has ended.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
        let isEnded = storage.withLock { storage in
            if !storage.isEnded { storage.onEnd.append(body) }
            return storage.isEnded
        }
        if isEnded { body() }
    }

    /// Names the work this operation waits for.
    func attach(_ subscription: any LoaderTask) {
        let isWanted = storage.withLock { storage in
            let isWanted = !storage.isCancelled && !storage.isEnded
            if isWanted { storage.subscription = subscription }
            return isWanted
        }
        if isWanted {
            subscription.follow(unlessStill: request.priority) { priority }
        } else {
            subscription.cancel()
        }
    }

    /// Queues the result; what a cancel has overtaken by then is dropped.
    func finish(_ result: Result<WebImageResponse, WebImageError>) {
        callbackQueue.enqueue { [self] in
            end(
                with: result.map { response in
                    var response = response
                    response.recorder = (recorder, start)
                    if !request.hasStandardDetails { response.userInfo = request.userInfo }
                    return response
                })
        }
    }

    /// Queues news for the progress handler, unless some wait there already: those are replaced.
    func report(_ progress: LoadProgress) {
        let isNew = storage.withLock { storage in
            guard storage.progressHandler != nil, !storage.isCancelled else { return false }
            return storage.progress.put(progress)
        }
        guard isNew else { return }
        callbackQueue.enqueue { [self] in deliverProgress() }
    }

    private func deliverProgress() {
        // One at a time: the handler may cancel, and then gets no more.
        while let (handler, progress) = nextProgress() { handler(progress.received, progress.expected) }
    }

    private func nextProgress() -> (ProgressHandler, LoadProgress)? {
        storage.withLock { storage in
            guard !storage.isCancelled, let handler = storage.progressHandler, let progress = storage.progress.take()
            else {
                return nil
            }
            return (handler, progress)
        }
    }

    /// Notes the attempts so far.
    func report(_ attempts: [LoadAttempt]) {
        storage.withLock { storage in
            // A late joiner's welcome may cross newer news on another thread.
            let isOld = attempts.count == storage.attempts.count && storage.attempts.last?.duration != nil
            if attempts.count >= storage.attempts.count, !isOld { storage.attempts = attempts }
        }
    }

    /// Queues a picture for the preview handler, in place of one that waits there.
    ///
    /// - Parameter number: rises with each; one that comes after one with a higher number is dropped.
    func report(_ preview: Image, number: Int) {
        let isNew = storage.withLock { storage in
            guard storage.previewHandler != nil, !storage.isCancelled, number > storage.previewNumber else {
                return false
            }
            defer { (storage.preview, storage.previewNumber) = (preview, number) }
            return storage.preview == nil
        }
        guard isNew else { return }
        callbackQueue.enqueue { [self] in deliverPreview() }
    }

    private func deliverPreview() {
        let delivery = storage.withLock { storage -> (PreviewHandler, Image)? in
            defer { storage.preview = nil }
            guard !storage.isCancelled, let handler = storage.previewHandler, let preview = storage.preview else {
                return nil
            }
            return (handler, preview)
        }
        if let (handler, preview) = delivery { handler(preview) }
    }

    /// - Parameter result: does not count where a cancel came before it.
    private func end(with result: Result<WebImageResponse, WebImageError>) {
        let ending = storage.withLock { storage -> Ending? in
            guard !storage.isEnded, !storage.isCancelled || result.isCancellation else { return nil }
            var result = result
            if case .success(var response) = result {
                response.attempts = storage.attempts
                result = .success(response)
                storage.response = response
            }
            return storage.end(with: result)
        }
        guard let ending else { return }
        counters.change { $0.count(ending.result) }
        for body in ending.onEnd { body() }
        didFinish?(self, ending.result)
        ending.completion?(ending.result)
    }
}

extension Result where Failure == WebImageError {
    fileprivate var isCancellation: Bool { if case .failure(.cancelled) = self { true } else { false } }
}
