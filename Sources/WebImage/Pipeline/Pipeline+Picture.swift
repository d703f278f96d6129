import WebImageCaching
import WebImageCoding
import WebImageCore

extension Pipeline {
    /// Joins the work for a picture, or starts it; `handler` may be called before this returns.
    ///
    /// - Parameters:
    ///   - priority: the request's own, unless said otherwise.
    ///   - wantsResult: `false` if the picture is a step to another, and is not to be kept.
    func join(
        _ context: LoadContext, priority: LoadPriority? = nil, wantsResult: Bool = true,
        handler: @escaping SharedWork<WebImageResponse>.Handler
    ) -> (any WorkStep)? {
        let key = PictureKey(
            variant: context.key.variant, bytes: context.bytesKey(sources: context.byteSources),
            manner: context.manner)
        let priority = priority ?? context.request.priority
        let wantsResult = wantsResult && context.storesInMemory
        return pictures.join(key, priority: priority, wantsResult: wantsResult, handler: handler) { work in
            // The work this request would have joined may have ended since the caller looked.
            if let image = imageInMemory(for: context) {
                work.finish(.success(WebImageResponse(image: image, url: context.request.url, origin: .memoryCache)))
            } else if !context.request.hasStandardDetails, context.queriesVariantOnDisk, cache.disk != nil {
                readVariant(work, context)
            } else {
                make(work, context)
            }
        }
    }

    /// Makes a picture that is in no cache.
    func make(_ work: SharedWork<WebImageResponse>, _ context: LoadContext) {
        if let (processor, input) = context.lastStep {
            process(work, context, with: processor, input: input)
        } else if !reuse(work, context) {
            load(work, context, from: context.byteSources)
        }
    }

    /// The picture in memory, if the request lets memory answer.
    func imageInMemory(for context: LoadContext) -> Image? {
        guard context.queriesMemory else { return nil }
        // What the first frame of is wanted may be there whole, under the key without it.
        if context.request.options.contains(.firstFrameOnly) {
            return cache.image(inMemoryFor: context.key.withAllFrames, allowsAnimated: false)
        }
        if context.request.options.contains(.matchAnimatedKind) {
            return cache.image(inMemoryFor: context.key, allowsAnimated: true)
        }
        return cache.image(inMemoryFor: context.key)
    }

    func load(_ work: SharedWork<WebImageResponse>, _ context: LoadContext, from sources: ByteSources) {
        let watch = cache.watch(context.key)
        let previews = makePreviews(for: work, context)
        work.run { priority in
            joinBytes(for: context, sources: sources, priority: priority) { [self] event in
                switch event {
                case .progress(let progress):
                    previews?.note(progress)
                    work.report(progress)
                case .bytes(let partialBody): previews?.show(partialBody)
                case .provisional: break
                case .finished(.success(let bytes)): decode(bytes, into: work, context, watch)
                case .finished(.failure(let error)): work.finish(.failure(error))
                }
            }
        }
    }

    /// - Parameter watch: of the picture's key, from before the bytes were asked for.
    private func decode(
        _ bytes: LoadedBytes, into work: SharedWork<WebImageResponse>, _ context: LoadContext, _ watch: ImageCache.Watch
    ) {
        work.run { priority in
            let cancellation = Cancellation()
            // What the disk holds was whole once: where it is not, a loader may still have the rest.
            let damage = bytes.origin == .diskCache ? .refuse : context.request.details.damage ?? self.damage
            let options = context.decodingOptions(self, damage: damage, cancellation: cancellation)
            let item = decodingQueue.submit(priority: priority) { [self] in
                do throws(WebImageError) {
                    var (image, info) = try picture(of: bytes, context, options: options)
                    try cancellation.check()
                    if context.key.variant == nil { bytes.stored?.describe(&image) }
                    store(image, bytes, context, watch, isWanted: work.isResultWanted)
                    var response = WebImageResponse(
                        image: image, url: context.request.url, origin: bytes.origin, data: bytes.data,
                        metrics: bytes.metrics)
                    response.info = info
                    response.expiration = bytes.stored?.expiration
                    work.finish(.success(response))
                } catch {
                    recover(from: error, bytes, work, context)
                }
            }
            return QueuedStep(item: item, cancellation: cancellation)
        }
    }

    /// Stored before the work ends: who comes too late to join finds it there. What is not all there is stored nowhere.
    ///
    /// - Parameter isWanted: whether memory is to have the picture too.
    private func store(
        _ image: Image, _ bytes: LoadedBytes, _ context: LoadContext, _ watch: ImageCache.Watch, isWanted: Bool
    ) {
        // What was not decoded is as whole as it can be told to be.
        guard !image.isPartial || context.request.options.contains(.ignoreDecoding) else { return }
        let kept = pictureToKeep(image, context, isWanted: isWanted)
        if let stored = bytes.stored {
            // They may be old by now: somebody has stored something newer, or removed them.
            if let kept { cache.promote(kept, for: context.key, from: stored, since: watch) }
        } else {
            let original = bytes.claimStorage() ? bytesToKeep(bytes.data, of: image, context) : nil
            if originals === cache {
                cache.storeLoaded(kept, original: original, for: context.key)
            } else {
                originals.storeLoaded(nil, original: original, for: context.key.original)
                cache.storeLoaded(kept, original: nil, for: context.key)
            }
        }
        noteVariant(kept, context)
        storeVariant(image, context, expiration: bytes.stored?.expiration)
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
            return load(work, context, from: .loader)
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
