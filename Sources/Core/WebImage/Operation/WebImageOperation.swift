public import WebImageCaching
public import WebImageCore
public import WebImageLoading

/// A load, as one caller sees it. Several operations may share the work.
///
/// ```swift
/// let operation = manager.load(WebImageRequest(url)) { result in print(result) }
/// operation.priority = .low
/// print(operation.traceDescription)
/// operation.cancel()
/// ```
///
/// Dropping it does not cancel the load.
public final class WebImageOperation: Sendable {
    /// The request, as changed by the manager's ``WebImageManager/Configuration/optionsProcessor``.
    public let request: WebImageRequest
    /// The cache key of the image.
    public let cacheKey: ImageCacheKey
    /// The cache that stores the image.
    public let cache: any ImageCaching

    /// The trace so far as text, also after a failure: a line for each step, with its time, duration and result.
    public var traceDescription: String { trace.description }

    /// The same, step by step. Each access creates a new trace.
    public var trace: LoadTrace { traceReader.trace }

    /// Reads the trace without this operation, which holds its result, such as in a log of loads.
    public var traceReader: LoadTraceReader { LoadTraceReader(recorder: recorder, start: start) }

    /// The time since the start.
    public var elapsed: Duration { BootTime.now - start }

    let recorder = TraceRecorder()
    private let start = BootTime.now

    /// Called with the bytes that have arrived, and the length that the server named; `nil` if it named none.
    public typealias ProgressHandler = @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    /// Called with each preview of an image that is still arriving.
    public typealias PreviewHandler = @Sendable (Image) -> Void
    /// Called once, with the response or the error.
    public typealias CompletionHandler = @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    /// Called when a load ends.
    typealias FinishHook =
        @Sendable (_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) -> Void

    /// The handlers, and the queue that they run on. The completion may be set later, by the operation.
    public struct Callbacks: Sendable {
        let queue: any CallbackQueue
        let progress: ProgressHandler?
        let preview: PreviewHandler?
        let completion: CompletionHandler?

        /// Creates a set of handlers.
        ///
        /// - Parameters:
        ///   - queue: runs the handlers, one after the other.
        ///   - progress: `nil`, the default, for none.
        ///   - preview: `nil`, the default, for none.
        ///   - completion: `nil`, the default, for none or for a later one.
        public init(
            _ queue: any CallbackQueue, progress: ProgressHandler? = nil, preview: PreviewHandler? = nil,
            completion: CompletionHandler? = nil
        ) {
            self.queue = queue
            self.progress = progress
            self.preview = preview
            self.completion = completion
        }
    }

    private let callbackQueue: any CallbackQueue
    private let counters: PipelineCounters
    private let running: RunningLoads
    private let didFinish: FinishHook?
    private let storage: Lock<Storage>

    /// ```
    ///  loading ──cancel()──► cancelled ──┐
    ///     └──────result queued───────────┴──► ended, decided on the callback queue
    /// ```
    /// The decision is made on the callback queue. A cancellation made there before the completion runs always takes
    /// precedence. The second of the two finds no handlers.
    private struct Storage {
        var isCancelled = false
        var isEnded = false
        var isHeldUp = false
        /// Whether the manager lists it among the loads in progress.
        var isListed = false
        var result: Result<WebImageResponse, WebImageError>?
        var priority: LoadPriority
        var subscription: (any LoaderTask)?
        var progressHandler: ProgressHandler?
        var previewHandler: PreviewHandler?
        var completionHandler: CompletionHandler?
        var onEnd: [@Sendable () -> Void] = []
        var progress = ProgressMailbox()
        var phase = LoadPhase()
        var preview: Image?
        /// The number of the latest preview; -1 before the first.
        var previewNumber = -1
        var attempts: [LoadAttempt] = []

        var state: State {
            if isCancelled { return .cancelled }
            if isEnded { return .finished }
            return isHeldUp ? .waiting : phase.state
        }

