public import FoundationEssentials
public import WebImageCore
public import WebImageLoading

extension WebImageManager {
    /// Loads bytes of any kind, through the same disk cache and the same loaders.
    ///
    /// ```swift
    /// var request = WebImageRequest(url)
    /// request.cachePolicy = .http
    /// let answer = try await manager.data(for: request)
    /// ```
    ///
    /// Any status and any content type is an answer, not an error. Under ``CachePolicy/http`` it is a private cache by RFC
    /// 9111: what may be stored is, and answers GET and HEAD while the rules let it; a stale answer that the server lets be
    /// used meanwhile (`stale-while-revalidate`) is returned at once, and confirmed behind it. Other policies mean what they
    /// say. Requests for a part (`Range`) and with conditions of their own go past the cache. Other methods than GET and HEAD
    /// go to the loader, and then what is stored of the URLs they change is gone.
    ///
    /// - Parameters:
    ///   - request: where, and who may answer. What it says about pictures (size, scale, processors) has no meaning here.
    ///   - method: what is wanted; GET by default.
    ///   - body: what is sent along, with methods that take one.
    /// - Throws: what kept an answer from coming; ``WebImageError/notInCache(key:)`` where the policy asks no server;
    ///   ``WebImageError/cancelled`` when the task was cancelled.
    public func data(
        for request: WebImageRequest, method: LoaderRequest.Method = .get, body: Data? = nil
    ) async throws(WebImageError) -> WebDataResponse {
        let call = LoadContext.Call(method: method, body: body)
        guard let (pipeline, context) = place(of: prepared(request), call: call) else {
            throw ImageLoaderGroup.error(forUnloadable: request.url)
        }
        let wait = DataWait(pipeline: pipeline, context: context)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { wait.start($0) }
        } onCancel: {
            wait.cancel()
        }
        return try result.get()
    }
}

/// Somebody who waits for bytes: gets the first answer that will do.
private final class DataWait: Sendable {
    typealias Answer = Result<WebDataResponse, WebImageError>

    private struct State {
        var continuation: CheckedContinuation<Answer, Never>?
        var step: (any WorkStep)?
        var isAnswered = false
        /// The task was cancelled before there was an answer. What goes on behind an answer that was given goes on.
        var isGivenUp = false
    }

    private let pipeline: Pipeline
    private let context: LoadContext
    private let recorder = TraceRecorder()
    private let start = ContinuousClock.now
    private let state = Lock(State())

    init(pipeline: Pipeline, context: LoadContext) {
        self.pipeline = pipeline
        self.context = context
    }

    func start(_ continuation: CheckedContinuation<Answer, Never>) {
        let isGivenUp = state.withLock { state in
            if !state.isGivenUp { state.continuation = continuation }
            return state.isGivenUp
        }
        // The task was cancelled before it came here.
        if isGivenUp { return continuation.resume(returning: .failure(.cancelled)) }
        let step = pipeline.joinData(for: context, trace: recorder) { [self] event in
            switch event {
            case .progress, .loading, .attempts, .bytes: break
            case .provisional(let bytes, _):
                // Going by HTTP it is the answer; the server is asked behind it, for the next one's sake.
                if context.request.cachePolicy == .http { end(.success(response(of: bytes))) }
            case .finished(let result): end(result.map(response))
            }
        }
        let isUnwanted = state.withLock { state in
            if !state.isGivenUp, !state.isAnswered { state.step = step }
            return state.isGivenUp
        }
        // It was cancelled while there was nothing yet to cancel.
        if isUnwanted { step?.cancel() }
    }

    func cancel() {
        let (continuation, step) = state.withLock { state -> (CheckedContinuation<Answer, Never>?, (any WorkStep)?) in
            guard !state.isAnswered else { return (nil, nil) }
            state.isGivenUp = true
            defer { (state.continuation, state.step) = (nil, nil) }
            return (state.continuation, state.step)
        }
        step?.cancel()
        continuation?.resume(returning: .failure(.cancelled))
    }

    private func end(_ answer: Answer) {
        // Let go outside the lock, as the continuation.
        let (continuation, step) = state.withLock { state in
            state.isAnswered = true
            defer { (state.continuation, state.step) = (nil, nil) }
            return (state.continuation, state.step)
        }
        withExtendedLifetime(step) { continuation?.resume(returning: answer) }
    }

    private func response(of bytes: LoadedBytes) -> WebDataResponse {
        let now = pipeline.now()
        let stored = bytes.record.response
        let isFromCache = bytes.origin != .remote
        let isFresh = stored.map { Freshness(of: $0, now: now).isFresh } ?? true
        let storedURL = stored?.finalURL.flatMap { URL(string: $0) } ?? context.request.url
        return WebDataResponse(
            data: context.call?.method == .head ? Data() : bytes.data,
            statusCode: isFromCache ? stored?.statusCode : bytes.head?.statusCode,
            headers: (isFromCache ? stored?.headers(servedAt: now) : bytes.head?.headers) ?? [],
            url: isFromCache ? storedURL : bytes.head?.url ?? context.request.url, origin: bytes.origin,
            isConfirmed: bytes.isConfirmed, isStale: isFromCache && !bytes.isConfirmed && !isFresh,
            metrics: bytes.metrics, trace: recorder.trace(from: start))
    }
}
