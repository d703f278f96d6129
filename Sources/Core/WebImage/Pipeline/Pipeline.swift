import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

/// Loads images for a manager. Requests share work at two stages:
///
/// ```
///  request ─► image job ─► memory ─► variant on disk ─► larger variant in memory ─► decode ─► process ─► store
///                │ one for each variant                                                ▲
///                └─► image job of the same request without its last processor          │
///                └─► bytes job ─► disk ─► HTTP policy ─► loader ─► body ───────────────┘
///                      one for each request to a server
/// ```
///
/// ``ImageLoad`` does the work of an image job, ``BytesLoad`` that of a bytes job.
final class Pipeline: Sendable {
    let configuration: PipelineConfiguration
    /// For images in memory, and variants on disk.
    let cache: any PipelineCache
    /// For original bytes.
    let originals: any PipelineCache
    /// Whether both are the same.
    let hasOneCache: Bool
    let loaders: ImageLoaderGroup
    let codecs: CodecRegistry
    let partialBodies: PartialBodyStore?
    let previewTiming: PreviewTiming
    let counters: PipelineCounters
    /// The sizes of images in memory.
    let variants: VariantIndex
    /// The bytes that wait to be decoded.
    let undecoded: ByteBudget
    /// Notices header fields that end caching.
    let headerVariety: HeaderVariety
    let decodingQueue = DecodingQueue.shared
    let imageJobs = JobTable<ImageJobKey, WebImageResponse, LoadNews>()
    let byteJobs = JobTable<BytesJobKey, LoadedBytes, LoadNews>()
    let unstored = UnstoredBytes()
    /// What traces say of a hit in memory. Made once, because many loads need it.
    let memoryAnswered: TraceFact
    /// The name of the disk cache in traces.
    let diskName: String?

    /// - Parameters:
    ///   - originals: the configuration's cache by default.
    ///   - other: a pipeline to share counters and, with the same cache, the sizes of images with.
    init(
        _ configuration: PipelineConfiguration, undecoded: ByteBudget = ByteBudget(),
        originals: (any ImageCaching)? = nil, previewTiming: PreviewTiming? = nil, sharing other: Pipeline? = nil
    ) {
        self.configuration = configuration
        let cache = CacheAdapter.pipelineCache(configuration.cache)
        self.cache = cache
        self.originals = originals.map(CacheAdapter.pipelineCache) ?? cache
        hasOneCache = self.originals.base === cache.base
        let (inMemory, onDisk) = (cache.base as? ImageCache, self.originals.base as? ImageCache)
        memoryAnswered = .memoryAnswered(cache: inMemory?.memory.statistics.name ?? inMemory?.name)
        diskName = onDisk?.disk?.configuration.name ?? onDisk?.name
        loaders = configuration.loaders
        codecs = configuration.codecs.isolated(by: configuration.isolation, in: configuration.isolatedDecoding)
        configuration.isolatedDecoding.prepare()
        partialBodies = configuration.resumesTransfers ? (self.originals.base as? ImageCache)?.disk?.partialBodies : nil
        self.previewTiming = previewTiming ?? PreviewTiming(interval: configuration.previewInterval)
        self.undecoded = undecoded
        counters = other?.counters ?? PipelineCounters()
        headerVariety = other?.headerVariety ?? HeaderVariety()
        let shared = other.flatMap { $0.cache.base === cache.base ? $0.variants : nil }
        variants = shared ?? VariantIndex()
    }

    var now: Date { configuration.environment.date() }

    /// Returns `nil` for a URL that no loader loads.
    func context(for request: WebImageRequest, call: LoadContext.Call? = nil) -> LoadContext? {
        var loader = loaders.loader(for: request.url)
        if !request.hasStandardDetails, let provider = request.details.provider, provider.canLoad(request.url) {
            loader = provider
        }
        return loader.map { LoadContext(request: request, loader: $0, call: call) }
    }

    // MARK: Jobs

    /// Joins or starts the job of an image.
    ///
    /// - Parameters:
    ///   - needsResult: `false` if a processor makes something else of the image.
    ///   - veto: see ``Job/loadingVeto()``.
    /// - Returns: the subscription; `nil` if the job ended within the call.
    func join(
        _ context: LoadContext, priority: LoadPriority? = nil, needsResult: Bool = true,
        veto: Job<WebImageResponse, LoadNews>.Veto? = nil,
        handler: @escaping Job<WebImageResponse, LoadNews>.Handler
    ) -> (any LoaderTask)? {
        let key = ImageJobKey(context)
        return imageJobs.join(
            key, priority: priority ?? context.request.priority,
            needsResult: needsResult && context.storesInMemory, veto: veto, handler: handler
        ) { job in
            ImageLoad(self, context, job, key.bytes).start()
        }
    }

