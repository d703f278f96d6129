import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

/// The work of an image job.
///
/// ```
///  start ─► memory? ─► on disk as pixels? ─► encoded? ─► make
///  make ─┬─► with processors: image job of the input ─► process ──┐
///        ├─► larger variant in memory ─► scale down ──────────────┼─► finish
///        ├─► the request's closure ─► scale down ─────────────────┤
///        └─► bytes job ─► decode ─► store ────────────────────────┘
/// ```
final class ImageLoad: Sendable {
    let pipeline: Pipeline
    let context: LoadContext
    let job: Job<WebImageResponse, LoadNews>
    /// That of the bytes from all sources that the request allows.
    private let bytesKey: BytesJobKey
    let trace = TraceRecorder()
    /// The stored image that is shown until the server has answered.
    let preview = Preview()

    init(
        _ pipeline: Pipeline, _ context: LoadContext, _ job: Job<WebImageResponse, LoadNews>, _ bytesKey: BytesJobKey
    ) {
        self.pipeline = pipeline
        self.context = context
        self.job = job
        self.bytesKey = bytesKey
    }

    var cache: any PipelineCache { pipeline.cache }

    func start() {
        job.report(.trace(trace))
        // Another job may have stored the image since the request looked.
        if let image = pipeline.imageInMemory(for: context, counting: .none) {
            trace.note(.memory, pipeline.memoryAnswered)
            var response = response(image, .memoryCache)
            response.expiration = pipeline.expirationInMemory(for: context)
            return job.finish(.success(response))
        }
        if let image = pipeline.previewInMemory(for: context) {
            let response = response(image, .memoryCache)
            trace.note(.memory, .memoryShown)
            preview.show(response)
            job.report(provisional: response)
        }
        if pipeline.hasOneCache, context.key.variant != nil, cache.mayHavePixels, context.usesPixels {
            readPixels()
        } else {
            makeOrReadVariant()
        }
    }

    func makeOrReadVariant() {
        if !context.request.hasStandardDetails, context.queriesVariantOnDisk, cache.hasDisk {
            readVariant()
        } else {
            make()
        }
    }

    /// Makes the image from the input of its last processor, from a larger one, or from its bytes.
    func make() {
        if let (processor, input) = context.lastStep {
            process(with: processor, input: input)
        } else if !reuseLarger() {
            load(from: context.byteSources)
        }
    }

    func response(_ image: Image, _ origin: ImageOrigin, data: Data? = nil) -> WebImageResponse {
        WebImageResponse(image: image, url: context.request.url, origin: origin, data: data)
    }

    /// Passes on what the job of the stage below reports.
    func forward(_ news: LoadNews) {
        switch news {
        case .trace(let other): return trace.include(other)
        // A loader is called, also for others that need the same bytes.
        case .activity: job.allowJoining()
        case .body: return
        case .attempts, .progress, .decoding: break
        }
        job.report(news)
    }

    // MARK: Bytes

    func load(from sources: ByteSources) {
        if let provider = context.imageProvider { return callClosure(of: provider, sources) }
        let watch = cache.watch(context.key)
        let previews = context.request.options.previews.map { ArrivingPreviews(for: self, $0) }
        let key = sources == bytesKey.sources ? bytesKey : context.bytesKey(sources: sources)
        job.run { priority in
            pipeline.joinBytes(key, for: context, priority: priority, veto: { self.job.loadingVeto() }) {
                [self] event in
                switch event {
                case .news(.body(let body)): previews?.show(body)
                case .news(let news):
                    if case .progress(let progress) = news { previews?.note(progress) }
                    forward(news)
                case .provisional(let bytes, let number): show(bytes, number, watch)
                case .finished(.success(let bytes)): finish(with: bytes, watch)
                case .finished(.failure(let error)): job.finish(.failure(error))
                }
            }
        }
    }

    /// Decodes stored bytes as a preview.
    private func show(_ bytes: LoadedBytes, _ number: Int, _ watch: Watch) {
        guard !context.request.options.contains(.ignoreDecoding), preview.begin(with: bytes.record, number: number)
        else { return }
        job.runBeside { priority in
            decode(bytes, watch, priority: priority) { [self] result in
                switch result {
                case .success(let response):
                    job.report(provisional: response)
                    if preview.finishMaking(response) { job.finish(.success(response.unchanged)) }
                case .failure(let error):
                    if preview.failMaking() { recover(from: error, bytes) }
                }
                preview.update()
            }
        }
    }

