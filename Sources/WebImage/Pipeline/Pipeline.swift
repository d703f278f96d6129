import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading
import WebImageProcessing

/// The way from a request to its picture, in stages that are joined separately.
///
/// ```
///  pictures[variant, a|b] ─┐                     memory? ─ picture[a] ─ process ─► memory ─► requests
///  pictures[variant, a] ───┴► pictures[variant] ─┐         memory? ─ bytes ─ decode ─► memory, disk ─► requests
///  pictures[variant] ────────────────────────────┴─► bytes[source]   BytesFetch: disk? ─ loader
/// ```
///
/// Two sizes of one URL share its bytes; two requests for one size share the decode as well, and processors as far as
/// theirs begin alike. What is only a step to something else is not kept in memory. Bytes are stored on disk
/// only after they have proved to be a picture, as they came, under the original's key; a picture goes to memory under
/// its own key.
final class Pipeline: Sendable {
    let cache: ImageCache
    /// Where the bytes of originals are kept; mostly the same.
    let originals: ImageCache
    let loaders: ImageLoaderGroup
    let codecs: CodecRegistry
    let decodingLimits: DecodingLimits
    let damage: DecodingOptions.Damage
    let decodingQueue: WorkQueue
    let bodyStorage: BodyStorage
    let minimumProgressInterval: Double
    let retryPolicy: RetryPolicy
    let attempts: AttemptSurroundings
    /// Where interrupted bodies are kept; `nil` for nowhere.
    let partialBodies: PartialBodyStore?
    /// What the age of answers is counted by.
    let now: @Sendable () -> Date
    let previewTiming: PreviewTiming
    let hooks: WebImageManager.Hooks
    let counters: PipelineCounters
    /// What memory has of a source besides its original.
    let variants: VariantIndex
    let reusesVariants: Bool
    /// Variants on their way to the disk.
    let variantStores = PendingStores()

    /// What has been fetched and not been decoded yet.
    let undecoded: BodyBudget

    let pictures = WorkTable<PictureKey, WebImageResponse>()
    let bytes = WorkTable<BytesKey, LoadedBytes>()

    init(
        _ configuration: WebImageManager.Configuration, undecoded: BodyBudget = BodyBudget(),
        originals: ImageCache? = nil, previewTiming: PreviewTiming? = nil, sharing other: Pipeline? = nil
    ) {
        counters = other?.counters ?? PipelineCounters()
        // What one cache has, another has not.
        variants = other.flatMap { $0.cache === configuration.cache ? $0.variants : nil } ?? VariantIndex()
        self.undecoded = undecoded
        self.previewTiming = previewTiming ?? PreviewTiming(interval: configuration.previewInterval)
        self.originals = originals ?? configuration.cache
        hooks = configuration.hooks
        reusesVariants = configuration.reusesVariants
        cache = configuration.cache
        loaders = configuration.loaders
        codecs = configuration.codecs
        decodingLimits = configuration.decodingLimits
        damage = configuration.damage
        bodyStorage = configuration.bodyStorage
        minimumProgressInterval = configuration.minimumProgressInterval
        retryPolicy = configuration.retryPolicy
        attempts = configuration.attempts
        // With the rest of the file, wherever that is to be.
        partialBodies = configuration.resumption.store(for: self.originals)
        now = configuration.now
        decodingQueue = DecodingQueue.shared
    }

    /// What `request` comes to here; `nil` when no loader handles its URL.
    ///
    /// - Parameter call: for what is no picture.
    func context(for request: WebImageRequest, call: LoadContext.Call? = nil) -> LoadContext? {
        var loader = loaders.loader(for: request.url)
        if !request.hasStandardDetails, let provider = request.details.provider, provider.canLoad(request.url) {
            loader = provider
        }
        return loader.map { LoadContext(request: request, loader: $0, call: call, retryPolicy: retryPolicy) }
    }
}

/// A request with what was found out about it once: an object, since every step keeps it.
final class LoadContext: Sendable {
    let request: WebImageRequest
    let loader: any ImageLoader
    let key: ImageCacheKey
    /// What is wanted, where that is no picture.
    let call: Call?
    /// Whether the request is for a part, which no cache stores or has.
    let isForPart: Bool
    /// For a request that has none of its own.
    private let retryPolicy: RetryPolicy

