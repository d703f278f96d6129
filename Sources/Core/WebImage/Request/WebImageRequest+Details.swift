public import FoundationEssentials
public import WebImageCaching
public import WebImageCoding
public import WebImageCore
public import WebImageLoading

/// Properties for the loader.
extension WebImageRequest {
    /// The HTTP method; ``LoaderRequest/Method/get`` by default.
    ///
    /// What a server makes of another method or of a ``body`` may differ each time, so such images are neither taken from caches nor
    /// stored, and policies without the server fail. With a ``cacheKeyFilter`` they are cached like others, unless the policy is
    /// ``CachePolicy/http``, which reuses GET responses only. The key contains method and body besides the filter's text.
    ///
    /// Requests in progress with the same method and body share one transfer. It is repeated by a ``retryPolicy`` only if the method is
    /// idempotent. A method that may change something on the server removes what is stored under GET for the URLs that it changes
    /// (RFC 9111, 4.4). ``lowResolutionURL`` and ``lowDataURL`` are loaded with GET, and ``alternatives`` are not tried.
    ///
    /// ```swift
    /// var request = WebImageRequest(url)
    /// request.method = .post
    /// request.body = Data(#"{"chart": "sales"}"#.utf8)
    /// request.headers["Content-Type"] = "application/json"
    /// request.cacheKeyFilter = { $0.absoluteString }
    /// let image = try await manager.image(for: request)
    /// ```
    public var method: LoaderRequest.Method {
        get { detail { $0.method } }
        set { changeDetails { $0.method = newValue } }
    }

    /// The body to send; `nil`, the default, sends none. Its type belongs in ``headers``, as `Content-Type`.
    ///
    /// A body with GET, HEAD or TRACE fails with ``WebImageError/RequestFailure/unsupportedMethod(_:hasBody:)``. See ``method`` for caching.
    public var body: Data? {
        get { detail { $0.body } }
        set { changeDetails { $0.body = newValue } }
    }

    /// Header fields for the server, by name; empty by default. They become part of the cache key, so that users never
    /// see each other's images.
    ///
    /// Fields that are known to be harmless, such as `Accept`, `User-Agent` and `X-Request-ID`, are not part of the
    /// key; see ``harmlessHeaders``.
    ///
    /// A request with `Range` bypasses the caches. A part of an image is never stored, and never taken for the whole.
    public var headers: [String: String] {
        get { detail { $0.headers } }
        set { changeDetails { $0.headers = newValue } }
    }

    /// The ``headers`` that are not part of the cache key; `nil`, the default, uses
    /// ``WebImageManager/Configuration/harmlessHeaders``.
    ///
    /// Requests that differ only in these share cached images and transfers. Other fields keep an image out of a cache
    /// that machines share.
    public var harmlessHeaders: HarmlessHeaders? {
        get { detail { $0.harmlessHeaders } }
        set { changeDetails { $0.harmlessHeaders = newValue } }
    }

    /// The credential for servers that require one; `nil` by default. It replaces `user:password@` in the URL. Both
    /// become part of the cache key, as headers with credentials do.
    public var credential: Credential? {
        get { detail { $0.credential } }
        set { changeDetails { $0.credential = newValue } }
    }

    /// Whether cookies of the downloader's jar are sent, and those that servers set are stored there; `false` by
    /// default.
    ///
    /// The cache separates images loaded with cookies from others, but not one user's from the next: empty it when
    /// another user logs in.
    public var handlesCookies: Bool {
        get { detail { $0.handlesCookies } }
        set { changeDetails { $0.handlesCookies = newValue } }
    }

    /// Whether credentials that were accepted are stored in memory and used again; `false` by default.
    ///
    /// The cache separates such images from others, but not one stored credential from the next: empty it when another
    /// user logs in.
    public var usesCredentialStorage: Bool {
        get { detail { $0.usesCredentialStorage } }
        set { changeDetails { $0.usesCredentialStorage = newValue } }
    }

    /// Whether any certificate is accepted; `false` by default. **Insecure: allows interception.**
    ///
    /// Such images have separate cache keys, so that requests that verify certificates never get them. Such loads share
    /// no cookies or stored credentials with other loads.
    public var allowsInvalidCertificates: Bool {
        get { detail { $0.allowsInvalidCertificates } }
        set { changeDetails { $0.allowsInvalidCertificates = newValue } }
    }