        /// Ends the operation. No handler is called any more.
        ///
        /// The caller releases the returned values outside the lock. Releasing what a handler captures may run code,
        /// which may use this operation.
        mutating func end(with result: Result<WebImageResponse, WebImageError>) -> Ending {
            defer {
                isEnded = true
                (progressHandler, previewHandler, completionHandler) = (nil, nil, nil)
                (subscription, preview, onEnd) = (nil, nil, [])
            }
            return Ending(
                result: result, isListed: isListed, completion: completionHandler, onEnd: onEnd,
                progress: progressHandler, previewHandler: previewHandler, preview: preview, subscription: subscription)
        }
    }

    private struct Ending {
        let result: Result<WebImageResponse, WebImageError>
        let isListed: Bool
        let completion: CompletionHandler?
        let onEnd: [@Sendable () -> Void]
        let progress: ProgressHandler?
        let previewHandler: PreviewHandler?
        let preview: Image?
        let subscription: (any LoaderTask)?
    }

    init(
        request: WebImageRequest, key: ImageCacheKey, cache: any ImageCaching, _ callbacks: Callbacks,
        counters: PipelineCounters, running: RunningLoads, didFinish: FinishHook? = nil
    ) {
        self.request = request
        self.counters = counters
        self.running = running
        self.cache = cache
        self.didFinish = didFinish
        cacheKey = key
        callbackQueue = callbacks.queue
        storage = Lock(
            Storage(
                priority: request.priority, progressHandler: callbacks.progress, previewHandler: callbacks.preview,
                completionHandler: callbacks.completion))
    }

    /// The current state.
    public var state: State { storage.withLock { $0.state } }

    /// Returns the states of the load: the current one, each change, and the last one, ``State/finished`` or ``State/cancelled``. A
    /// reader that falls behind gets only the latest. A reader that stops does not cancel the load.
    ///
    /// ```swift
    /// for await state in manager.load(WebImageRequest(url)).states() {
    ///     if case .loading(let received, let expected?) = state { print(received * 100 / max(1, expected), "%") }
    /// }
    /// ```
    public func states() -> AsyncStream<State> {
        let (stream, reader) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        storage.withLock { storage in
            storage.phase.readers.append(reader)
            storage.phase.tell(storage.state)
        }
        return stream
    }