    private func finish(with bytes: LoadedBytes, _ watch: Watch) {
        switch preview.end(with: bytes.record) {
        case .made(let response): job.finish(.success(response))
        case .awaited: break
        case .other:
            job.report(.decoding)
            job.run { priority in
                decode(bytes, watch, priority: priority) { [self] result in
                    if case .failure(let error) = result {
                        recover(from: error, bytes)
                    } else {
                        job.finish(result)
                    }
                }
            }
        }
    }

    // MARK: Decoding

    /// Decodes on a decoding thread, or on this one where that is quicker than changing threads.
    private func decode(
        _ bytes: LoadedBytes, _ watch: Watch, priority: LoadPriority,
        completion: @escaping @Sendable (Result<WebImageResponse, WebImageError>) -> Void
    ) -> (any LoaderTask)? {
        // Bytes of the network arrive on the thread of all transfers, and a view's load may begin on the main thread.
        let mayRunOthers = bytes.metrics == nil && !PlatformThread.isMain
        if pipeline.codecs.isQuick(toDecode: bytes.data, mayRunOthers: mayRunOthers) {
            completion(decoded(bytes, watch, priority, Cancellation()))
            return nil
        }
        return pipeline.decodingQueue.run(priority: priority) { [self] cancellation in
            completion(decoded(bytes, watch, priority, cancellation))
        }
    }

    private func decoded(
        _ bytes: LoadedBytes, _ watch: Watch, _ priority: LoadPriority, _ cancellation: Cancellation
    ) -> Result<WebImageResponse, WebImageError> {
        let start = BootTime.now
        do throws(WebImageError) {
            // Damaged bytes of a cache can be loaded again.
            let allowsDamage =
                bytes.origin != .diskCache && !bytes.isFromSharedCache
                && context.request.box?.details.allowsDamage ?? pipeline.configuration.allowsDamage
            var options = context.decodingOptions(pipeline, allowsDamage: allowsDamage, cancellation: cancellation)
            options.priority = priority
            var (image, info) = try pipeline.image(of: bytes.data, context, options: options)
            try cancellation.check()
            if !image.isPartial { for judgment in bytes.judgments { judgment.accept() } }
            trace.note(.decode, since: start, info.map { .notDecoded($0) } ?? decoded(image))
            if context.key.variant == nil { bytes.stored?.describe(&image) }
            image.provenance = bytes.record
            noteMark(of: bytes)
            var response = response(image, bytes.origin, data: bytes.data)
            response.metrics = bytes.metrics
            response.info = info
            response.expiration = bytes.stored?.expiration
            response.isForMemory = bytes.isForMemory
            response.variantStore = store(image, bytes, watch)
            return .success(response)
        } catch {
            trace.note(.decode, since: start, .failed(error))
            if error.countsAgainstBytes { for judgment in bytes.judgments { judgment.reject() } }
            return .failure(error)
        }
    }

    private func decoded(_ image: Image) -> TraceFact {
        .decoded(
            image.pixels.size, image.format, isIsolated: image.format.map(pipeline.codecs.isIsolated) ?? false)
    }

    /// Stores the image and its bytes. Returns the job that stores the variant on disk, if one does.
    private func store(_ image: Image, _ bytes: LoadedBytes, _ watch: Watch) -> Job<Bool, NoNews>? {
        if context.bypassesCaches { return nil }
        // Bytes that decode only in part are not stored.
        guard !image.isPartial || context.request.options.contains(.ignoreDecoding) else {
            bytes.unlist()
            return nil
        }
        let isWanted = job.isResultWanted && bytes.isForMemory
        let kept = pipeline.imageToKeep(image, context, isWanted: isWanted)
        if let stored = bytes.stored {
            if let kept {
                cache.insert(
                    kept, for: context.key, expiration: stored.expiration, isStored: true,
                    unlessChangedSince: [watch, stored.watch])
            }
        } else {
            let change = bytes.claimArrival().flatMap { pipeline.change(for: bytes, $0, as: image, context, trace) }
            if pipeline.hasOneCache {
                cache.storeLoaded(kept, original: change, for: context.key)
            } else {
                if let change { pipeline.originals.apply(change, for: context.key) }
                cache.storeLoaded(kept, original: nil, for: context.key)
            }
            if change != nil { bytes.unlist() }
        }
        pipeline.noteVariant(kept, context)
        // The pixels last, because a stored variant replaces earlier ones.
        defer { storePixels(kept, isRepeated: bytes.stored != nil) }
        return storeVariant(image, expiration: bytes.stored?.expiration)
    }

