import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

/// A request with its loader and cache key, and what follows from its options.
final class LoadContext: Sendable {
    let request: WebImageRequest
    let loader: any ImageLoader
    let key: ImageCacheKey
    /// `nil` for an image.
    let call: Call?
    /// Whether the response is neither taken from caches nor stored; see ``RequestDetails/bypassesCaches``.
    let bypassesCaches: Bool

    /// A request for data of any kind.
    struct Call: Sendable {
        /// Whether responses that cannot be an image are answers, too.
        var acceptsAnyAnswer = true
    }

    /// - Parameter key: the request's, if it is known.
    init(request: WebImageRequest, loader: any ImageLoader, call: Call? = nil, key: ImageCacheKey? = nil) {
        self.request = request
        self.loader = loader
        self.call = call
        self.key = key ?? request.cacheKey
        bypassesCaches = request.box?.details.bypassesCaches ?? false
    }

    /// The last processor, and the request for its input; `nil` without processors.
    var lastStep: (processor: ImageProcessor, input: LoadContext)? {
        guard !request.processors.isEmpty, !request.options.contains(.ignoreDecoding) else { return nil }
        var processors = ProcessorChain(request.processors).processors.filter { $0.identifier != .identity }
        guard let last = processors.popLast() else { return nil }
        var input = request
        input.processors = processors
        input.keepsPixels = false
        // Variants in between are not stored on disk.
        if !input.hasStandardDetails {
            input.cacheAccess = CacheAccess(query: cacheAccess.query.intersection(.memory), store: [])
        }
        return (last, LoadContext(request: input, loader: loader))
    }

    // MARK: Caches

    /// Which caches of variants are read and written.
    var cacheAccess: CacheAccess {
        if request.hasStandardDetails, request.processors.isEmpty,
            request.options.isDisjoint(with: [.ignoreDecoding, .avoidForcedDecode])
        {
            return .memory
        }
        var access = request.hasStandardDetails ? .memory : request.details.cacheAccess
        if access != .memory, request.needsWholeImage {
            access.formIntersection(.memory)
        }
        if request.options.contains(.avoidForcedDecode) { access.store.remove(.memory) }
        if bypassesCaches || request.options.contains(.ignoreDecoding) { access = .none }
        if hasAnonymousTransform { access.store = [] }
        return access
    }

    var queriesMemory: Bool {
        request.cachePolicy != .reload && !bypassesCaches && !request.options.contains(.ignoreDecoding)
            && (request.hasStandardDetails || request.details.cacheAccess.query.contains(.memory))
    }

    /// Whether an image from memory needs the file's bytes.
    var wantsBytesOfMemory: Bool { request.options.contains(.queryMemoryData) && queriesDisk }

    var storesInMemory: Bool { cacheAccess.store.contains(.memory) }

    /// Whether stored images answer regardless of age.
    var acceptsAnyAge: Bool { [.cacheFirst, .cacheOnly].contains(request.cachePolicy) }

    var queriesVariantOnDisk: Bool { cacheAccess.query.contains(.disk) && acceptsAnyAge }
    var storesVariantOnDisk: Bool { cacheAccess.store.contains(.disk) }

    /// Whether original bytes are stored on disk.
    var storesOnDisk: Bool {
        isCacheable
            && (request.hasStandardDetails || request.details.originalCacheAccess.store.contains(.disk))
    }

    /// Whether original bytes are read from disk.
    var queriesDisk: Bool {
        isCacheable
            && (request.hasStandardDetails || request.details.originalCacheAccess.query.contains(.disk))
    }

    /// Whether the image may be read from, and stored as, pixels on disk.
    var usesPixels: Bool {
        key.variant != nil && request.keepsPixels != false && queriesMemory && queriesDisk && storesInMemory
            && storesOnDisk && call == nil && !request.options.contains(.queryMemoryData)
    }

    private var isCacheable: Bool { !bypassesCaches && loader.isCacheable(request.url) }

    /// A transform without an identifier has no key.
    private var hasAnonymousTransform: Bool {
        !request.processors.isEmpty && ProcessorChain(request.processors).isAnonymous
    }

    // MARK: Bytes

    var retryStrategy: any RetryStrategy { request.retryPolicy ?? RetryPolicy.none }

    var byteSources: ByteSources {
        let disk: ByteSources = queriesDisk ? .disk : []
        return switch request.cachePolicy {
        case .cacheFirst, .http, .refresh: disk.union(.loader)
        case .reload: .loader
        case .cacheOnly: disk
        case .offline: loader.isCacheable(request.url) ? disk : .loader
        }
    }

    func bytesKey(sources: ByteSources) -> BytesJobKey {
        BytesJobKey(
            source: KeyText(key.source),
            details: call == nil && request.hasStandardDetails ? nil : BytesJobKey.Details(self, ownIdentity),
            sources: sources, policy: request.cachePolicy, isStored: storesOnDisk)
    }

    /// The identity of the request at its loader; `nil` if the source of the cache key contains it.
    private var ownIdentity: LoaderRequest? {
        if call == nil, request.hasStandardDetails { return nil }
        let identity = loaderRequest.identity
        let isPlain = identity == LoaderRequest(url: identity.url)
        return isPlain && request.details.cacheKeyFilter == nil && request.details.provider == nil ? nil : identity
    }

