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
    ///   - objection: asked before a loader is, once the caches have missed; see ``SharedWork``.
    func join(
        _ context: LoadContext, priority: LoadPriority? = nil, wantsResult: Bool = true, trace: TraceRecorder? = nil,
        objection: SharedWork<WebImageResponse>.Objection? = nil,
        handler: @escaping SharedWork<WebImageResponse>.Handler
    ) -> (any WorkStep)? {
        let key = PictureKey(
            variant: context.key.variant.map(KeyText.init), bytes: context.bytesKey(sources: context.byteSources),
            manner: context.manner)
        let priority = priority ?? context.request.priority
        let wantsResult = wantsResult && context.storesInMemory
        return pictures.join(
            key, priority: priority, wantsResult: wantsResult, trace: trace, objection: objection, handler: handler
        ) { work in
            // The work this request would have joined may have ended since the caller looked.
            if let image = imageInMemory(for: context, counting: []) {
                work.trace.note(.memory, .memoryAnswered)
                var response = WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)
                response.expiration = expirationInMemory(for: context)
                return work.finish(.success(response))
            }
            let preview = Preview()
            if let image = previewInMemory(for: context) {
                let response = WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)
                work.trace.note(.memory, .memoryShown)
                preview.show(response)
                work.report(provisional: response)
            }
            if !context.request.hasStandardDetails, context.queriesVariantOnDisk, cache.disk != nil {
                readVariant(work, context, preview)
            } else {
                make(work, context, preview)
            }
        }
    }

    /// Makes a picture that is in no cache.
    func make(_ work: SharedWork<WebImageResponse>, _ context: LoadContext, _ preview: Preview) {
        if let (processor, input) = context.lastStep {
            process(work, context, with: processor, input: input, preview)
        } else if !reuse(work, context, preview) {
            load(work, context, from: context.byteSources, preview)
        }
    }

    /// The image in memory, if the request lets memory answer.
    ///
    /// - Parameter counting: what memory's statistics learn of it; a request counts once, however often it looks.
    func imageInMemory(for context: LoadContext, counting: ImageCache.LookUpCount = .all) -> Image? {
        candidateInMemory(for: context, counting: counting) { mayAnswer($0, context) }
    }

    /// Until when memory keeps what it has for the request; `nil` for no certain time.
    private func expirationInMemory(for context: LoadContext) -> CacheExpiration? {
        cache.memory.expiration(for: context.key) ?? cache.memory.expiration(for: context.key.withAllFrames)
    }

    /// The picture in memory that will do until the server has been asked.
    private func previewInMemory(for context: LoadContext) -> Image? {
        guard [.http, .refresh].contains(context.request.cachePolicy),
            let image = candidateInMemory(for: context, counting: [])
        else { return nil }
        if case .serveAndRevalidate = decision(on: image.provenance as? ResponseRecord, context) { return image }
        return nil
    }

    /// What memory has for the request, whatever its policy makes of that.
    private func candidateInMemory(
        for context: LoadContext, counting: ImageCache.LookUpCount, where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        context.queriesMemory ? latestInMemory(for: context, counting: counting, where: isUsable) : nil
    }

    /// What memory has, also for a request that does not ask it.
    func latestInMemory(
        for context: LoadContext, counting: ImageCache.LookUpCount, where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        // What the first frame of is wanted may be there whole, under the key without it.
        if context.request.options.contains(.firstFrameOnly) {
            return cache.image(
                inMemoryFor: context.key.withAllFrames, allowsAnimated: false, counting: counting, where: isUsable)
        }
        if context.request.options.contains(.matchAnimatedKind) {
            return cache.image(
                inMemoryFor: context.key, allowsAnimated: true, counting: counting, where: isUsable)
        }
        return cache.image(
            inMemoryFor: context.key, allowsAnimated: cache.configuration.allowsAnimated, counting: counting,
            where: isUsable)
    }

    func load(
        _ work: SharedWork<WebImageResponse>, _ context: LoadContext, from sources: ByteSources, _ preview: Preview
    ) {
        let watch = cache.watch(context.key)
        let previews = makePreviews(for: work, context, after: preview)
        work.run { priority in
            joinBytes(
                for: context, sources: sources, priority: priority, trace: work.trace,
                objection: { work.objectionToLoading() }
            ) { [self] event in
                switch event {
                case .progress(let progress):
                    previews?.note(progress)
                    work.report(progress)
                case .loading(let activity): work.report(activity)
                case .attempts(let attempts): work.report(attempts)
                case .bytes(let partialBody): previews?.show(partialBody)
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
        // A stand-in shows nothing.
        guard !context.request.options.contains(.ignoreDecoding),
            preview.begin(with: bytes.record, number: number)
        else { return }
        work.runBeside { priority in
            decode(bytes, for: work, context, watch, priority: priority) { [self] result in
                switch result {
                case .success(let response):
                    // Before it is noted: the end must not call unchanged what nobody was shown.
                    work.report(provisional: response)
                    let isEnd = preview.finishMaking(response)
                    if isEnd { work.finish(.success(response.unchanged)) }
                case .failure(let error):
                    // It may have been overtaken by the end, which then decodes by itself.
                    if preview.giveUp() { recover(from: error, bytes, work, context) }
                }
                preview.goOn()
            }
        }
    }

    private func finish(
        with bytes: LoadedBytes, _ work: SharedWork<WebImageResponse>, _ context: LoadContext,
        _ watch: ImageCache.Watch, _ preview: Preview
    ) {
        switch preview.end(with: bytes.record) {
        case .made(let response): work.finish(.success(response))
        case .awaited: break
        case .other:
            work.run { priority in
                decode(bytes, for: work, context, watch, priority: priority) { [self] result in
                    if case .failure(let error) = result {
                        recover(from: error, bytes, work, context)
                    } else {
                        work.finish(result)
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
        let damage = bytes.origin == .diskCache ? .refuse : context.request.box?.details.damage ?? self.damage
        let options = context.decodingOptions(self, damage: damage, cancellation: cancellation)
        let item = decodingQueue.submit(priority: priority) { [self] in
            let start = ContinuousClock.now
            do throws(WebImageError) {
                var (image, info) = try picture(of: bytes, context, options: options)
                try cancellation.check()
                work.trace.note(.decode, since: start, info.map { .notDecoded($0) } ?? .decoded(image))
                if context.key.variant == nil { bytes.stored?.describe(&image) }
                image.provenance = bytes.record
                store(image, bytes, context, watch, work)
                var response = WebImageResponse(
                    image: image, url: context.request.url, origin: bytes.origin, data: bytes.data,
                    metrics: bytes.metrics)
                response.info = info
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
        if context.isForPart { return }
        // What was not decoded is as whole as it can be told to be.
        guard !image.isPartial || context.request.options.contains(.ignoreDecoding) else { return }
        let kept = pictureToKeep(image, context, isWanted: work.isResultWanted && bytes.isForMemory)
        if let stored = bytes.stored {
            // They may be old by now: somebody has stored something newer, or removed them.
            if let kept { cache.promote(kept, for: context.key, from: stored, since: watch) }
        } else {
            let change = bytes.claimArrival().flatMap { admit(bytes, $0, as: image, context, work.trace) }
            if originals === cache {
                cache.storeLoaded(kept, original: change, for: context.key)
            } else {
                if let change { originals.apply(change, for: context.key) }
                cache.storeLoaded(kept, original: nil, for: context.key)
            }
        }
        noteVariant(kept, context)
        storeVariant(image, context, expiration: bytes.stored?.expiration)
    }

    /// Takes a new answer in: what it replaces is out of date.
    ///
    /// - Parameter image: what was made of it; `nil` where it need not be a picture.
    /// - Returns: what it makes of the disk's copy. It may block on the disk, where Vary tells several answers apart.
    func admit(
        _ bytes: LoadedBytes, _ arrival: Arrival, as image: Image?, _ context: LoadContext, _ trace: TraceRecorder
    ) -> ImageCache.OriginalChange? {
        adopt(bytes.record, source: context.key.source, requestHeaders: arrival.requestHeaders)
        guard arrival.disk != .none else { return nil }
        if case .forgets(let others) = arrival.disk { return .removal(of: context.key, withOthers: others) }
        let rewritten = image.flatMap { bytesInstead(of: bytes.data, of: $0, context) }
        let data = rewritten ?? bytes.data
        var response = bytes.record.response
        response?.isRewritten = rewritten != nil
        if !data.isEmpty { trace.note(.store, .stored(byteCount: data.count)) }
        if arrival.disk == .keepsBesideOthers, let response, let disk = originals.disk {
            let placement = disk.placement(
                of: response, for: context.key.original.description, requestHeaders: arrival.requestHeaders)
            return ImageCache.OriginalChange(placement, data: data)
        }
        return ImageCache.OriginalChange((data, response.map { ResponseMetadata(response: $0).encoded }))
    }

    /// What is damaged in the disk cache is as good as missing; what a loader brought is the request's failure.
    private func recover(
        from error: WebImageError, _ bytes: LoadedBytes, _ work: SharedWork<WebImageResponse>, _ context: LoadContext
    ) {
        switch error {
        case .decoding, .unrecognizedFormat:
            guard let stored = bytes.stored else { break }
            originals.discard(stored, because: error)
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
