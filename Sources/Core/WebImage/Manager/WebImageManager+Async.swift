public import FoundationEssentials
public import WebImageCore
public import WebImageLoading

extension WebImageManager {
    /// Loads the image at `url` at its full size.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the task was cancelled.
    public func image(at url: URL) async throws(WebImageError) -> Image {
        try await image(for: WebImageRequest(url))
    }

    /// Loads the image at the URL in a text, such as `https://example.org/photo.jpg`, at its full size.
    ///
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a text that is not a URL with a scheme; otherwise the error
    ///   of the load.
    public func image(at text: String) async throws(WebImageError) -> Image {
        try await image(for: WebImageRequest(text))
    }

    /// Loads the image that `request` describes.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the task was cancelled.
    public func image(for request: WebImageRequest) async throws(WebImageError) -> Image {
        let request = prepared(request)
        let pipeline = pipelines.pipeline(for: request)
        let context = pipeline.context(for: request)
        // The hook needs an operation.
        let queriesMemory = configuration.didFinish == nil
        if queriesMemory, let context, let image = imageAtOnce(for: request, pipeline, context) { return image }
        return try await response(for: request, pipeline, context, queriesMemory: !queriesMemory).image
    }

    /// Loads the image that `request` describes, and returns it with its origin and other details of the load.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the task was cancelled.
    public func response(for request: WebImageRequest) async throws(WebImageError) -> WebImageResponse {
        let request = prepared(request)
        let pipeline = pipelines.pipeline(for: request)
        return try await response(for: request, pipeline, pipeline.context(for: request), queriesMemory: true)
    }

    /// - Parameter actor: the caller's. A closure that captures it runs there; another would change threads.
    func response(
        for request: WebImageRequest, _ pipeline: Pipeline, _ context: LoadContext?, queriesMemory: Bool,
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws(WebImageError) -> WebImageResponse {
        let operation = operation(request, pipeline, context, WebImageOperation.Callbacks(DirectCallbackQueue()))
        await withTaskCancellationHandler(
            operation: {
                _ = actor
                // An operation calls its completion exactly once.
                await withUnsafeContinuation(isolation: actor) { (continuation: UnsafeContinuation<Void, Never>) in
                    guard operation.complete(with: { _ in continuation.resume() }) else { return }
                    begin(operation, pipeline, context, queriesMemory: queriesMemory)
                }
            },
            // The operation then ends with `WebImageError.cancelled`.
            onCancel: { operation.cancel() }, isolation: actor)
        // Read under its lock, like the value of a `Waiter`.
        return try (operation.result ?? .failure(.cancelled)).get()
    }
}

extension WebImageManager {
    /// Loads data of any kind through the same disk cache and the same loaders as images.
    ///
    /// ```swift
    /// var request = WebImageRequest(url)
    /// request.cachePolicy = .http
    /// let answer = try await manager.data(for: request)
    /// ```
    ///
    /// Responses with any status and any content type are returned, not thrown as errors.
    ///
    /// Under ``CachePolicy/http`` the manager is a private cache (RFC 9111). It stores responses that may be stored,
    /// and serves them for GET and HEAD as the rules allow. A stale response with `stale-while-revalidate` is returned
    /// at once and revalidated afterwards. Other policies work as for images.
    ///
    /// Requests with `Range` or with their own conditions bypass the cache. A ``WebImageRequest/method`` other than GET and HEAD goes to
    /// the loader, each time and for each caller, whether or not there is a ``WebImageRequest/cacheKeyFilter``. Afterwards the stored
    /// responses for the URLs that it changes are removed.
    ///
    /// ```swift
    /// var form = WebImageRequest(url)
    /// (form.method, form.body) = (.post, Data("name=value".utf8))
    /// form.headers["Content-Type"] = "application/x-www-form-urlencoded"
    /// let status = try await manager.data(for: form).response.statusCode
    /// ```
    ///
    /// - Parameter request: the URL, the method and the cache policy. Properties that concern images, such as size, scale and
    ///   processors, are ignored.
    /// - Returns: the body, empty for HEAD; the final URL, status and header fields, which from the cache include an
    ///   `Age`; and where they came from. The status is `nil` without HTTP.
    /// - Throws: the error of the load; ``WebImageError/notInCache(key:)`` if nothing is cached and the policy does not
    ///   allow the server; ``WebImageError/cancelled`` if the task was cancelled.
    public func data(
        for request: WebImageRequest
    ) async throws(WebImageError) -> (data: Data, response: LoaderResponse, origin: ImageOrigin) {
        let result = try await dataResponse(for: request)
        let response = LoaderResponse(url: result.url, statusCode: result.statusCode, headers: result.headers)
        return (result.data, response, result.origin)
    }

    /// Like ``data(for:)``, with what the cache did.
    ///
    /// - Parameters:
    ///   - request: as for ``data(for:)``.
    ///   - acceptsAnyAnswer: `true` by default; `false` for data of an image: other statuses than 2xx are errors, and a cache that machines share
    ///     takes part.
    /// - Throws: the errors of ``data(for:)``.
    public func dataResponse(
        for request: WebImageRequest, acceptsAnyAnswer: Bool = true
    ) async throws(WebImageError) -> WebDataResponse {
        let call = LoadContext.Call(acceptsAnyAnswer: acceptsAnyAnswer)
        guard let (pipeline, context) = place(of: prepared(request), call: call) else {
            throw ImageLoaderGroup.error(forUnloadable: request.url)
        }
        let (recorder, start) = (TraceRecorder(), BootTime.now)
        @Sendable func response(of bytes: LoadedBytes) -> WebDataResponse {
            WebDataResponse(bytes, context, now: pipeline.now, trace: recorder.trace(from: start))
        }
        let result: Result<WebDataResponse, WebImageError> = await DeferredTask.result { finish in
            pipeline.joinData(for: context) { event in
                switch event {
                case .news(.trace(let trace)): recorder.include(trace)
                case .news: break
                // The server is contacted nevertheless, for later requests.
                case .provisional(let bytes, _):
                    if context.request.cachePolicy == .http { finish(.success(response(of: bytes))) }
                case .finished(let result): finish(result.map(response))
                }
            }
        }
        return try result.get()
    }
}

extension WebDataResponse {
    fileprivate init(_ bytes: LoadedBytes, _ context: LoadContext, now: Date, trace: LoadTrace) {
        let stored = bytes.record.response
        let isFromCache = bytes.origin != .remote
        let isFresh = stored?.isFresh(at: now) ?? true
        let storedURL = stored?.finalURL.flatMap { URL(string: $0) } ?? context.request.url
        self.init(
            data: context.request.method == .head ? Data() : bytes.data,
            statusCode: isFromCache ? stored?.statusCode : bytes.head?.statusCode,
            headers: (isFromCache ? stored?.headers(servedAt: now) : bytes.head?.headers) ?? [],
            url: isFromCache ? storedURL : bytes.head?.url ?? context.request.url, origin: bytes.origin,
            isConfirmed: bytes.isConfirmed, isStale: isFromCache && !bytes.isConfirmed && !isFresh,
            metrics: bytes.metrics, trace: trace, judgments: bytes.judgments)
    }
}