    /// Joins or starts the job of an image's bytes.
    ///
    /// - Parameter key: of the context.
    func joinBytes(
        _ key: BytesJobKey, for context: LoadContext, priority: LoadPriority,
        veto: Job<LoadedBytes, LoadNews>.Veto? = nil,
        handler: @escaping Job<LoadedBytes, LoadNews>.Handler
    ) -> (any LoaderTask)? {
        byteJobs.join(key, priority: priority, veto: veto, handler: handler) { job in
            BytesLoad(self, job, context, key).start()
        }
    }

    /// Calls `body` when everything stored before, and the variant of a response, is on disk.
    func whenStored(_ response: WebImageResponse, _ body: @escaping @Sendable () -> Void) {
        originals.whenWritten {
            let subscription = response.variantStore?.subscribe(priority: .normal) { event in
                if case .finished = event { body() }
            }
            if subscription == nil { body() }
        }
    }
}

// MARK: Memory

extension Pipeline {
    /// Returns an image in memory that the request's cache policy accepts.
    func imageInMemory(for context: LoadContext, counting: LookUpCount = .all) -> Image? {
        guard context.queriesMemory else { return nil }
        return latestInMemory(for: context, counting: counting) { mayAnswer($0, context) }
    }

    /// Returns the image in memory for a request that is found by its key. Few images depend on more of a request.
    ///
    /// - Parameter key: the request's.
    func imageInMemory(
        for request: WebImageRequest, key: ImageCacheKey, counting: LookUpCount = .all
    ) -> Image? {
        cache.image(inMemoryFor: key, allowsAnimated: cache.holdsAnimations, counting: counting) { image in
            !image.mayDependOnRequest || context(for: request).map { mayAnswer(image, $0) } ?? false
        }
    }

    /// Returns the image in memory, regardless of the cache policy.
    func latestInMemory(
        for context: LoadContext, counting: LookUpCount, where isUsable: (Image) -> Bool = { _ in true }
    ) -> Image? {
        if context.request.options.contains(.firstFrameOnly) {
            return cache.image(
                inMemoryFor: context.key.withAllFrames, allowsAnimated: false, counting: counting, where: isUsable)
        }
        let allowsAnimated = context.request.options.contains(.matchAnimatedKind) || cache.holdsAnimations
        return cache.image(
            inMemoryFor: context.key, allowsAnimated: allowsAnimated, counting: counting, where: isUsable)
    }

    /// Returns a stale image in memory to show while it is revalidated.
    func previewInMemory(for context: LoadContext) -> Image? {
        guard context.request.cachePolicy == .http || context.request.cachePolicy == .refresh, context.queriesMemory,
            let image = latestInMemory(for: context, counting: .none)
        else { return nil }
        if case .serveAndRevalidate = decision(on: image.provenance as? ResponseRecord, context) { return image }
        return nil
    }

    func expirationInMemory(for context: LoadContext) -> CacheExpiration? {
        cache.expirationInMemory(for: context.key) ?? cache.expirationInMemory(for: context.key.withAllFrames)
    }

    /// Whether the request's cache policy accepts an image in memory.
    func mayAnswer(_ image: Image, _ context: LoadContext) -> Bool {
        if context.acceptsAnyAge, !image.mayDependOnRequest { return true }
        let record = image.provenance as? ResponseRecord
        if context.request.cachePolicy == .http, context.request.headers.isEmpty,
            record?.isPlainlyFresh(at: now, isShared: configuration.servesSeveralUsers) == true
        {
            return true
        }
        if case .serve = decision(on: record, context) { return true }
        return false
    }

    /// Whether the server would send this image for the request, as far as `Vary` tells.
    func isForRequest(_ image: Image, _ context: LoadContext) -> Bool {
        guard image.mayDependOnRequest else { return true }
        return rules(for: context).isForRequest((image.provenance as? ResponseRecord)?.response)
    }

    private func decision(on record: ResponseRecord?, _ context: LoadContext) -> HTTPCachePolicy.Decision {
        let rules = rules(for: context, comparesHeaders: record?.mayDependOnRequest == true)
        return rules.decide([record?.response], now: now)
    }

    /// Returns what memory may hold of an image; `nil` for nothing.
    func imageToKeep(_ image: Image, _ context: LoadContext, isWanted: Bool) -> Image? {
        guard isWanted, !image.isPartial else { return nil }
        guard let willCache = configuration.willCache else { return image }
        return willCache(image, context.request)
    }
}

// MARK: HTTP

extension Pipeline {
    /// - Parameter comparesHeaders: `false` where no stored response has a `Vary`: the loader is not called then.
    func rules(for context: LoadContext, comparesHeaders: Bool = true) -> AnswerRules {
        let sent = SentRequest { [self] in
            let headers =
                comparesHeaders
                ? context.loader.requestHeaders(for: loaderRequest(for: context))
                : context.request.headers.map { HTTPHeader(name: $0.key, value: $0.value) }
            return HTTPCachePolicy.Request(method: context.request.method.name, headers: headers)
        }
        return AnswerRules(
            policy: context.request.cachePolicy, sent: sent, usesCookieJar: context.request.handlesCookies,
            requiresImage: context.call == nil, isShared: configuration.servesSeveralUsers)
    }