    /// The response, as soon as the load has ended.
    ///
    /// Cancelling the task that waits cancels the load, as ``cancel()`` does, for all that wait for this operation. Any
    /// number of tasks can wait. They continue right before the completion is called.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the load or the task was cancelled.
    public var response: WebImageResponse {
        get async throws(WebImageError) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in whenEnded { continuation.resume() } }
            } onCancel: {
                cancel()
            }
            return try (result ?? .failure(.cancelled)).get()
        }
    }

    /// The result; `nil` before the end.
    public var result: Result<WebImageResponse, WebImageError>? { storage.withLock { $0.result } }

    /// Whether the load has ended, so that the completion has been called or is being called.
    public var isFinished: Bool { storage.withLock { $0.isEnded } }

    /// Whether ``cancel()`` was called before the end. The completion has been called, or will be.
    public var isCancelled: Bool { storage.withLock { $0.isCancelled } }

    /// The attempts at a loader. The last one may still wait or run. Empty until the first attempt has ended, and for
    /// an image from memory or disk. If work is shared, each operation has all its attempts.
    public var attempts: [LoadAttempt] { storage.withLock { $0.attempts } }

    /// The priority. A change applies to the work in every queue where it waits.
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

    /// Cancels the load.
    ///
    /// The completion receives ``WebImageError/cancelled``, on the callback queue like every result. If this is called
    /// on that queue, nothing else is delivered afterwards. If it is called elsewhere, a callback that is already
    /// running may finish. Work that others share continues for them; otherwise it stops at its next checkpoint.
    public func cancel() {
        let (isFirst, subscription) = storage.withLock { storage -> (Bool, (any LoaderTask)?) in
            guard !storage.isEnded, !storage.isCancelled else { return (false, nil) }
            storage.isCancelled = true
            storage.phase.tell(.cancelled)
            defer { storage.subscription = nil }
            return (true, storage.subscription)
        }
        guard isFirst else { return }
        subscription?.cancel()
        callbackQueue.enqueue { [self] in end(with: .failure(.cancelled)) }
    }

    // MARK: For the manager

    /// Sets the completion of an operation that was made without one; calls it at once if the operation has ended.
    ///
    /// - Returns: whether the operation has not ended.
    func complete(with completion: @escaping CompletionHandler) -> Bool {
        let result = storage.withLock { storage in
            if !storage.isEnded { storage.completionHandler = completion }
            return storage.result
        }
        if let result { completion(result) }
        return result == nil
    }

    /// Notes that the manager lists the operation; returns `false` if it has ended before.
    func noteListing() -> Bool {
        storage.withLock { storage in
            storage.isListed = true
            return !storage.isEnded
        }
    }

    /// Notes whether the operation waits because the manager is suspended.
    func note(isHeldUp: Bool) {
        storage.withLock { storage in
            storage.isHeldUp = isHeldUp
            storage.phase.tell(storage.state)
        }
    }

    /// Notes that the bytes are there, and are decoded.
    func noteDecoding() {
        storage.withLock { storage in
            storage.phase.isDecoding = true
            storage.phase.tell(storage.state)
        }
    }

    /// Calls `body` once when the operation ends, before the completion; at once if it has ended.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
        let isEnded = storage.withLock { storage in
            if !storage.isEnded { storage.onEnd.append(body) }
            return storage.isEnded
        }
        if isEnded { body() }
    }

    /// Sets the work that this operation waits for.
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

    /// Queues the result. It is dropped if the operation is cancelled before it is delivered.
    func finish(_ result: Result<WebImageResponse, WebImageError>) {
        callbackQueue.enqueue { [self] in end(with: result) }
    }

    /// Queues progress for the handler. Progress that still waits is replaced.
    func report(_ progress: LoadProgress) {
        let isNew = storage.withLock { storage in
            if storage.phase.advance(to: progress) { storage.phase.tell(storage.state) }
            guard storage.progressHandler != nil, !storage.isCancelled else { return false }
            return storage.progress.put(progress)
        }
        guard isNew else { return }
        callbackQueue.enqueue { [self] in deliverProgress() }
    }

    private func deliverProgress() {
        // One at a time, because the handler may cancel and must then not be called again.
        while let next = nextProgress() { next.handler(next.progress.received, next.progress.expected) }
    }

    /// Not a tuple, in which a closure would take an allocation.
    private struct ProgressCall {
        let handler: ProgressHandler
        let progress: LoadProgress
    }

    private func nextProgress() -> ProgressCall? {
        storage.withLock { storage in
            guard !storage.isCancelled, let handler = storage.progressHandler, let progress = storage.progress.take()
            else {
                return nil
            }
            return ProgressCall(handler: handler, progress: progress)
        }
    }

    /// Notes the attempts so far.
    func report(_ attempts: [LoadAttempt]) {
        storage.withLock { storage in
            // The first attempts for a late subscriber may arrive after newer ones from another thread.
            let isOld = attempts.count == storage.attempts.count && storage.attempts.last?.duration != nil
            if attempts.count >= storage.attempts.count, !isOld { storage.attempts = attempts }
        }
    }

    /// Queues an image for the preview handler. A preview that still waits is replaced.
    ///
    /// - Parameter number: rises with each preview. A preview is dropped unless its number is higher than that of the
    ///   latest one.
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

    /// - Parameter result: ignored if the operation was cancelled before.
    private func end(with result: Result<WebImageResponse, WebImageError>) {
        let ending = storage.withLock { storage -> Ending? in
            guard !storage.isEnded, !storage.isCancelled || result.isCancellation else { return nil }
            var result = result
            if case .success(let response) = result {
                result = .success(
                    response.delivered(attempts: storage.attempts, userInfo: request.userInfo, (recorder, start)))
            }
            storage.result = result
            defer { storage.phase.tell(storage.state) }
            return storage.end(with: result)
        }
        guard let ending else { return }
        counters.change { $0.count(ending.result) }
        if ending.isListed { running.remove(self) }
        for body in ending.onEnd { body() }
        didFinish?(self, ending.result)
        ending.completion?(ending.result)
    }
}

extension Result where Failure == WebImageError {
    fileprivate var isCancellation: Bool { if case .failure(.cancelled) = self { true } else { false } }
}