    /// Whether a URL on the manager's block list fails with ``WebImageError/blocked(reason:url:)`` after the caches
    /// have missed, and whether a URL with a lasting error is added to the list; `false` by default. See
    /// ``WebImageManager/blockedURLs``. A load that succeeds removes its URL from the list.
    public var respectsBlockList: Bool {
        get { detail { $0.respectsBlockList } }
        set { changeDetails { $0.respectsBlockList = newValue } }
    }

    /// How long the server may send nothing; `nil`, the default, uses the loader's limit. Requests
    /// that share a transfer have the limit of the one that began it.
    public var idleTimeout: Duration? {
        get { detail { $0.idleTimeout } }
        set { changeDetails { $0.idleTimeout = newValue } }
    }

    /// The time limit for all transfers of this request, including redirects, retries and alternative URLs; `nil`, the
    /// default, uses the loader's limit.
    ///
    /// Waiting for a slot, for the next attempt or for a network does not count. See
    /// ``ImageDownloader/Configuration/totalTimeout``. Requests that share a transfer have the limit of the one that
    /// started it.
    public var totalTimeout: Duration? {
        get { detail { $0.totalTimeout } }
        set { changeDetails { $0.totalTimeout = newValue } }
    }

    /// Whether, how often and when a failed load is retried; `nil`, the default, never retries.
    public var retryPolicy: (any RetryStrategy)? {
        get { detail { $0.retryPolicy } }
        set { changeDetails { $0.retryPolicy = newValue } }
    }

    /// Other URLs of the same image; empty by default. They are tried in order when the first URL has used up its
    /// attempts, or at once if it fails with a lasting error such as 404. Each is tried as often as the first. If all
    /// fail, the load fails with the error of ``url``.
    ///
    /// The image is cached under ``url``, regardless of its source. A server of another origin receives no credential. It
    /// receives no headers but Accept, Accept-Encoding, User-Agent and Range, whether they come from the request, the
    /// manager or the loader.
    public var alternatives: [URL] {
        get { detail { $0.alternatives } }
        set { changeDetails { $0.alternatives = newValue } }
    }

    /// Whether the load waits for a network instead of failing without one; `false` by default. The wait does not count
    /// as an attempt of ``retryPolicy``. After 5 minutes without one the load fails with
    /// ``WebImageError/TimeoutReason/offline``. Loads from servers on this machine do not wait.
    ///
    /// Combine this with a retry policy, because name servers may become available a moment after the network.
    public var waitsForConnectivity: Bool {
        get { detail { $0.waitsForConnectivity } }
        set { changeDetails { $0.waitsForConnectivity = newValue } }
    }

    /// The URL of the same image with fewer bytes; `nil` by default. It is loaded as well, before the full image if
    /// both wait, and is a preview until there is a better one. Its errors are ignored. A server of another origin
    /// receives as little as one of ``alternatives``.
    public var lowResolutionURL: URL? {
        get { detail { $0.lowResolutionURL } }
        set { changeDetails { $0.lowResolutionURL = newValue } }
    }

    /// The URL of the same image with fewer bytes, for low-data mode (``WebImageManager/isLowDataModeEnabled``); `nil`, the default, loads
    /// ``url`` in that mode too.
    ///
    /// In low-data mode it is loaded in place of ``url`` and ``lowResolutionURL``, unless the full image is cached (not under
    /// ``CachePolicy/refresh`` and ``CachePolicy/reload``, which contact a server). ``WebImageResponse/url`` tells which one it is, and the image
    /// is cached under its own URL. A server of another origin receives as little as one of ``alternatives``.
    ///
    /// ```swift
    /// var request = WebImageRequest(url)
    /// request.lowDataURL = otherURL
    /// ```
    public var lowDataURL: URL? {
        get { detail { $0.lowDataURL } }
        set { changeDetails { $0.lowDataURL = newValue } }
    }
}

/// Custom components in place of the manager's.
extension WebImageRequest {
    /// The cache for the image; `nil`, the default, uses the manager's.
    public var cache: (any ImageCaching)? {
        get { detail { $0.cache } }
        set { changeDetails { $0.cache = newValue } }
    }

    /// The cache for the original's bytes; `nil`, the default, uses the cache for the image.
    public var originalCache: (any ImageCaching)? {
        get { detail { $0.originalCache } }
        set { changeDetails { $0.originalCache = newValue } }
    }

    /// The loaders that fetch the bytes; `nil`, the default, uses the manager's. A single loader is written as
    /// `[loader]`. Requests with the same group share their transfers.
    public var loaders: ImageLoaderGroup? {
        get { detail { $0.loaders } }
        set { changeDetails { $0.loaders = newValue } }
    }

