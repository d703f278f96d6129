import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

extension Pipeline {
    /// Joins the work for a picture, or starts it; `handler` may be called before this returns.
    ///
    /// - Parameters:
    ///   - priority: the request's own, unless said otherwise.
    ///   - wantsResult: `false` if the picture is a step to another, and is not to be kept.
    ///   - trace: includes what the work notes.
    func join(
        _ context: LoadContext, priority: LoadPriority? = nil, wantsResult: Bool = true, trace: TraceRecorder? = nil,
        handler: @escaping SharedWork<WebImageResponse>.Handler
    ) -> (any WorkStep)? {
        let key = PictureKey(variant: context.key.variant, bytes: context.bytesKey(sources: context.byteSources))
        let priority = priority ?? context.request.priority
        return pictures.join(
            key, priority: priority, wantsResult: wantsResult, trace: trace, handler: handler
        ) { work in
            // The work this request would have joined may have ended since the caller looked.
            if let image = imageInMemory(for: context) {
                work.trace.note(.memory, .memoryAnswered)
                return work.finish(
                    .success(WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)))
            }
            let preview = Preview()
            if let image = previewInMemory(for: context) {
                let response = WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)
                work.trace.note(.memory, .memoryShown)
                preview.show(response)
                work.report(provisional: response)
            }
            if let (processor, input) = context.lastStep {
                process(work, context, with: processor, input: input, preview)
            } else {
                load(work, context, from: context.byteSources, preview)
            }
        }
    }

    /// The picture in memory, if the request lets memory answer.
    func imageInMemory(for context: LoadContext) -> Image? {
        let policy = context.request.cachePolicy
        guard policy != .reload, let image = cache.image(inMemoryFor: context.key) else { return nil }
        // The usual case needs no look at header fields, and is to take no longer than the look-up itself.
        if policy == .cacheFirst || policy == .cacheOnly, image.provenance?.mayDependOnRequest != true { return image }
        if policy == .http, context.request.headers.isEmpty, let record = image.provenance as? ResponseRecord,
            record.isPlainlyFresh(at: now())
        {
            return image
        }
        if case .serve = decision(on: image.provenance as? ResponseRecord, context) { return image }
        return nil
    }

    /// The picture in memory that will do until the server has been asked.
    private func previewInMemory(for context: LoadContext) -> Image? {
        guard [.http, .refresh].contains(context.request.cachePolicy),
            let image = cache.image(inMemoryFor: context.key)
        else { return nil }
        if case .serveAndRevalidate = decision(on: image.provenance as? ResponseRecord, context) { return image }
        return nil
    }

    /// What the request's policy makes of what is in memory.
    private func decision(on record: ResponseRecord?, _ context: LoadContext) -> HTTPCachePolicy.Decision {
        let rules = rules(for: context, comparesHeaders: record?.mayDependOnRequest == true)
        return rules.decide([record?.response], now: now())
    }

    private func load(
        _ work: SharedWork<WebImageResponse>, _ context: LoadContext, from sources: ByteSources, _ preview: Preview
    ) {
        let watch = cache.watch(context.key)
        work.run { priority in
            joinBytes(for: context, sources: sources, priority: priority, trace: work.trace) { [self] event in
                switch event {
                case .progress(let progress): work.report(progress)
                case .attempts(let attempts): work.report(attempts)
                case .bytes: break
                case .provisional(let bytes, let number): show(bytes, number, in: work, context, watch, preview)
                case .finished(.success(let bytes)): finish(with: bytes, work, context, watch, preview)
                case .finished(.failure(let error)): work.finish(.failure(error))
                }
            }
        }
    }

    /// Decodes beside the wait for the server.
    private func show(
        _ bytes: LoadedBytes, _ number: Int, in work: SharedWork<WebImageResponse>, _ context: LoadContext,
        _ watch: ImageCache.Watch, _ preview: Preview
    ) {
        guard preview.begin(with: bytes.record, number: number) else { return }
        work.runBeside(about: number) { priority in
            decode(bytes, for: work, context, watch, priority: priority) { [self] result in
                switch result {
                case .success(let response):
                    // Before it is noted: the end must not call unchanged what nobody was shown.
                    work.report(provisional: response)
                    let isEnd = preview.finishMaking(response, with: bytes.record)
                    if isEnd { work.finish(.success(response.unchanged)) }
                case .failure(let error):
                    // It may have been overtaken by the end, which then decodes by itself.
                    if preview.giveUp(bytes.record) { recover(from: error, bytes, work, context) }
                }
            }
        }
    }

    private func finish(
        with bytes: LoadedBytes, _ work: SharedWork<WebImageResponse>, _ context: LoadContext,
        _ watch: ImageCache.Watch,
        _ preview: Preview
    ) {
        switch preview.end(with: bytes.record) {
        case .unchanged(let response): work.finish(.success(response.unchanged))
        case .awaited: break
        case .other:
            work.run { priority in
                decode(bytes, for: work, context, watch, priority: priority) { [self] result in
                    switch result {
                    case .success(let response): work.finish(.success(response))
                    case .failure(let error): recover(from: error, bytes, work, context)
                    }
                }
            }
        }
    }

    /// - Parameters:
    ///   - watch: of the picture's key, from before the bytes were asked for.
    ///   - completion: called on a thread for decoding.
    private func decode(
        _ bytes: LoadedBytes, for work: SharedWork<WebImageResponse>, _ context: LoadContext, _ watch: ImageCache.Watch,
        priority: LoadPriority, completion: @escaping @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    ) -> any WorkStep {
        let cancellation = Cancellation()
        // What the disk holds was whole once: where it is not, a loader may still have the rest.
        let damage = bytes.origin == .diskCache ? .refuse : self.damage
        let options = DecodingOptions(
            thumbnail: context.request.thumbnail, scale: context.request.scale, damage: damage,
            limits: decodingLimits, cancellation: cancellation)
        let item = decodingQueue.submit(priority: priority) { [self] in
            let start = ContinuousClock.now
            do throws(WebImageError) {
                var image = try codecs.decode(bytes.data, options: options)
                try cancellation.check()
                work.trace.note(
                    .decode, since: start,
                    .decoded(PixelSize(width: image.width, height: image.height), image.format))
                if context.key.variant == nil { bytes.stored?.describe(&image) }
                image.provenance = bytes.record
                store(image, bytes, context, watch, work)
                var response = WebImageResponse(
                    image: image, url: context.request.url, origin: bytes.origin, data: bytes.data,
                    metrics: bytes.metrics)
                response.expiration = bytes.stored?.expiration
                response.isForMemory = bytes.isForMemory
                completion(.success(response))
            } catch {
                work.trace.note(.decode, since: start, .failed(error))
                completion(.failure(error))
            }
        }
        return QueuedStep(item: item, cancellation: cancellation)
    }

    /// Stored before the work ends: who comes too late to join finds it there. What is not all there is stored nowhere.
    private func store(
        _ image: Image, _ bytes: LoadedBytes, _ context: LoadContext, _ watch: ImageCache.Watch,
        _ work: SharedWork<WebImageResponse>
    ) {
        guard !image.isPartial else { return }
        if let stored = bytes.stored {
            // They may be old by now: somebody has stored something newer, or removed them.
            if work.isResultWanted { cache.promote(image, for: context.key, from: stored, since: watch) }
        } else {
            let change = bytes.claimArrival().flatMap { admit(bytes, $0, context, work.trace) }
            let isForMemory = work.isResultWanted && bytes.isForMemory
            cache.storeLoaded(isForMemory ? image : nil, original: change, for: context.key)
        }
    }

    /// Takes a new answer in: what it replaces is out of date.
    ///
    /// - Returns: what it makes of the disk's copy. It may block on the disk, where Vary tells several answers apart.
    func admit(
        _ bytes: LoadedBytes, _ arrival: Arrival, _ context: LoadContext, _ trace: TraceRecorder
    ) -> ImageCache.OriginalChange? {
        cache.provenances.adopt(bytes.record, source: context.key.source, requestHeaders: arrival.requestHeaders)
        let response = bytes.record.response
        if !bytes.data.isEmpty, arrival.disk == .keeps || arrival.disk == .keepsBesideOthers {
            trace.note(.store, .stored(byteCount: bytes.data.count))
        }
        switch arrival.disk {
        case .none: return nil
        case .forgets(let others): return .removal(of: context.key, withOthers: others)
        case .keepsBesideOthers:
            guard let response, let disk = cache.disk else { fallthrough }
            let placement = disk.placement(
                of: response, for: context.key.original.description, requestHeaders: arrival.requestHeaders)
            return ImageCache.OriginalChange(placement, data: bytes.data)
        case .keeps:
            let metadata = response.map { ResponseMetadata(response: $0).encoded }
            return ImageCache.OriginalChange((bytes.data, metadata))
        }
    }

    /// What is damaged in the disk cache is as good as missing; what a loader brought is the request's failure.
    private func recover(
        from error: WebImageError, _ bytes: LoadedBytes, _ work: SharedWork<WebImageResponse>, _ context: LoadContext
    ) {
        switch error {
        case .decoding, .unrecognizedFormat:
            guard let stored = bytes.stored else { break }
            cache.discard(stored, because: error)
            guard context.byteSources.contains(.loader) else { break }
            return load(work, context, from: .loader, Preview())
        default:
            break
        }
        if case .unrecognizedFormat(_, let leadingBytes) = error {
            work.finish(
                .failure(.unrecognizedFormat(contentType: bytes.contentType, leadingBytes: leadingBytes)))
        } else {
            work.finish(.failure(error))
        }
    }
}

extension WebImageResponse {
    /// The same as an end that shows nothing new.
    var unchanged: Self {
        var response = self
        response.isUnchanged = true
        return response
    }
}
