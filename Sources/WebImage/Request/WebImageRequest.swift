public import FoundationEssentials
public import WebImageCore
public import WebImageLoading
public import WebImageProcessing

/// What to load, and how.
///
/// ```swift
/// var request = WebImageRequest(url, thumbnail: Thumbnail(width: 320, height: 240, mode: .aspectFill))
/// request.priority = .high
/// ```
///
/// A request is small and quick to copy: what is rarely set lies in one object that its copies share until one of them
/// sets something else.
public struct WebImageRequest: Sendable {
    /// Where the picture is.
    public var url: URL
    /// Switches; none by default.
    public var options: WebImageOptions
    /// The size wanted, in pixels; `nil`, the default, gives every pixel the file has. One in points is made by
    /// ``Thumbnail/init(width:height:scale:mode:)``.
    public var thumbnail: Thumbnail?
    /// Pixels in a point of the result; `nil`, the default, takes it from the file's name, as ``impliedScale`` does.
    public var scale: Double?
    /// What is made of the decoded picture, in this order; nothing by default. Of an animation, every frame is processed
    /// when it is shown.
    ///
    /// Requests whose processors begin alike share that part of the work. The result alone goes to memory, under a key that
    /// names all processors; the disk cache keeps the original. Those of the manager are used where there are none here
    /// (``usesSharedProcessors``).
    public var processors: [any ImageProcessor]

    private var chosenPriority: LoadPriority?
    private var chosenCachePolicy: CachePolicy?
    /// `nil` as long as nothing in ``details`` was set. What every load asks for is read in the object itself: `details` is a
    /// copy of all, with a reference more to whatever is in it.
    private(set) var box: RequestDetails.Box?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - priority: `nil` leaves it to `options`, and is ``LoadPriority/normal`` where those say nothing.
    ///   - cachePolicy: `nil` leaves it to `options`, and is ``CachePolicy/cacheFirst`` where those say nothing.
    public init(
        _ url: URL, options: WebImageOptions = [], priority: LoadPriority? = nil, cachePolicy: CachePolicy? = nil,
        thumbnail: Thumbnail? = nil, scale: Double? = nil, processors: [any ImageProcessor] = [],
        headers: [String: String] = [:], credential: Credential? = nil, idleTimeout: Duration? = nil
    ) {
        self.url = url
        self.options = options
        self.thumbnail = thumbnail
        self.scale = scale
        self.processors = processors
        chosenPriority = priority
        chosenCachePolicy = cachePolicy
        if !headers.isEmpty || credential != nil || idleTimeout != nil {
            changeDetails { details in
                details.headers = headers
                details.credential = credential
                details.idleTimeout = idleTimeout
            }
        }
    }

    /// Makes a request of one for a loader: its URL, headers, credential, time limits, and what it says about cookies, stored
    /// credentials and certificates.
    public init(_ request: LoaderRequest, options: WebImageOptions = []) {
        self.init(
            request.url, options: options, headers: request.headers, credential: request.credential,
            idleTimeout: request.idleTimeout)
        if let limit = request.totalTimeout { totalTimeout = limit }
        if request.handlesCookies { self.options.insert(.handleCookies) }
        if request.usesCredentialStorage { self.options.insert(.useCredentialStorage) }
        if request.allowsInvalidCertificates { self.options.insert(.allowInvalidCertificates) }
    }

    /// How urgent it is; `normal` by default. Requests that share work run at the highest priority among them.
    ///
    /// ``WebImageOptions/highPriority`` and ``WebImageOptions/lowPriority`` give it its value as long as it is not set.
    public var priority: LoadPriority {
        get { priority(otherwise: .normal) }
        set { chosenPriority = newValue }
    }

    /// ``priority``, or `standard` if neither the request nor its options set one.
    package func priority(otherwise standard: LoadPriority) -> LoadPriority {
        chosenPriority ?? options.priority ?? standard
    }

    /// Who may answer; `cacheFirst` by default.
    ///
    /// ``WebImageOptions/cacheOnly``, ``WebImageOptions/loaderOnly``, ``WebImageOptions/refreshCache`` and
    /// ``WebImageOptions/httpCache`` give it its value as long as it is not set.
    public var cachePolicy: CachePolicy {
        get { chosenCachePolicy ?? options.cachePolicy ?? .cacheFirst }
        set { chosenCachePolicy = newValue }
    }

    /// What few requests say.
    var details: RequestDetails { box?.details ?? .standard }

    mutating func changeDetails(_ change: (inout RequestDetails) -> Void) {
        var details = details
        change(&details)
        box = RequestDetails.Box(details)
    }

    /// Whether nothing in ``details`` was ever set.
    var hasStandardDetails: Bool { box == nil }
}
