import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

extension Pipeline {
    /// Joins or starts the job of a response of any kind; `handler` may be called before this returns.
    ///
    /// Requests that change something on the server are never shared.
    func joinData(
        for context: LoadContext, handler: @escaping Job<LoadedBytes, LoadNews>.Handler
    ) -> (any LoaderTask)? {
        if [.get, .head].contains(context.request.method) {
            return joinBytes(
                context.bytesKey(sources: context.byteSources), for: context, priority: context.request.priority,
                handler: handler)
        }
        let job = Job<LoadedBytes, LoadNews>()
        let subscription = job.subscribe(priority: context.request.priority, handler: handler)
        send(context, job)
        return subscription
    }

    /// Asks the loader without the cache. Afterwards what is stored of the URLs that were changed is out of date.
    private func send(_ context: LoadContext, _ job: Job<LoadedBytes, LoadNews>) {
        guard context.request.cachePolicy != .cacheOnly, context.request.cachePolicy != .offline else {
            return job.finish(.failure(.notInCache(key: context.key.source)))
        }
        let (start, trace) = (BootTime.now, TraceRecorder())
        job.report(.trace(trace))
        let url = context.request.address.bareURL
        let receiver = BodyReceiver(
            self, job, trace, url, storage: bodyStorage(for: context), history: nil
        ) { [self] answer in
            trace.note(.transfer, since: start, .answered(AnswerNote(answer, conditions: [])))
            invalidate(after: answer, to: context, trace)
            job.finish(
                answer.body.map { data in
                    LoadedBytes(
                        data, head: answer.head, metrics: answer.metrics, record: ResponseRecord(nil),
                        arrival: Arrival(disk: .none, isForMemory: false, sent: nil),
                        share: undecoded.hold(answer.isInFile ? 0 : data.count))
                })
        }
        job.run { priority in receiver.load(context.loaderRequest, with: prepared(context.loader), priority: priority) }
    }

    /// Removes what is stored of the URLs that the request's method has changed. GET and HEAD change none.
    func invalidate(after answer: LoaderAnswer, to context: LoadContext, _ trace: TraceRecorder) {
        let method = context.request.method
        guard method != .get, !method.isSafe, let head = answer.head else { return }
        let urls = Set(urlsChanged(by: method, of: context.request.url, head))
        guard !urls.isEmpty else { return }
        trace.note(.store, .invalidated(count: urls.count))
        for url in urls {
            var request = context.request
            request.url = url
            (request.method, request.body) = (.get, nil)
            var plain = WebImageRequest(url)
            plain.cacheKeyFilter = request.cacheKeyFilter
            // Responses are stored for all users, or for the sender's credentials.
            for source in Set([plain.cacheKey.source, request.cacheKey.source]) {
                supersedeAll(of: source)
                originals.apply(.remove(withAlternates: true), for: ImageCacheKey(source: source))
            }
        }
    }

    /// Returns the URLs that a response to a method that changes things invalidates. Redirects are such responses too:
    /// the usual response to a form is a 303. A response with an incomplete body counts as well.
    private func urlsChanged(by method: LoaderRequest.Method, of url: URL, _ head: LoaderResponse) -> [URL] {
        var urls: [URL] = []
        for (index, redirect) in head.redirects.enumerated() {
            urls += HTTPCachePolicy.urlsInvalidated(
                byMethod: method.name, of: index == 0 ? url : redirect.url, statusCode: redirect.statusCode,
                headers: redirect.headers)
            // From here on it is a GET.
            if redirect.statusCode == 303 || method == .post && [301, 302].contains(redirect.statusCode) {
                return urls
            }
        }
        return urls
            + HTTPCachePolicy.urlsInvalidated(
                byMethod: method.name, of: head.redirects.isEmpty ? url : head.url,
                statusCode: head.statusCode ?? 0, headers: head.headers)
    }
}

// MARK: Blocking

