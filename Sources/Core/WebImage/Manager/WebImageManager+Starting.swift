import FoundationEssentials
public import WebImageCaching
import WebImageCore
import WebImageLoading
import WebImageProcessing

extension WebImageManager {
    /// - Parameters:
    ///   - request: from ``prepared(_:)``.
    ///   - mayBlock: whether this thread may wait for the disk. Swift's cooperative threads must not.
    ///   - isPrefetch: whether nothing waits for the image yet.
    func start(
        _ request: WebImageRequest, _ callbacks: WebImageOperation.Callbacks, mayBlock: Bool = false,
        isPrefetch: Bool = false
    ) -> WebImageOperation {
        let pipeline = pipelines.pipeline(for: request)
        let context = pipeline.context(for: request)
        let operation = operation(request, pipeline, context, callbacks)
        begin(operation, pipeline, context, mayBlock: mayBlock, isPrefetch: isPrefetch)
        return operation
    }

    /// Returns an operation that has not begun, and counts it.
    func operation(
        _ request: WebImageRequest, _ pipeline: Pipeline, _ context: LoadContext?,
        _ callbacks: WebImageOperation.Callbacks
    ) -> WebImageOperation {
        pipeline.counters.change { $0.requests += 1 }
        return WebImageOperation(
            request: request, key: context?.key ?? request.cacheKey, cache: pipeline.cache.base, callbacks,
            counters: pipeline.counters, running: running, didFinish: configuration.didFinish)
    }

    /// - Parameters:
    ///   - context: `nil` if no loader loads the request's URL.
    ///   - queriesMemory: `false` if the caller has done that.
    func begin(
        _ operation: WebImageOperation, _ pipeline: Pipeline, _ context: LoadContext?, queriesMemory: Bool = true,
        mayBlock: Bool = false, isPrefetch: Bool = false
    ) {
        guard let context else {
            running.insert(operation, isPrefetch: isPrefetch)
            return end(operation, .failure(ImageLoaderGroup.error(forUnloadable: operation.request.url)))
        }
        if queriesMemory, let image = pipeline.imageInMemory(for: context) {
            operation.recorder.note(.memory, pipeline.memoryAnswered)
            finish(operation, image, context, pipeline, mayBlock: mayBlock, isPrefetch: isPrefetch)
        } else if mayBlock, context.request.options.contains(.queryDiskSync),
            let response = pipeline.responseFromDisk(for: context, trace: operation.recorder)
        {
            end(operation, .success(response))
        } else {
            running.insert(operation, isPrefetch: isPrefetch)
            startLater(operation, context, pipeline)
        }
    }

    /// Returns what may refuse a load after the caches have missed; `nil` if nothing can.
    private func veto(against request: WebImageRequest) -> (@Sendable () -> WebImageError?)? {
        let shouldLoad = configuration.shouldLoad
        guard request.respectsBlockList || shouldLoad != nil else { return nil }
        return { [blockList] in
            if request.respectsBlockList, let code = blockList.code(for: request.url) {
                return .blocked(reason: .failedBefore(code: code), url: request.address.bareURL)
            }
            let isAllowed = shouldLoad?(request) ?? true
            return isAllowed ? nil : .blocked(reason: .hook, url: request.address.bareURL)
        }
    }

    private func startLater(_ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline) {
        let options = context.request.options
        if options.contains(.continueInBackground),
            let begin = configuration.beginBackgroundTask ?? standardBackgroundTask.withLock({ $0 })
        {
            let end = begin { [weak operation] in operation?.cancel() }
            operation.whenEnded(end)
        }
        running.start(operation) { [self] in join(operation, context, pipeline) }
    }

    private func join(_ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline) {
        configuration.log?(.debug) { "Started \(context.displayURL)" }
        guard let load = lowDataLoad(of: context, pipeline) else { return joinImage(operation, context, pipeline) }
        @Sendable func loadSmall() {
            operation.recorder.note(.transfer, .lowData)
            joinImage(operation, load.small, pipeline)
        }
        guard let stored = load.stored else { return loadSmall() }
        joinImage(operation, stored, pipeline, onMiss: loadSmall)
    }

    /// - Parameter onMiss: called instead of ending the operation if no cache has the image.
    private func joinImage(
        _ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline,
        onMiss: (@Sendable () -> Void)? = nil
    ) {
        // Attached before the miss attaches another task.
        let deferred = onMiss == nil ? nil : DeferredTask()
        if let deferred { operation.attach(deferred) }
        // Joined first, so that it precedes the image in every queue where both wait.
        let lowResolution = joinLowResolution(operation, context, pipeline)
        let task = pipeline.join(context, veto: veto(against: context.request)) { [self] event in
            switch event {
            case .news(.trace(let trace)): operation.recorder.include(trace)
            case .news(.progress(let progress)): operation.report(progress)
            case .news(.activity(let activity)): show(activity, of: context)
            case .news(.attempts(let attempts)): operation.report(attempts)
            case .news(.body): break
            case .news(.decoding): operation.noteDecoding()
            case .provisional(let response, let number): operation.report(response.image, number: number)
            case .finished(let result):
                switch result.mapError({ $0.concerning(context.request.address.bareURL) }) {
                case .success(let response): endWhenStored(operation, response, context, pipeline)
                case .failure(let error) where onMiss != nil && error != .cancelled: onMiss?()
                case .failure(let error): end(operation, .failure(error), of: context.request)
                }
            }
        }
        if let deferred {
            if let task { deferred.attach(task) }
            return
        }
        switch (task, lowResolution) {
        case (let task?, let lowResolution?): operation.attach(TaskPair(first: task, second: lowResolution))
        case (let task?, nil): operation.attach(task)
        case (nil, _): break
        }
    }