    /// The request of a loader, with what the codecs accept.
    func loaderRequest(for context: LoadContext) -> LoaderRequest {
        var request = context.loaderRequest
        guard context.call == nil else { return request }
        if request.headers.isEmpty {
            request.headers = codecs.acceptHeaders
        } else if !request.hasHeader("accept") {
            request.headers.merge(codecs.acceptHeaders) { own, _ in own }
        }
        return request
    }

    /// The loader of a request: it resumes, tries again, and tries the alternatives.
    func loader(for context: LoadContext) -> any ImageLoader {
        if context.request.hasStandardDetails { return oneAttempt(context.loader, context) }
        let (environment, strategy) = (configuration.environment, context.retryStrategy)
        let waitsForConnectivity = context.request.waitsForConnectivity
        let hasOneAttempt = (strategy as? RetryPolicy)?.maximumAttempts ?? 2 <= 1 && !waitsForConnectivity
        func retrying(_ loader: any ImageLoader) -> any ImageLoader {
            let attempt = oneAttempt(loader, context)
            guard !hasOneAttempt else { return attempt }
            return RetryingLoader(
                attempt, strategy: strategy, waitsForConnectivity: waitsForConnectivity, environment: environment)
        }
        let loader = retrying(context.loader)
        let alternatives = context.request.alternatives
        guard !alternatives.isEmpty, !context.request.detail({ $0.asksForOther }) else { return loader }
        let others = alternatives.map { retrying(loaders.loader(for: $0) ?? loaders.asLoader) }
        return AlternativesLoader(
            loader, alternatives: alternatives, strategy: strategy, environment: environment
        ) { url in
            others[alternatives.firstIndex(of: url) ?? 0]
        }
    }

    private func oneAttempt(_ loader: any ImageLoader, _ context: LoadContext) -> any ImageLoader {
        prepared(resuming(loader, context))
    }

    /// The loader after the manager's hook, if there is one.
    func prepared(_ loader: any ImageLoader) -> any ImageLoader {
        guard let willLoad = configuration.willLoad, !(loader is RequestProvider) else { return loader }
        return PreparingLoader(loader, prepare: willLoad)
    }

    private func resuming(_ loader: any ImageLoader, _ context: LoadContext) -> any ImageLoader {
        guard let partialBodies, context.storesOnDisk, loader is ImageDownloader else { return loader }
        return ResumingLoader(loader, store: partialBodies)
    }

    // A record is known in both caches.

    /// Returns the record of a stored response.
    func record(of stored: CachedResponse?, source: String) -> ResponseRecord {
        let record = originals.provenances.record(of: stored, source: source)
        if !hasOneCache { cache.provenances.include(record, source: source) }
        return record
    }

    /// Notes a new response. Images made from those that it replaces are superseded.
    ///
    /// - Parameter requestHeaders: the fields of its request; called if an earlier response varies.
    func adopt(_ new: ResponseRecord, source: String, requestHeaders: () -> [HTTPHeader]) {
        originals.provenances.adopt(new, source: source, requestHeaders: requestHeaders)
        if !hasOneCache { cache.provenances.adopt(new, source: source, requestHeaders: requestHeaders) }
    }

    /// Supersedes all images of a source that are in memory.
    func supersedeAll(of source: String) {
        originals.provenances.supersedeAll(of: source)
        if !hasOneCache { cache.provenances.supersedeAll(of: source) }
    }

    /// The provenance of an image made from another.
    func provenance(ofImageMadeFrom image: Image, _ context: LoadContext) -> any ImageProvenance {
        image.provenance ?? record(of: nil, source: context.key.source)
    }
}

extension LoaderRequest {
    func hasHeader(_ name: String) -> Bool { headers.keys.contains { $0.lowercased() == name } }
}

extension DiskCache {
    /// Removes the bytes of interrupted transfers, which are stored in this cache's directory until a load resumes them.
    ///
    /// Those of loads in progress stay. ``removeAll(progress:)`` removes none of them.
    public func removeInterruptedTransfers() async {
        await withCheckedContinuation { continuation in partialBodies.removeAll { continuation.resume() } }
    }

    /// The store of interrupted transfers in this cache's directory.
    var partialBodies: PartialBodyStore {
        var configuration = PartialBodyStore.Configuration(
            directory: self.configuration.directory.appending(path: "partial"))
        configuration.freeSpaceFloor = self.configuration.freeSpaceFloor
        return PartialBodyStore(configuration: configuration)
    }
}
