public import FoundationEssentials
public import WebImageCaching
public import WebImageCoding
public import WebImageCore
public import WebImageLoading

/// What the loader is told.
extension WebImageRequest {
    /// Header fields for the server, by name. They become part of the cache key, so that users never see each other's images,
    /// except for those that are known as harmless: `Accept` and the fields whose names begin with `Accept-`, `User-Agent`,
    /// `Referer`, `Range`, `If-…` conditions, `Cache-Control`, `Pragma`, fields that describe the request's body, and those
    /// for tracing (`traceparent`, `tracestate`, `X-Request-ID`, `X-Correlation-ID`, B3 and others).
    ///
    /// ``headersIgnoredByCacheKey`` names more. A request with `Range` goes past the caches: a part of an image is never
    /// stored, and never taken for the whole.
    public var headers: [String: String] {
        get { box?.details.headers ?? [:] }
        set { changeDetails { $0.headers = newValue } }
    }

    /// Names of further ``headers`` that neither carry credentials nor select content, in any case; none by default. They are
    /// no part of the cache key. Those of ``WebImageManager/Configuration/headersIgnoredByCacheKey`` count as well.
    public var headersIgnoredByCacheKey: Set<String> {
        get { box?.details.headersIgnoredByCacheKey ?? [] }
        set { changeDetails { $0.headersIgnoredByCacheKey = newValue } }
    }

    /// For a server that asks for one; `nil` by default. It becomes part of the cache key, as such headers do, and so does
    /// `user:password@` in the URL, which it replaces.
    public var credential: Credential? {
        get { box?.details.credential }
        set { changeDetails { $0.credential = newValue } }
    }

    /// Whether cookies of the downloader's jar are sent, and those that servers set are stored there; `false` by default.
    ///
    /// The cache separates images loaded with cookies from others, but not one user's from the next: empty it when another user
    /// logs in.
    public var handlesCookies: Bool {
        get { box?.details.handlesCookies ?? false }
        set { changeDetails { $0.handlesCookies = newValue } }
    }

    /// Whether credentials that were accepted are stored in memory and used again; `false` by default.
    ///
    /// The cache separates such images from others, but not one stored credential from the next: empty it when another user logs
    /// in.
    public var usesCredentialStorage: Bool {
        get { box?.details.usesCredentialStorage ?? false }
        set { changeDetails { $0.usesCredentialStorage = newValue } }
    }

    /// Whether any certificate is accepted; `false` by default. **Insecure: allows interception.**
    ///
    /// Such images have cache keys of their own, so that requests that verify certificates never get them. Such loads use no
    /// cookies or stored credentials of others.
    public var allowsInvalidCertificates: Bool {
        get { box?.details.allowsInvalidCertificates ?? false }
        set { changeDetails { $0.allowsInvalidCertificates = newValue } }
    }

    /// Whether a URL on the manager's block list fails with ``WebImageError/blocked(url:cause:)`` after the caches have missed, and
    /// whether a URL with a lasting error is added to the list; `false` by default. See ``WebImageManager/blockedURLs``. A load that
    /// succeeds removes its URL from the list.
    public var ignoresFailedURLs: Bool {
        get { box?.details.ignoresFailedURLs ?? false }
        set { changeDetails { $0.ignoresFailedURLs = newValue } }
    }

    /// How long the server may send nothing; `nil`, the default, leaves it to the manager and then to the loader. Requests
    /// that share a transfer have the limit of the one that began it.
    public var idleTimeout: Duration? {
        get { box?.details.idleTimeout }
        set { changeDetails { $0.idleTimeout = newValue } }
    }

    /// The longest that transfers for this request may take in total, redirects, further attempts and alternative URLs
    /// included; `nil`, the default, leaves it to the manager and then to the loader. Waiting does not count: for a slot, for the
    /// next attempt, for a network. See ``ImageDownloader/Configuration/totalTimeout``. Requests that share a transfer have the
    /// limit of the one that began it.
    public var totalTimeout: Duration? {
        get { box?.details.totalTimeout }
        set { changeDetails { $0.totalTimeout = newValue } }
    }

    /// Whether, how often and when the loader is asked again after a failure; `nil`, the default, leaves it to the manager's
    /// ``WebImageManager/Configuration/retryPolicy``.
    public var retryPolicy: (any RetryStrategy)? {
        get { box?.details.retryPolicy }
        set { changeDetails { $0.retryPolicy = newValue } }
    }

    /// Where the same picture can be had as well; none by default. They are tried in order, each as often as the first: when
    /// that has used up its attempts, or at once when it fails with what will not change, such as 404. If all fail, the load
    /// fails with the error of ``url``.
    ///
    /// The image is cached under ``url``, wherever it came from. A server of another origin gets no credential, and no headers
    /// but Accept, Accept-Encoding, User-Agent and Range, whether they are the request's, the manager's or the loader's.
    public var alternatives: [URL] {
        get { box?.details.alternatives ?? [] }
        set { changeDetails { $0.alternatives = newValue } }
    }

    /// Whether the load waits for a network instead of failing without one; `false` by default. Such a failure is none of
    /// the attempts that ``retryPolicy`` counts. After
    /// ``WebImageManager/Configuration/connectivityTimeLimit`` it is ``WebImageError/offline(seconds:url:)``. Servers of this
    /// machine are not waited for. A policy that tries again goes well with it: name servers may come a moment after the network.
    public var waitsForConnectivity: Bool {
        get { box?.details.waitsForConnectivity ?? false }
        set { changeDetails { $0.waitsForConnectivity = newValue } }
    }

