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
    /// Which of memory, disk and server may answer; ``CachePolicy/cacheFirst`` by default.
    public var cachePolicy: CachePolicy
    /// `nil` as long as nothing in ``details`` was set. What every load asks for is read in the object itself: `details` is a
    /// copy of all, with a reference more to whatever is in it.
    private(set) var box: RequestDetails.Box?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - priority: `nil` is ``LoadPriority/normal``; a view then chooses by whether it is on screen.
    public init(
        _ url: URL, options: WebImageOptions = [], priority: LoadPriority? = nil,
        cachePolicy: CachePolicy = .cacheFirst,
        thumbnail: Thumbnail? = nil, scale: Double? = nil, processors: [any ImageProcessor] = [],
        headers: [String: String] = [:], credential: Credential? = nil, idleTimeout: Duration? = nil
    ) {
        self.url = url
        self.options = options
        self.thumbnail = thumbnail
        self.scale = scale
        self.processors = processors
        chosenPriority = priority
        self.cachePolicy = cachePolicy
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
        if request.handlesCookies { handlesCookies = true }
        if request.usesCredentialStorage { usesCredentialStorage = true }
        if request.allowsInvalidCertificates { allowsInvalidCertificates = true }
    }

    /// The priority; `normal` by default. Requests that share work run at the highest priority among them. A view waits with a
    /// load of ``LoadPriority/low`` until scrolling around it has ended.
    public var priority: LoadPriority {
        get { priority(otherwise: .normal) }
        set { chosenPriority = newValue }
    }

    /// Returns ``priority``, or `standard` if it was not set.
    package func priority(otherwise standard: LoadPriority) -> LoadPriority {
        chosenPriority ?? standard
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