    /// Counts the attempt in the manager's network activity, if the request requires it.
    private func show(_ activity: LoaderActivity, of context: LoadContext) {
        guard context.request.options.contains(.showNetworkActivity), context.mayUseNetwork else { return }
        activity.count(in: configuration.networkActivity)
    }

    /// Loads the low-resolution image, to show until there is a better one.
    private func joinLowResolution(
        _ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline
    ) -> (any LoaderTask)? {
        guard !context.request.hasStandardDetails, let url = context.request.lowResolutionURL else { return nil }
        var request = context.request(forReplacement: url)
        request.options.subtract(WebImageOptions.allPreviews.union(.ignoreDecoding))
        guard let lowContext = pipeline.context(for: request) else { return nil }
        let task = pipeline.join(lowContext, veto: veto(against: request)) { [self] event in
            switch event {
            case .news(.activity(let activity)): show(activity, of: lowContext)
            // Every preview of the image itself has a higher number.
            case .finished(.success(let response)): operation.report(response.image, number: 0)
            default: break
            }
        }
        if let task { operation.whenEnded { task.cancel() } }
        return task
    }

    // MARK: Results

    /// Ends with an image from memory, and with its bytes if the request needs them.
    private func finish(
        _ operation: WebImageOperation, _ image: Image, _ context: LoadContext, _ pipeline: Pipeline, mayBlock: Bool,
        isPrefetch: Bool
    ) {
        var response = WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)
        response.data = pipeline.bytesAtOnce(of: image, context, mayBlock: mayBlock)
        guard !pipeline.canEndAtOnce(context, mayBlock: mayBlock) else { return end(operation, .success(response)) }
        running.insert(operation, isPrefetch: isPrefetch)
        guard context.wantsBytesOfMemory, response.data == nil else {
            return endWhenStored(operation, response, context, pipeline)
        }
        let task = pipeline.readBytes(of: image, context, priority: operation.priority) { [self, response] data in
            var response = response
            response.data = data
            endWhenStored(operation, response, context, pipeline)
        }
        if let task { operation.attach(task) }
    }

    /// Ends with `response`; with ``WebImageOptions/waitForStore``, when everything is stored.
    private func endWhenStored(
        _ operation: WebImageOperation, _ response: WebImageResponse, _ context: LoadContext, _ pipeline: Pipeline
    ) {
        guard context.request.options.contains(.waitForStore) else {
            return end(operation, .success(response), of: context.request)
        }
        pipeline.whenStored(response) { [self] in end(operation, .success(response), of: context.request) }
    }

    /// - Parameter request: the one that was loaded; `nil` for that of the operation.
    private func end(
        _ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>,
        of request: WebImageRequest? = nil
    ) {
        note(result, of: request ?? operation.request)
        operation.finish(result)
    }

    /// Returns the image in memory, for callers that need no operation. A hit counts as a load; after a miss the load
    /// follows.
    ///
    /// - Parameter request: from ``prepared(_:)``.
    func imageAtOnce(for request: WebImageRequest, _ pipeline: Pipeline, _ context: LoadContext) -> Image? {
        guard let image = pipeline.imageInMemory(for: context) else { return nil }
        note(WebImageResponse(image: image, url: request.url, origin: .memoryCache), to: request, pipeline)
        return image
    }

    /// A request with what has been found out about it, so that a load that follows need not find it out again.
    public struct PreparedRequest: Sendable {
        fileprivate let request: WebImageRequest
        fileprivate let pipeline: Pipeline
        /// `nil` if no loader loads its URL.
        fileprivate let context: LoadContext?
        /// Whether memory has the image.
        fileprivate let isInMemory: Bool
    }

    /// The answer that a view can show before it starts a load.
    public enum AnswerAtOnce: Sendable {
        /// The load has ended.
        case end(WebImageResponse)
        /// The image in memory. The response needs more, which is loaded.
        case image(Image, PreparedRequest)
        /// There is nothing yet.
        case none(PreparedRequest)
    }

    /// Like ``cachedImage(for:)``, for a view, which loads the image after a miss: both count as one request.
    ///
    /// ```swift
    /// let callbacks = WebImageOperation.Callbacks(
    ///     DispatchQueue.main, completion: { result in if case .success(let response) = result { show(response.image) } })
    /// switch manager.answerAtOnce(to: WebImageRequest(url)) {
    /// case .end(let response): show(response.image)
    /// case .image(let image, let prepared):
    ///     show(image)
    ///     _ = manager.load(prepared, callbacks)
    /// case .none(let prepared): _ = manager.load(prepared, callbacks)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: the view's.
    ///   - isRepeated: whether the view has started the load before, and waited since.
    public func answerAtOnce(to request: WebImageRequest, isRepeated: Bool = false) -> AnswerAtOnce {
        let request = prepared(request)
        let pipeline = pipelines.pipeline(for: request)
        func miss(_ context: LoadContext?) -> AnswerAtOnce {
            .none(PreparedRequest(request: request, pipeline: pipeline, context: context, isInMemory: false))
        }
        if request.isFoundByKey, let loader = pipeline.loaders.loader(for: request.url) {
            let key = request.cacheKey
            guard
                let image = pipeline.imageInMemory(
                    for: request, key: key, counting: .init(hits: true, misses: !isRepeated))
            else {
                return miss(LoadContext(request: request, loader: loader, key: key))
            }
            return .end(
                note(WebImageResponse(image: image, url: request.url, origin: .memoryCacheFast), to: request, pipeline))
        }
        guard let context = pipeline.context(for: request) else { return miss(nil) }
        let canEnd = pipeline.canEndAtOnce(context, mayBlock: true)
        let counting = LookUpCount(hits: canEnd, misses: !isRepeated)
        if let image = pipeline.imageInMemory(for: context, counting: counting) {
            guard canEnd else {
                return .image(
                    image, PreparedRequest(request: request, pipeline: pipeline, context: context, isInMemory: true))
            }
            var response = WebImageResponse(image: image, url: request.url, origin: .memoryCacheFast)
            response.data = pipeline.bytesAtOnce(of: image, context, mayBlock: true)
            return .end(note(response, to: request, pipeline))
        }
        guard request.options.contains(.queryDiskSync), let response = pipeline.responseFromDisk(for: context) else {
            return miss(context)
        }
        return .end(note(response, to: request, pipeline))
    }

    /// Loads what ``answerAtOnce(to:isRepeated:)`` did not have. Never blocks.
    ///
    /// - Parameters:
    ///   - prepared: of that answer.
    ///   - callbacks: the handlers, and the queue that they run on.
    public func load(_ prepared: PreparedRequest, _ callbacks: WebImageOperation.Callbacks) -> WebImageOperation {
        let (pipeline, context) = (prepared.pipeline, prepared.context)
        let operation = operation(prepared.request, pipeline, context, callbacks)
        begin(operation, pipeline, context, queriesMemory: prepared.isInMemory)
        return operation
    }

    /// Counts a response without an operation, and returns it with the request's own values.
    @discardableResult
    private func note(
        _ response: WebImageResponse, to request: WebImageRequest, _ pipeline: Pipeline
    ) -> WebImageResponse {
        var response = response
        if !request.hasStandardDetails { response.userInfo = request.userInfo }
        let result = Result<WebImageResponse, WebImageError>.success(response)
        pipeline.counters.change { counters in
            counters.requests += 1
            counters.count(result)
        }
        note(result, of: request)
        configuration.didAnswer?(response)
        return response
    }

    private func note(_ result: Result<WebImageResponse, WebImageError>, of request: WebImageRequest) {
        switch result {
        case .success(let response):
            if response.origin == .remote { blockList.remove(request.url) }
            configuration.log?(response.origin == .remote ? .info : .debug) {
                "Loaded \(request.displayURL) (\(response.origin))"
            }
        case .failure(let error):
            note(error, of: request)
            configuration.log?(error.isLasting ? .error : .warning) {
                "Failed: \(error.description)"
            }
        }
    }

    private func note(_ error: WebImageError, of request: WebImageRequest) {
        guard request.respectsBlockList, error != .cancelled else { return }
        if case .blocked(.failedBefore, _) = error { return }
        if configuration.shouldBlock?(request.url, error) ?? error.countsAgainstURL(of: request) {
            blockList.add(request.url, error)
        }
    }
}

/// Two tasks that are cancelled and reprioritized together.
private struct TaskPair: LoaderTask {
    let first: any LoaderTask
    let second: any LoaderTask

    func cancel() {
        first.cancel()
        second.cancel()
    }

    func setPriority(_ priority: LoadPriority) {
        first.setPriority(priority)
        second.setPriority(priority)
    }
}

extension LoadContext {
    var displayURL: String { request.displayURL }
}

extension WebImageRequest {
    /// The URL for messages: without credentials, and not too long.
    var displayURL: String { String(address.bareURL.absoluteString.prefix(200)) }
}

extension WebImageManager {
    /// Returns the cache key of a request, including everything that the manager adds to it.
    public func cacheKey(for request: WebImageRequest) -> ImageCacheKey { prepared(request).cacheKey }

    /// Returns the request after ``Configuration/optionsProcessor``, with the manager's harmless headers.
    func prepared(_ request: WebImageRequest) -> WebImageRequest {
        var request = request
        configuration.optionsProcessor?(&request)
        guard let details = request.box?.details, !details.headers.isEmpty, details.harmlessHeaders == nil,
            configuration.harmlessHeaders != .standard
        else { return request }
        request.harmlessHeaders = configuration.harmlessHeaders
        return request
    }
}
