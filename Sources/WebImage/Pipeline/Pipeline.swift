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

    /// What has been fetched and not been decoded yet.
    let undecoded: BodyBudget

    let pictures = WorkTable<PictureKey, WebImageResponse>()
    let bytes = WorkTable<BytesKey, LoadedBytes>()

    init(_ configuration: WebImageManager.Configuration, undecoded: BodyBudget = BodyBudget()) {
        self.undecoded = undecoded
        cache = configuration.cache
        loaders = configuration.loaders
        codecs = configuration.codecs
        decodingLimits = configuration.decodingLimits
        damage = configuration.damage
        bodyStorage = configuration.bodyStorage
        minimumProgressInterval = configuration.minimumProgressInterval
        retryPolicy = configuration.retryPolicy
        attempts = configuration.attempts
        partialBodies = configuration.resumption.store(for: configuration.cache)
        now = configuration.now
        decodingQueue = DecodingQueue.shared
    }

    /// What `request` comes to here; `nil` when no loader handles its URL.
    ///
    /// - Parameter call: for what is no picture.
    func context(for request: WebImageRequest, call: LoadContext.Call? = nil) -> LoadContext? {
        loaders.loader(for: request.url).map {
            LoadContext(request: request, loader: $0, call: call, retryPolicy: retryPolicy)
        }
    }
}

/// A request with what was found out about it once.
struct LoadContext: Sendable {
    let request: WebImageRequest
    let loader: any ImageLoader
    let key: ImageCacheKey
    /// What is wanted, where that is no picture.
    let call: Call?
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
    }

    /// The request's last processor, and the request for what it is to work on; `nil` where nothing is processed.
    var lastStep: (processor: any ImageProcessor, input: LoadContext)? {
        // Chains are taken apart: each of their steps can be joined.
        var processors = ProcessorChain(request.processors).processors
        guard let last = processors.popLast() else { return nil }
        var input = request
        input.processors = processors
        return (last, LoadContext(request: input, loader: loader, retryPolicy: retryPolicy))
    }

    /// Whether the disk cache has a part in it: what lies on the disk anyway gets no copy.
    var usesDiskCache: Bool { loader.isCacheable(request.url) && !request.options.contains(.ignoreDiskCache) }
}

/// What makes two requests ask for the same picture.
struct PictureKey: Hashable, Sendable {
    let variant: String?
    let bytes: BytesKey
}

/// What makes two requests ask for the same bytes, from the same places.
struct BytesKey: Hashable, Sendable {
    let source: String
    /// Its `LoaderRequest.identity`: all that can change the answer.
    let request: LoaderRequest
    let attempts: AttemptOptions
    let sources: ByteSources
    /// What stored answers count for.
    let policy: CachePolicy
    /// Whether the answer goes to the disk cache: work that stores nothing is no substitute for work that does, nor the
    /// other way round.
    let isStored: Bool
}

/// Where bytes may come from.
struct ByteSources: OptionSet, Hashable, Sendable {
    let rawValue: Int

    static let disk = ByteSources(rawValue: 1)
    static let loader = ByteSources(rawValue: 2)
}

extension LoadContext {
    var byteSources: ByteSources {
        let disk: ByteSources = usesDiskCache ? .disk : []
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
            source: key.source, request: loaderRequest.identity, attempts: attemptOptions, sources: sources,
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
        wanted.idleTimeout = request.idleTimeout
        wanted.handlesCookies = request.options.contains(.handleCookies)
        wanted.usesCredentialStorage = request.options.contains(.useCredentialStorage)
        wanted.allowsInvalidCertificates = request.options.contains(.allowInvalidCertificates)
        return wanted
    }
}
