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
        let (waiter, task) = (Waiter<Result<WebDataResponse, WebImageError>>(), DeferredTask())
        let (recorder, start) = (TraceRecorder(), ContinuousClock.now)
        @Sendable func response(of bytes: LoadedBytes) -> WebDataResponse {
            WebDataResponse(bytes, context, now: pipeline.now, trace: recorder.trace(from: start))
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.attach(continuation)
                let subscription = pipeline.joinData(for: context) { event in
                    switch event {
                    case .news(let news): if let trace = news.trace { recorder.include(trace) }
                    // The server is asked all the same, for later requests.
                    case .provisional(let bytes, _):
                        if context.request.cachePolicy == .http { waiter.resume(.success(response(of: bytes))) }
                    case .finished(let result): waiter.resume(result.map(response))
                    }
                }
                if let subscription { task.attach(subscription) }
            }
        } onCancel: {
            if waiter.resume(.failure(.cancelled)) { task.cancel() }
        }
        return try result.get()
    }
}

extension WebDataResponse {
    fileprivate init(_ bytes: LoadedBytes, _ context: LoadContext, now: Date, trace: LoadTrace) {
        let stored = bytes.record.response
        let isFromCache = bytes.origin != .remote
        let isFresh = stored.map { Freshness(of: $0, now: now).isFresh } ?? true
        let storedURL = stored?.finalURL.flatMap { URL(string: $0) } ?? context.request.url
        self.init(
            data: context.call?.method == .head ? Data() : bytes.data,
            statusCode: isFromCache ? stored?.statusCode : bytes.head?.statusCode,
            headers: (isFromCache ? stored?.headers(servedAt: now) : bytes.head?.headers) ?? [],
            url: isFromCache ? storedURL : bytes.head?.url ?? context.request.url, origin: bytes.origin,
            isConfirmed: bytes.isConfirmed, isStale: isFromCache && !bytes.isConfirmed && !isFresh,
            metrics: bytes.metrics, trace: trace)
    }
}