extension Pipeline {
    /// Makes the image from what is on disk, on this thread, which it blocks. Returns `nil` if nothing usable is there,
    /// or the disk must not be read. Damaged bytes are left to loads that do not block.
    func responseFromDisk(for context: LoadContext, trace: TraceRecorder? = nil) -> WebImageResponse? {
        guard context.queriesDisk, !context.request.options.contains(.ignoreDecoding) else { return nil }
        let start = BootTime.now
        if hasOneCache, context.key.variant != nil, cache.mayHavePixels, context.usesPixels,
            let stored = cache.blockingPixels(of: context.key), let image = image(stored, context)
        {
            trace?.note(.disk, since: start, .pixelsRead(image.pixels.size))
            return WebImageResponse(image: image, url: context.request.url, origin: .diskCache)
        }
        let watches = [cache.watch(context.key), originals.watch(context.key.original)]
        let rules = rules(for: context)
        let all = originals.blockingResponses(of: context.key) { rules.isForRequest($0) }
        guard case .serve(let index, _) = rules.decide(all.responses, now: now) else { return nil }
        let stored = all[index]
        trace?.note(
            .disk, since: start,
            .diskRead(answerCount: all.count, byteCount: stored.data.count, cache: diskName))
        let cancellation = Cancellation()
        let options = context.decodingOptions(self, allowsDamage: false, cancellation: cancellation)
        guard var image = try? wholeImage(of: stored.data, context, options: options) else { return nil }
        if context.key.variant == nil { stored.describe(&image) }
        let record = record(of: stored.response, source: context.key.source)
        for processor in context.request.processors where processor.identifier != .identity {
            guard let processed = try? process(image, with: processor, context, cancellation) else { return nil }
            image = processed
        }
        image.provenance = record
        if let kept = imageToKeep(image, context, isWanted: context.storesInMemory) {
            cache.insert(
                kept, for: context.key, expiration: stored.expiration, isStored: false, unlessChangedSince: watches)
            noteVariant(kept, context)
        }
        return WebImageResponse(image: image, url: context.request.url, origin: .diskCache, data: stored.data)
    }

    /// Reads the bytes that an image in memory was made from; `nil` if others are stored.
    func readBytes(
        of image: Image, _ context: LoadContext, priority: LoadPriority,
        completion: @escaping @Sendable (Data?) -> Void
    ) -> (any LoaderTask)? {
        let number = (image.provenance as? ResponseRecord)?.response?.bodyNumber
        return originals.readResponses(
            of: context.key, priority: priority, isEnough: { $0?.bodyNumber == number },
            completion: { completion($0.first { $0.response?.bodyNumber == number }?.data) })
    }

    /// Whether a load that memory answers can end within the call that started it: if it needs neither the end of the
    /// stores nor bytes whose read would take a task.
    ///
    /// - Parameter mayBlock: whether this thread may wait for the disk.
    func canEndAtOnce(_ context: LoadContext, mayBlock: Bool) -> Bool {
        !context.request.options.contains(.waitForStore)
            && (!context.wantsBytesOfMemory || mayBlock && readsBytesBlocking(context))
    }

    /// Returns the bytes of an image from memory, if the request needs them and they are at hand or may be read on this
    /// thread, which that blocks.
    func bytesAtOnce(of image: Image, _ context: LoadContext, mayBlock: Bool) -> Data? {
        guard context.wantsBytesOfMemory else { return nil }
        if let data = image.data { return data }
        guard mayBlock, readsBytesBlocking(context) else { return nil }
        let number = (image.provenance as? ResponseRecord)?.response?.bodyNumber
        return originals.blockingResponses(of: context.key) { $0?.bodyNumber == number }
            .first { $0.response?.bodyNumber == number }?.data
    }

    private func readsBytesBlocking(_ context: LoadContext) -> Bool {
        context.request.options.contains(.queryDiskSync) && originals.base is ImageCache
    }
}
