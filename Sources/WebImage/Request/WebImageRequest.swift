public import FoundationEssentials
public import WebImageLoading
public import WebImageProcessing

/// What to load, and how.
///
/// ```swift
/// var request = WebImageRequest(url, thumbnail: Thumbnail(width: 320, height: 240, mode: .aspectFill))
/// request.priority = .high
/// ```
public struct WebImageRequest: Sendable {
    /// Where the picture is.
    public var url: URL
    /// Switches; none by default.
    public var options: WebImageOptions
    /// How urgent it is; `normal` by default. Requests that share work run at the highest priority among them.
    public var priority: LoadPriority
    /// Who may answer; `cacheFirst` by default.
    public var cachePolicy: CachePolicy
    /// The size wanted, in pixels; `nil`, the default, gives every pixel the file has.
    public var thumbnail: Thumbnail?
    /// Pixels in a point of the result; 1 by default.
    public var scale: Double
    /// What is made of the decoded picture, in this order; nothing by default. Of an animation, every frame is processed
    /// when it is shown.
    ///
    /// Requests whose processors begin alike share that part of the work. The result alone goes to memory, under a key that
    /// names all processors; the disk cache keeps the original.
    public var processors: [any ImageProcessor]
    /// Header fields for the server, by name. Those that usually carry credentials (Authorization, Cookie, X-API-Key,
    /// X-Auth-Token and the like) become part of the cache key, so that one user never sees another's picture; so does
    /// Range. Other fields do not: a server that tells users apart by a field of its own wants ``credential``, or
    /// ``WebImageOptions/ignoreDiskCache`` and a manager for each user.
    public var headers: [String: String]
    /// For a server that asks for one; `nil` by default. It becomes part of the cache key, as such headers do, and so does
    /// `user:password@` in the URL, which it replaces.
    public var credential: Credential?
    /// How long the server may send nothing; `nil`, the default, leaves it to the loader. Requests that share a transfer have
    /// the limit of the one that began it.
    public var idleTimeout: Duration?
    /// Whether, how often and when the loader is asked again after a failure; `nil`, the default, leaves it to the manager's
    /// ``WebImageManager/Configuration/retryPolicy``.
    public var retryPolicy: RetryPolicy?
    /// Where the same picture can be had as well; none by default. They are tried in order, each as often as the first: when
    /// that has used up its attempts, or at once when it fails with what will not change, such as 404. If all fail, the load
    /// fails with the error of ``url``.
    ///
    /// The picture is kept under ``url``, wherever it came from. A server of another origin is shown no ``credential`` and no
    /// headers but Accept, User-Agent and Range.
    public var alternatives: [URL] = []
    /// Whether the load waits for a network when it fails for want of one, as
    /// ``WebImageManager/Configuration/connectivity`` tells, instead of failing; `false` by default. Such a failure is none of
    /// the attempts that ``retryPolicy`` counts. After
    /// ``WebImageManager/Configuration/connectivityTimeLimit`` it is ``WebImageError/offline(seconds:url:)``. Servers of this
    /// machine are not waited for. A policy that tries again goes well with it: name servers may come a moment after the network.
    public var waitsForConnectivity = false

    /// Makes a request.
    public init(
        _ url: URL, options: WebImageOptions = [], priority: LoadPriority = .normal,
        cachePolicy: CachePolicy = .cacheFirst, thumbnail: Thumbnail? = nil, scale: Double = 1,
        processors: [any ImageProcessor] = [], headers: [String: String] = [:], credential: Credential? = nil,
        idleTimeout: Duration? = nil
    ) {
        self.url = url
        self.options = options
        self.priority = priority
        self.cachePolicy = cachePolicy
        self.thumbnail = thumbnail
        self.scale = scale
        self.processors = processors
        self.headers = headers
        self.credential = credential
        self.idleTimeout = idleTimeout
    }
}