    /// Where the same picture is to be had with fewer bytes; `nil` by default. It is loaded as well, before the other where
    /// both wait, and is a preview until there is something better. Its failure goes unnoticed. A server of another origin is
    /// shown as little as one of ``alternatives``.
    public var lowResolutionURL: URL? {
        get { details.lowResolutionURL }
        set { changeDetails { $0.lowResolutionURL = newValue } }
    }
}

/// Who works on it, where that is not what the manager has.
extension WebImageRequest {
    /// Where the picture is kept; `nil`, the default, for the manager's cache.
    public var cache: (any ImageCaching)? {
        get { details.cache }
        set { changeDetails { $0.cache = newValue } }
    }

    /// Where the original's bytes are kept, if elsewhere than the picture; `nil` by default.
    public var originalCache: (any ImageCaching)? {
        get { details.originalCache }
        set { changeDetails { $0.originalCache = newValue } }
    }

    /// Who fetches the bytes; `nil`, the default, for the manager's loaders. A single loader is written as `[loader]`; requests
    /// that name the same group share their transfers.
    public var loaders: ImageLoaderGroup? {
        get { details.loaders }
        set { changeDetails { $0.loaders = newValue } }
    }

    /// Who decodes them; `nil`, the default, for the manager's codecs.
    public var codecs: CodecRegistry? {
        get { details.codecs }
        set { changeDetails { $0.codecs = newValue } }
    }

    /// Where callbacks run; `nil`, the default, for the manager's queue. A queue given to
    /// ``WebImageManager/load(_:callbackQueue:progress:preview:completion:)`` goes before it.
    public var callbackQueue: (any CallbackQueue)? {
        get { details.callbackQueue }
        set { changeDetails { $0.callbackQueue = newValue } }
    }

    /// The program's own: the library carries it to hooks and responses, and does not look at it.
    public var userInfo: [String: any Sendable] {
        get { details.userInfo }
        set { changeDetails { $0.userInfo = newValue } }
    }
}

/// What is kept, where, and under which name.
extension WebImageRequest {
    /// Chooses the bytes that go to the disk, given a picture, the bytes it came with (if any) and its key; `nil` from it leaves
    /// the choice to the cache. It runs on a thread for decoding.
    public typealias Serializer = @Sendable (_ image: Image, _ data: Data?, _ key: ImageCacheKey) -> Data?

    /// The tiers for the picture as it is asked for; ``CacheAccess/memory`` by default, since it can be made again of the
    /// original. With the disk, a thumbnail or processed picture is stored there too, encoded, and read again without
    /// its original; animations are not. Of a request for the original itself, the disk is a matter of ``originalCacheAccess``.
    public var cacheAccess: CacheAccess {
        get { details.cacheAccess }
        set { changeDetails { $0.cacheAccess = newValue } }
    }

    /// The tiers for the original's bytes; ``CacheAccess/disk`` by default. Only the disk keeps bytes.
    public var originalCacheAccess: CacheAccess {
        get { details.originalCacheAccess }
        set { changeDetails { $0.originalCacheAccess = newValue } }
    }

    /// Names a URL in cache keys, as one without the part of its query that changes each time; `nil`, the default, for the
    /// manager's filter, or the URL itself. What a request shows a server to be let in is added in any case.
    public var cacheKeyFilter: (@Sendable (URL) -> String)? {
        get { details.cacheKeyFilter }
        set { changeDetails { $0.cacheKeyFilter = newValue } }
    }

    /// What goes to the disk in place of the bytes as they came, or as the cache would encode them; `nil` by default.
    /// ``WebImageManager/data(for:method:body:)`` has no use for bytes that a server did not send: it loads those again.
    public var serializer: Serializer? {
        get { details.serializer }
        set { changeDetails { $0.serializer = newValue } }
    }
}

/// How it is decoded.
extension WebImageRequest {
    /// What to refuse to decode; `nil`, the default, for the manager's limits.
    public var decodingLimits: DecodingLimits? {
        get { details.decodingLimits }
        set { changeDetails { $0.decodingLimits = newValue } }
    }

    /// The most bytes that the decoded pixels may take, 4 a pixel: a picture that would take more is decoded at a smaller
    /// size. `nil`, the default, for any number. It becomes part of the cache key.
    public var decodedByteLimit: Int? {
        get { details.decodedByteLimit }
        set { changeDetails { $0.decodedByteLimit = newValue } }
    }

    /// What becomes of a file that is cut or damaged; `nil`, the default, as the manager has it.
    public var damage: DecodingOptions.Damage? {
        get { details.damage }
        set { changeDetails { $0.damage = newValue } }
    }

    /// Whether processors change animations; `nil`, the default, is ``WebImageManager/Configuration/transformsAnimations``. Each frame
    /// is processed when it is shown.
    public var transformsAnimations: Bool? {
        get { details.transformsAnimations }
        set { changeDetails { $0.transformsAnimations = newValue } }
    }

    /// Whether processors change images in vector formats; `nil`, the default, is
    /// ``WebImageManager/Configuration/transformsVectors``.
    public var transformsVectors: Bool? {
        get { details.transformsVectors }
        set { changeDetails { $0.transformsVectors = newValue } }
    }

    /// Whether the manager's processors are used where ``processors`` has none; `true` by default.
    public var usesSharedProcessors: Bool {
        get { details.usesSharedProcessors }
        set { changeDetails { $0.usesSharedProcessors = newValue } }
    }
}