    /// Loads bytes again that are damaged in a cache; ends with the error otherwise.
    private func recover(from error: WebImageError, _ bytes: LoadedBytes) {
        if bytes.isFromSharedCache, error.countsAgainstBytes, context.byteSources.contains(.loader) {
            bytes.unlist()
            return ImageLoad(continuing: self).load(from: [.loader, .serverOnly])
        }
        switch error {
        // The bytes are good.
        case .decoding(_, .page, _): break
        case .decoding, .unrecognizedFormat:
            // A caller may try again at once, and then the server is contacted.
            bytes.unlist()
            guard let stored = bytes.stored else { break }
            pipeline.originals.discard(stored, because: error)
            guard context.byteSources.contains(.loader) else { break }
            // An image on display came from the damaged bytes at best: a new load shows its own.
            return ImageLoad(continuing: self).load(from: .loader)
        default:
            break
        }
        if case .unrecognizedFormat(_, let leadingBytes, _) = error {
            job.finish(.failure(.unrecognizedFormat(contentType: bytes.contentType, leadingBytes: leadingBytes)))
        } else {
            job.finish(.failure(error))
        }
    }

    // MARK: Variants on disk

    private func readVariant() {
        let start = BootTime.now
        let watch = cache.watch(context.key)
        job.run { priority in
            cache.read(context.key, priority: priority) { [self] stored in
                guard let stored else { return make() }
                record(ofVariant: stored) { [self] record in
                    guard let record else { return make() }
                    trace.note(.disk, since: start, .variantRead(byteCount: stored.data.count))
                    decodeVariant(stored, of: record, watch)
                }
            }
        }
    }

    /// Calls `completion` with the record of a variant's response; with `nil` if the variant is out of date.
    private func record(ofVariant stored: StoredImage, completion: @escaping @Sendable (ResponseRecord?) -> Void) {
        let response = stored.response
        guard case .serve = pipeline.rules(for: context).decide([response], now: pipeline.now) else {
            return completion(nil)
        }
        pipeline.originals.readAttributes(of: context.key.original) { [pipeline, context] original in
            if let original, stored.isOutOfDate(comparedTo: original) { return completion(nil) }
            completion(pipeline.record(of: response, source: context.key.source))
        }
    }

    private func decodeVariant(_ stored: StoredImage, of record: ResponseRecord, _ watch: Watch) {
        job.report(.decoding)
        job.run { priority in
            pipeline.decodingQueue.run(priority: priority) { [self] cancellation in
                let start = BootTime.now
                do throws(WebImageError) {
                    // It has its size already.
                    let limits = context.request.details.decodingLimits ?? pipeline.configuration.decodingLimits
                    var options = DecodingOptions(allowsDamage: false, limits: limits, cancellation: cancellation)
                    options.priority = priority
                    var image = try pipeline.codecs.decode(stored.data, options: options)
                    try cancellation.check()
                    trace.note(.decode, since: start, decoded(image))
                    stored.describe(&image)
                    image.provenance = record
                    if let kept = pipeline.imageToKeep(image, context, isWanted: job.isResultWanted) {
                        cache.insert(
                            kept, for: context.key, expiration: stored.expiration, isStored: true,
                            unlessChangedSince: [watch, stored.watch])
                    }
                    var response = response(image, .diskCache, data: stored.data)
                    response.expiration = stored.expiration
                    job.finish(.success(response))
                } catch {
                    trace.note(.decode, since: start, .failed(error))
                    switch error {
                    case .decoding, .unrecognizedFormat:
                        cache.discard(stored, because: error)
                        make()
                    default:
                        job.finish(.failure(error))
                    }
                }
            }
        }
    }

    /// Stores the image on disk under its own key, if the request requires it.
    func storeVariant(_ image: Image, expiration: CacheExpiration?) -> Job<Bool, NoNews>? {
        guard !context.request.hasStandardDetails, context.storesVariantOnDisk, !image.isPartial,
            image.animation == nil
        else { return nil }
        var response = (image.provenance as? ResponseRecord)?.response
        if let response, pipeline.rules(for: context).storageObstacle(to: response)?.forbidsDisk == true { return nil }
        // They are alternates of the original.
        response?.alternates = []
        let data = context.request.details.serializer?(image, nil, context.key)
        let store = Job<Bool, NoNews>()
        cache.storeVariant(
            image, data: data, for: context.key, expiration: expiration, responseMetadata: response?.encoded
        ) {
            store.finish(.success(true))
        }
        return store
    }