    /// A request for something that need not be a picture.
    struct Call: Sendable {
        var method: LoaderRequest.Method
        var body: Data?
    }

    init(request: WebImageRequest, loader: any ImageLoader, call: Call? = nil, retryPolicy: RetryPolicy = .none) {
        self.request = request
        self.loader = loader
        self.call = call
        self.retryPolicy = retryPolicy
        key = request.cacheKey
        isForPart = !request.hasStandardDetails && request.headers.keys.contains { $0.lowercased() == "range" }
    }

    /// The request's last processor, and the request for what it is to work on; `nil` where nothing is processed.
    var lastStep: (processor: any ImageProcessor, input: LoadContext)? {
        guard !request.processors.isEmpty, !request.options.contains(.ignoreDecoding) else { return nil }
        // Chains are taken apart: each of their steps can be joined. One that leaves pictures as they are has the key of what it
        // would work on, and would wait for itself.
        var processors = ProcessorChain(request.processors).processors.filter { $0.identifier != .identity }
        guard let last = processors.popLast() else { return nil }
        var input = request
        input.processors = processors
        // What is only a step is not written to the disk.
        if !input.hasStandardDetails {
            input.cacheAccess = CacheAccess(query: cacheAccess.query.intersection(.memory), store: [])
        }
        return (last, LoadContext(request: input, loader: loader, retryPolicy: retryPolicy))
    }
}

/// What makes two requests ask for the same picture.
struct PictureKey: Hashable, Sendable {
    let variant: KeyText?
    let bytes: BytesKey
    let manner: DecodingManner
}

/// What makes two requests ask for the same bytes, from the same places.
struct BytesKey: Hashable, Sendable {
    let source: KeyText
    /// Its `LoaderRequest.identity`: all that can change the answer.
    let request: LoaderRequest
    let attempts: AttemptOptions
    let sources: ByteSources
    /// What stored answers count for.
    let policy: CachePolicy
    /// Whether the answer goes to the disk cache: work that stores nothing is no substitute for work that does, nor the
    /// other way round.
    let isStored: Bool

    /// By the source alone: it is hardly ever the same where the rest is not.
    func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

/// Where bytes may come from.
struct ByteSources: OptionSet, Hashable, Sendable {
    let rawValue: Int

    static let disk = ByteSources(rawValue: 1)
    static let loader = ByteSources(rawValue: 2)
}

extension LoadContext {
    var byteSources: ByteSources {
        let disk: ByteSources = queriesDiskCache ? .disk : []
        return switch request.cachePolicy {
        case .cacheFirst, .http, .refresh: disk.union(.loader)
        case .reload: .loader
        case .cacheOnly: disk
        // What lies on this machine anyway needs no server.
        case .offline: loader.isCacheable(request.url) ? disk : .loader
        }
    }

    func bytesKey(sources: ByteSources) -> BytesKey {
        BytesKey(
            source: KeyText(key.source), request: loaderRequest.identity, attempts: attemptOptions, sources: sources,
            policy: request.cachePolicy, isStored: usesDiskCache)
    }

    /// How often, and where, the loader is asked.
    var attemptOptions: AttemptOptions {
        AttemptOptions(
            policy: request.retryPolicy ?? retryPolicy, alternatives: request.alternatives,
            waitsForConnectivity: request.waitsForConnectivity)
    }

    /// What the loader is asked for.
    var loaderRequest: LoaderRequest {
        var wanted = LoaderRequest(url: request.url, headers: request.headers, credential: request.credential)
        if let call {
            wanted.method = call.method
            wanted.body = call.body
            wanted.acceptsAnyAnswer = true
        }
        wanted.isForAnotherOrigin = request.box?.details.isForAnotherOrigin ?? false
        wanted.idleTimeout = request.idleTimeout
        wanted.totalTimeout = request.totalTimeout
        wanted.handlesCookies = request.options.contains(.handleCookies)
        wanted.usesCredentialStorage = request.options.contains(.useCredentialStorage)
        wanted.allowsInvalidCertificates = request.options.contains(.allowInvalidCertificates)
        return wanted
    }
}