    /// The codecs that decode the bytes; `nil`, the default, uses the manager's.
    public var codecs: CodecRegistry? {
        get { detail { $0.codecs } }
        set { changeDetails { $0.codecs = newValue } }
    }

    /// The queue of callbacks; `nil`, the default, uses the manager's. A queue given to
    /// ``WebImageManager/load(_:callbackQueue:progress:preview:completion:)`` takes precedence.
    var callbackQueue: (any CallbackQueue)? {
        get { detail { $0.callbackQueue } }
        set { changeDetails { $0.callbackQueue = newValue } }
    }

    /// Values of the program; empty by default. The library passes them to hooks and responses, and does not use them.
    public var userInfo: [String: any Sendable] {
        get { detail { $0.userInfo } }
        set { changeDetails { $0.userInfo = newValue } }
    }
}

/// Properties for caching.
extension WebImageRequest {
    /// The tiers for the image as requested; memory by default, since it can be made again from the original.
    ///
    /// With the disk tier, thumbnails and processed images are stored there too, encoded, and read without the
    /// original. Animations are not. For a request for the original itself, ``originalCacheAccess`` determines the use
    /// of the disk.
    public var cacheAccess: CacheAccess {
        get { detail { $0.cacheAccess } }
        set { changeDetails { $0.cacheAccess = newValue } }
    }

    /// The tiers for the original's bytes; the disk by default. Only the disk stores bytes.
    public var originalCacheAccess: CacheAccess {
        get { detail { $0.originalCacheAccess } }
        set { changeDetails { $0.originalCacheAccess = newValue } }
    }

    /// Returns the text for a URL in cache keys, for example without the part of its query that changes each time;
    /// `nil`, the default, uses the URL. Credentials, headers that may be credentials, and a ``method`` or ``body`` are added in any case.
    public var cacheKeyFilter: (@Sendable (URL) -> String)? {
        get { detail { $0.cacheKeyFilter } }
        set { changeDetails { $0.cacheKeyFilter = newValue } }
    }

    /// Returns the bytes to store on disk in place of the original or encoded ones, given an image, its original bytes,
    /// if any, and its key; `nil` leaves the choice to the cache. It runs on a decoding thread. `nil` by default.
    ///
    /// ``WebImageManager/data(for:)`` does not use bytes that a server did not send, and loads them again.
    public var serializer: (@Sendable (_ image: Image, _ data: Data?, _ key: ImageCacheKey) -> Data?)? {
        get { detail { $0.serializer } }
        set { changeDetails { $0.serializer = newValue } }
    }
}

/// Properties for decoding.
extension WebImageRequest {
    /// The limits for decoding; `nil`, the default, uses the manager's.
    public var decodingLimits: DecodingLimits? {
        get { detail { $0.decodingLimits } }
        set { changeDetails { $0.decodingLimits = newValue } }
    }

    /// The maximum size of the decoded pixels in bytes, at 4 bytes per pixel; `nil`, the default, sets no limit. An
    /// image that would take more is decoded at a smaller size. The limit becomes part of the cache key.
    public var decodedByteLimit: Int? {
        get { detail { $0.decodedByteLimit } }
        set { changeDetails { $0.decodedByteLimit = newValue } }
    }

    /// The index of an image in a file with several, such as the sizes of an icon or the pages of a TIFF, from 0; `nil`,
    /// the default, is the one that suits the requested size best. It becomes part of the cache key.
    public var page: Int? {
        get { detail { $0.page } }
        set { changeDetails { $0.page = newValue } }
    }

    /// Whether a truncated or damaged file is decoded up to the damage; `nil`, the default, is
    /// ``WebImageManager/Configuration/allowsDamage``.
    public var allowsDamage: Bool? {
        get { detail { $0.allowsDamage } }
        set { changeDetails { $0.allowsDamage = newValue } }
    }

    /// Whether the image keeps the colors of its profile; see ``DecodingOptions/keepsColors``.
    public var keepsColors: Bool {
        get { detail { $0.keepsColors } }
        set { changeDetails { $0.keepsColors = newValue } }
    }

    /// Whether processors change animations, each frame when it is shown; `nil`, the default, is `true`.
    public var transformsAnimations: Bool? {
        get { detail { $0.transformsAnimations } }
        set { changeDetails { $0.transformsAnimations = newValue } }
    }

    /// Whether processors change images in vector formats; `nil`, the default, is `true`.
    public var transformsVectors: Bool? {
        get { detail { $0.transformsVectors } }
        set { changeDetails { $0.transformsVectors = newValue } }
    }
}
