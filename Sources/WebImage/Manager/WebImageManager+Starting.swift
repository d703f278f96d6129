import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

extension WebImageManager {
    /// Who starts a load.
    struct StartManner {
        /// Whether the thread may wait for the disk: none of Swift's cooperative ones.
        var mayBlock = false
        /// Whether nobody waits for the picture yet.
        var isPrefetch = false
    }

    /// - Parameter request: as ``prepared(_:)`` makes it.
    func start(
        _ request: WebImageRequest, _ callbacks: WebImageOperation.Callbacks, manner: StartManner
    ) -> WebImageOperation {
        let pipeline = pipelines.pipeline(for: request)
        let context = pipeline.context(for: request)
        let operation = WebImageOperation(
            request: request, key: context?.key ?? request.cacheKey, cache: pipeline.cache, callbacks,
            counters: pipeline.counters, didFinish: configuration.hooks.didFinish)
        pipeline.counters.change { $0.requests += 1 }
        guard let context else {
            running.insert(operation, isPrefetch: manner.isPrefetch)
            end(operation, .failure(ImageLoaderGroup.error(forUnloadable: request.url)), pipeline)
            return operation
        }
        if let image = pipeline.imageInMemory(for: context) {
            operation.recorder.note(.memory, .memoryAnswered)
            finish(operation, image, context, pipeline, manner)
        } else if manner.mayBlock, request.options.contains(.queryDiskSync),
            let response = pipeline.responseFromDisk(for: context, trace: operation.recorder)
        {
            end(operation, .success(response), pipeline)
        } else {
            running.insert(operation, isPrefetch: manner.isPrefetch)
            startLater(operation, context, pipeline)
        }
        return operation
    }

    /// What may keep a request that no cache has answered from being loaded; `nil` where nothing can.
    private func objection(to request: WebImageRequest) -> (@Sendable () -> WebImageError?)? {
        let mindsBlockList =
            request.options.contains(.ignoreFailedURL) && !request.options.contains(.retryFailed)
        let shouldLoad = configuration.hooks.shouldLoad
        guard mindsBlockList || shouldLoad != nil else { return nil }
        return { [blockList] in
            if mindsBlockList, let code = blockList.code(for: request.url) {
                return .blocked(url: request.url.separatedFromUserInfo.url, cause: .failedBefore(code: code))
            }
            let isAllowed = shouldLoad?(request) ?? true
            return isAllowed ? nil : .requestRefused(url: request.url.separatedFromUserInfo.url)
        }
    }

    private func startLater(_ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline) {
        let options = context.request.options
        if options.contains(.continueInBackground),
            let begin = configuration.hooks.beginBackgroundTask ?? Hooks.standardBackgroundTask.withLock({ $0 })
        {
            let end = begin { [weak operation] in operation?.cancel() }
            operation.whenEnded(end)
        }
        running.start(operation) { [self] in join(operation, context, pipeline) }
    }

    private func join(_ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline) {
        configuration.log.write(.debug) { "Started \(context.addressForPeople)" }
        // First in every queue where both have to wait.
        let lowResolution = joinLowResolution(operation, context, pipeline)
        let step = pipeline.join(
            context, trace: operation.recorder, objection: objection(to: context.request)
        ) { [self] event in
            switch event {
            case .progress(let progress): operation.report(progress)
            case .loading(let activity): show(activity, of: context)
            case .attempts(let attempts): operation.report(attempts)
            case .bytes: break
            case .provisional(let response, let number): operation.report(response.image, number: number)
            case .finished(let result):
                if case .success = result, context.request.options.contains(.waitForStore) {
                    pipeline.whenStored(context) { [self] in end(operation, result, pipeline) }
                } else {
                    end(operation, result, pipeline)
                }
            }
        }
        switch (step, lowResolution) {
        case (let step?, let lowResolution?): operation.attach(StepPair(first: step, second: lowResolution))
        case (let step?, nil): operation.attach(step)
        case (nil, _): break
        }
    }

    /// Counts the attempt at the loader if the request asks for it.
    private func show(_ activity: LoaderActivity, of context: LoadContext) {
        guard context.request.options.contains(.showNetworkActivity), context.mayUseNetwork else { return }
        activity.count(in: configuration.networkActivity)
    }

    /// Loads the picture with fewer bytes, to be seen until something better is there.
    private func joinLowResolution(
        _ operation: WebImageOperation, _ context: LoadContext, _ pipeline: Pipeline
    ) -> (any WorkStep)? {
        guard !context.request.hasStandardDetails, let url = context.request.lowResolutionURL else { return nil }
        // Another server is shown as little as one of the alternatives.
        let wanted = context.loaderRequest.alternative(url)
        var request = context.request
        request.url = url
        request.options.subtract([.progressive, .progressiveBlur, .ignoreDecoding])
        request.changeDetails { details in
            details.headers = configuration.headersFilter?(url, wanted.headers) ?? wanted.headers
            details.credential = wanted.credential
            details.isForAnotherOrigin = wanted.isForAnotherOrigin
            details.lowResolutionURL = nil
            details.provider = nil
            // They have the picture, not this one.
            details.alternatives = []
        }
        guard let lowContext = pipeline.context(for: request) else { return nil }
        let step = pipeline.join(lowContext, objection: objection(to: request)) { [self] event in
            switch event {
            case .loading(let activity): show(activity, of: lowContext)
            // Every preview of the picture itself has a higher number.
            case .finished(.success(let response)): operation.report(response.image, number: 0)
            default: break
            }
        }
        if let step { operation.whenEnded { step.cancel() } }
        return step
    }