    /// Continues the trace of a load that found damaged bytes.
    private convenience init(continuing load: ImageLoad) {
        self.init(load.pipeline, load.context, load.job, load.bytesKey)
        load.trace.include(trace)
    }
}

extension WebImageError {
    /// Whether the bytes are no image, are damaged, or exceed the limits.
    fileprivate var countsAgainstBytes: Bool {
        switch self {
        case .decoding(_, .page, _): false
        case .decoding, .unrecognizedFormat, .limitExceeded: true
        default: false
        }
    }
}

extension StoredImage {
    /// The response, as HTTP sees it; `nil` for bytes that a program has stored.
    var response: CachedResponse? { metadata { CachedResponse(encoded: $0) } }

    /// Whether a variant was made from an earlier version of the original.
    fileprivate func isOutOfDate(comparedTo original: ImageCacheResult) -> Bool {
        switch (response, CachedResponse(encoded: original.attributes.responseMetadata)) {
        case (let response?, let newest?):
            response.bodyNumber != newest.bodyNumber && response.isOlder(than: newest)
        case (nil, nil): created < original.created ?? .distantPast
        case (_?, nil), (nil, _?): true
        }
    }
}

extension Pipeline {
    /// Decodes bytes, or, with ``WebImageOptions/ignoreDecoding``, reads their header.
    func image(
        of data: Data, _ context: LoadContext, options: DecodingOptions
    ) throws(WebImageError) -> (image: Image, info: ImageInfo?) {
        if context.request.options.contains(.ignoreDecoding) {
            let info = try codecs.info(of: data, limits: options.limits, cancellation: options.cancellation)
            try options.limits.check(info.size)
            return (try Self.placeholder(for: data, info), info)
        }
        return (try wholeImage(of: data, context, options: options), nil)
    }

    func wholeImage(
        of data: Data, _ context: LoadContext, options: DecodingOptions
    ) throws(WebImageError) -> Image {
        let image = try codecs.decode(data, options: options)
        let preloads =
            context.request.options.contains(.preloadAllFrames)
            && !context.request.options.contains(.firstFrameOnly)
        return preloads ? try image.preloadingFrames(cancellation: options.cancellation) : image
    }

    /// A transparent pixel that carries bytes which are not decoded.
    private static func placeholder(for data: Data, _ info: ImageInfo) throws(WebImageError) -> Image {
        var pixel = try MutablePixelBuffer(width: 1, height: 1)
        pixel.withUnsafeMutableBytes { bytes in _ = bytes.initializeMemory(as: UInt8.self, repeating: 0) }
        return Image(
            pixels: pixel.freeze(isOpaque: false), format: info.format, frameCount: info.frameCount, data: data,
            isPartial: true)
    }

    /// Returns how a response changes what is stored for its original.
    ///
    /// - Parameter image: the decoded image, for the request's serializer; `nil` for data.
    func change(
        for bytes: LoadedBytes, _ arrival: Arrival, as image: Image?, _ context: LoadContext, _ trace: TraceRecorder
    ) -> StoredChange? {
        if case .none = arrival.disk { bytes.record.noteUnstored(bytes.data) }
        adopt(bytes.record, source: context.key.source, requestHeaders: { arrival.requestHeaders })
        switch arrival.disk {
        case .none: return nil
        case .removes(let others): return .remove(withAlternates: others)
        case .stores, .storesBesideOthers: break
        }
        var response = bytes.record.response
        var data = bytes.data
        if let image, !context.request.hasStandardDetails, let serializer = context.request.details.serializer,
            let rewritten = serializer(image, bytes.data, context.key.original), rewritten != bytes.data
        {
            data = rewritten
            response?.isRewritten = true
        } else {
            response?.isRewritten = false
        }
        if !data.isEmpty { trace.note(.store, .stored(byteCount: data.count)) }
        guard arrival.disk == .storesBesideOthers, let response else {
            return .store(data, responseMetadata: response?.encoded)
        }
        return .storeBesideOthers(alternates: { $0.alternates { _ in false } }) { [data] stored in
            ResponsePlacement.of(response, data, among: stored, requestHeaders: arrival.requestHeaders)
        }
    }
}