    var loaderRequest: LoaderRequest {
        var wanted = LoaderRequest(url: request.url, headers: request.headers, credential: request.credential)
        if let call { wanted.acceptsAnyAnswer = call.acceptsAnyAnswer }
        (wanted.method, wanted.body) = (request.method, request.body)
        wanted.isForAnotherOrigin = request.detail { $0.isForAnotherOrigin }
        if let harmless = request.box?.details.harmlessHeaders { wanted.harmlessHeaders = harmless }
        wanted.idleTimeout = request.idleTimeout
        wanted.totalTimeout = request.totalTimeout
        wanted.handlesCookies = request.handlesCookies
        wanted.usesCredentialStorage = request.usesCredentialStorage
        wanted.allowsInvalidCertificates = request.allowsInvalidCertificates
        return wanted
    }

    /// Whether the request may use the network.
    var mayUseNetwork: Bool {
        !(loader is RequestProvider) && !["file", "data"].contains(request.url.scheme?.lowercased())
            && byteSources.contains(.loader)
    }

    /// The closure of a request that returns an image; `nil` for other requests.
    var imageProvider: RequestProvider? {
        guard !request.hasStandardDetails, let provider = loader as? RequestProvider, provider.givesImage else {
            return nil
        }
        return provider
    }

    // MARK: Decoding

    func decodingOptions(
        _ pipeline: Pipeline, allowsDamage: Bool, cancellation: Cancellation
    ) -> DecodingOptions {
        var options = DecodingOptions(
            thumbnail: request.thumbnail, byteLimit: request.pixelByteLimit, scale: request.resolvedScale,
            firstFrameOnly: request.options.contains(.firstFrameOnly), allowsDamage: allowsDamage,
            limits: request.box?.details.decodingLimits ?? pipeline.configuration.decodingLimits,
            cancellation: cancellation)
        options.page = request.page
        options.keepsColors = request.keepsColors
        return options
    }
}

extension CacheAccess {
    fileprivate mutating func formIntersection(_ tiers: ImageCache.Tiers) {
        query.formIntersection(tiers)
        store.formIntersection(tiers)
    }
}

/// Where bytes may come from.
struct ByteSources: OptionSet, Hashable, Sendable {
    let rawValue: Int
    static let disk = ByteSources(rawValue: 1)
    static let loader = ByteSources(rawValue: 2)
    /// The loader without the caches that machines share; only together with it.
    static let serverOnly = ByteSources(rawValue: 4)
}

/// The key of requests that share the bytes of a file.
struct BytesJobKey: Hashable, Sendable {
    let source: KeyText
    /// `nil` for most requests.
    let details: Details?
    let sources: ByteSources
    let policy: CachePolicy
    let isStored: Bool

    /// The properties that the source does not contain. In an object, so that the keys of most requests are small.
    final class Details: HashableByContent, Sendable {
        struct Content: Hashable {
            /// `nil` if the source says it all.
            let request: LoaderRequest?
            let strategy: AnyHashable?
            let alternatives: [URL]
            let waitsForConnectivity: Bool
        }

        // `AnyHashable` is not `Sendable`; a `RetryStrategy` is.
        nonisolated(unsafe) let content: Content

        /// Returns `nil` if the source contains everything.
        init?(_ context: LoadContext, _ identity: LoaderRequest?) {
            let request = context.request
            content = Content(
                request: identity, strategy: request.retryPolicy.map { AnyHashable($0) },
                alternatives: request.alternatives, waitsForConnectivity: request.waitsForConnectivity)
            if content == Content(request: nil, strategy: nil, alternatives: [], waitsForConnectivity: false) {
                return nil
            }
        }
    }

    /// The source alone: the rest rarely differs.
    func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

/// The key of requests that share an image.
struct ImageJobKey: Hashable, Sendable {
    let variant: KeyText?
    let bytes: BytesJobKey
    let previews: PreviewStyle?
    let isUndecoded: Bool
    /// `nil` for most requests.
    let details: Details?

    /// The properties that the cache key does not contain. In an object, like ``BytesJobKey/Details``.
    final class Details: HashableByContent, Sendable {
        struct Content: Hashable, Sendable {
            let queriesVariantOnDisk: Bool
            let storesVariantOnDisk: Bool
            let allowsDamage: Bool?
            let limits: DecodingLimits?
        }

        let content: Content

        init(_ context: LoadContext) {
            content = Content(
                queriesVariantOnDisk: context.queriesVariantOnDisk, storesVariantOnDisk: context.storesVariantOnDisk,
                allowsDamage: context.request.details.allowsDamage, limits: context.request.details.decodingLimits)
        }
    }

    init(_ context: LoadContext) {
        let request = context.request
        variant = context.key.variant.map(KeyText.init)
        bytes = context.bytesKey(sources: context.byteSources)
        previews = request.options.previews
        isUndecoded = request.options.contains(.ignoreDecoding)
        details = request.hasStandardDetails ? nil : Details(context)
    }
}

/// An object that is equal to another with equal content.
protocol HashableByContent: Hashable {
    associatedtype Content: Hashable
    var content: Content { get }
}

extension HashableByContent {
    static func == (first: Self, second: Self) -> Bool { first.content == second.content }
    func hash(into hasher: inout Hasher) { hasher.combine(content) }
}