    // MARK: Ends

    /// Ends with a picture from memory, and with its file's bytes if those are wanted.
    private func finish(
        _ operation: WebImageOperation, _ image: Image, _ context: LoadContext, _ pipeline: Pipeline,
        _ manner: StartManner
    ) {
        var response = WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)
        guard context.request.options.wantsMemoryData else {
            return end(operation, .success(response), pipeline)
        }
        response.data = image.data
        if response.data != nil {
            end(operation, .success(response), pipeline)
        } else if manner.mayBlock, context.request.options.contains(.queryMemoryDataSync) {
            let stored = pipeline.originals.cachedOriginal(of: context.key)
            response.data = pipeline.bytes(of: image, from: stored, context)
            end(operation, .success(response), pipeline)
        } else {
            running.insert(operation, isPrefetch: manner.isPrefetch)
            let item = pipeline.originals.readOriginal(of: context.key, priority: operation.priority) {
                [self, response] stored in
                var response = response
                response.data = pipeline.bytes(of: image, from: stored, context)
                end(operation, .success(response), pipeline)
            }
            if let item {
                operation.attach(QueuedStep(item: item))
            } else {
                end(operation, .success(response), pipeline)
            }
        }
    }

    private func end(
        _ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>, _ pipeline: Pipeline
    ) {
        note(result, of: operation.request)
        operation.finish(result)
    }

    /// The image in memory, for who needs no operation. It counts as a load all the same; what is not there counts when it
    /// is loaded, as it is next.
    ///
    /// - Parameter request: as ``prepared(_:)`` makes it.
    func imageAtOnce(for request: WebImageRequest) -> Image? {
        // The hook gets the operation.
        guard configuration.hooks.didFinish == nil, let (pipeline, context) = place(of: request),
            let image = pipeline.imageInMemory(for: context, counting: .hits)
        else { return nil }
        return noteAnswer(image, to: request, pipeline)
    }

    /// As ``cachedImage(for:)-(WebImageRequest)``, for a view, which loads what it does not get here: one request in all.
    package func imageBeforeLoad(for request: WebImageRequest) -> Image? {
        let request = prepared(request)
        guard let (pipeline, context) = place(of: request) else { return nil }
        if let image = pipeline.imageInMemory(for: context, counting: .hits) {
            return noteAnswer(image, to: request, pipeline)
        }
        guard request.options.contains(.queryDiskSync), let response = pipeline.responseFromDisk(for: context) else {
            return nil
        }
        return noteAnswer(response.image, to: request, pipeline, origin: .diskCache)
    }

    private func noteAnswer(
        _ image: Image, to request: WebImageRequest, _ pipeline: Pipeline, origin: ImageOrigin = .memoryCache
    ) -> Image {
        let result = Result<WebImageResponse, WebImageError>.success(
            WebImageResponse(image: image, url: request.url, origin: origin))
        pipeline.counters.change { counters in
            counters.requests += 1
            counters.count(result)
        }
        note(result, of: request)
        return image
    }

    private func note(_ result: Result<WebImageResponse, WebImageError>, of request: WebImageRequest) {
        switch result {
        case .success(let response):
            if request.options.contains(.retryFailed) { blockList.remove(request.url) }
            configuration.log.write(response.origin == .remote ? .info : .debug) {
                "Loaded \(request.addressForPeople) (\(response.origin.rawValue))"
            }
        case .failure(let error):
            note(error, of: request)
            configuration.log.write(error.isLasting ? .error : .warning) {
                "Failed: \(error.description)"
            }
        }
    }

    private func note(_ error: WebImageError, of request: WebImageRequest) {
        guard request.options.contains(.ignoreFailedURL), error != .cancelled else { return }
        if case .blocked(_, .failedBefore) = error { return }
        if configuration.hooks.shouldBlock?(request.url, error) ?? error.speaksAgainstURL(of: request) {
            blockList.add(request.url, error)
        }
    }
}

/// Two steps that end together.
private struct StepPair: WorkStep {
    let first: any WorkStep
    let second: any WorkStep

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
    /// Whether another machine may be asked for the bytes, as far as the URL and the policy tell.
    var mayUseNetwork: Bool {
        !(loader is DataProvider) && !["file", "data"].contains(request.url.scheme?.lowercased())
            && byteSources.contains(.loader)
    }

    var addressForPeople: String { request.addressForPeople }
}

extension WebImageRequest {
    /// Where the picture is, without credentials, and not for pages.
    var addressForPeople: String { String(url.separatedFromUserInfo.url.absoluteString.prefix(200)) }
}
