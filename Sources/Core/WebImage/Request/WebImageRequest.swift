public import FoundationEssentials
public import WebImageCore
public import WebImageLoading
public import WebImageProcessing

/// A request for an image: its URL, its size and its processors, and how to load it.
///
/// ```swift
/// // An image that fits into 320 × 240 pixels, and one of 320 × 240 pixels, whose edges are cut off.
/// var request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 320, height: 240)))
/// let tile = WebImageRequest(url, filling: .pixels(width: 320, height: 240))
/// request.priority = .high
/// ```
///
/// A request is small and quick to copy. Rarely used properties are in one object, which copies share until one of them
/// sets such a property.
public struct WebImageRequest: Sendable {
    /// The URL of the image.
    public var url: URL {
        get { address.url }
        set { address = RequestAddress(newValue) }
    }
    private(set) var address: RequestAddress
    /// The options; none by default.
    public var options: WebImageOptions
    /// The requested size in pixels; `nil`, the default, returns all pixels of the file.
    /// ``TargetSize`` is in pixels or in points.
    public var thumbnail: Thumbnail?
    /// The pixels per point of the result; `nil`, the default, uses the scale that the file name implies: 2 for
    /// `photo@2x.png`, 3 for `photo@3x.png`, otherwise 1.
    public var scale: Double?
    /// The processors of the decoded image, in this order; empty by default. For an animation, each frame is processed
    /// when it is shown.
    ///
    /// Requests whose first processors are the same share that part of the work. Only the result is stored in memory,
    /// under a key that contains all processors. The disk cache stores the original.
    public var processors: [ImageProcessor]

    /// Whether a thumbnail or processed image is also stored as pixels on disk, and read from there without decoding
    /// (``ImageCache/Configuration/pixelByteLimit``).
    ///
    /// `true` stores it when it is first made, `false` never. `nil`, the default, stores it if it is for a view, or is
    /// made from bytes that were on disk before. Images of loaders whose bytes are not stored, animations, and requests
    /// that do not use the memory cache have none.
    public var keepsPixels: Bool?
    private var chosenPriority: LoadPriority?
    /// Which of memory, disk and server may answer; ``CachePolicy/cacheFirst`` by default.
    public var cachePolicy: CachePolicy
    /// `nil` as long as nothing in ``details`` was set.
    private(set) var box: RequestDetails.Box?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: the URL of the image.
    ///   - options: the options; none by default.
    ///   - priority: `nil` is ``LoadPriority/normal``; a view then chooses by whether it is on screen.
    ///   - cachePolicy: which of memory, disk and server may answer.
    ///   - thumbnail: the requested size; `nil` for all pixels of the file.
    ///   - scale: the pixels per point of the result; `nil` for the scale that the file name implies.
    ///   - processors: the processors of the decoded image, in this order.
    ///   - headers: header fields of the request to the server.
    ///   - credential: for a server that requires one.
    ///   - idleTimeout: the longest time without a byte; `nil` for the downloader's.
    public init(
        _ url: URL, options: WebImageOptions = [], priority: LoadPriority? = nil,
        cachePolicy: CachePolicy = .cacheFirst,
        thumbnail: Thumbnail? = nil, scale: Double? = nil, processors: [ImageProcessor] = [],
        headers: [String: String] = [:], credential: Credential? = nil, idleTimeout: Duration? = nil
    ) {
        address = RequestAddress(url)
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

    /// Creates a request for an image that fills a box exactly: what extends beyond it at two sides is cut off. The image is decoded no
    /// larger than that needs.
    ///
    /// ```swift
    /// let request = WebImageRequest(url, filling: .pixels(width: 300, height: 300))
    /// ```
    ///
    /// It has a ``thumbnail`` that covers the box, and ``ImageProcessor/resize(toFill:focus:filter:allowsUpscaling:)`` as the first of its
    /// ``processors``. An image that is smaller than the box is not enlarged.
    ///
    /// - Parameters:
    ///   - url: the URL of the image.
    ///   - size: the box. If only one side is given, the other follows from the image's proportions.
    ///   - focus: the point of the image that is in the center of the box, as far as the image extends; the image's center by default.
    ///   - options: the options; none by default.
    ///   - priority: `nil` is ``LoadPriority/normal``; a view then chooses by whether it is on screen.
    ///   - cachePolicy: which of memory, disk and server may answer.
    ///   - scale: the pixels per point of a box in points, and of the result; `nil` for 1, and for the scale that the file name implies.
    ///   - processors: applied to the image that fills the box.
    public init(
        _ url: URL, filling size: TargetSize, focus: FocalPoint = .center, options: WebImageOptions = [],
        priority: LoadPriority? = nil, cachePolicy: CachePolicy = .cacheFirst, scale: Double? = nil,
        processors: [ImageProcessor] = []
    ) {
        let thumbnail = Thumbnail(size, scale: scale ?? 1, mode: .aspectFill)
        // In pixels, so that the scale that the file name implies does not change the size.
        let box = TargetSize.pixels(
            width: thumbnail.size.width > 0 ? thumbnail.size.width : nil,
            height: thumbnail.size.height > 0 ? thumbnail.size.height : nil)
        self.init(
            url, options: options, priority: priority, cachePolicy: cachePolicy, thumbnail: thumbnail, scale: scale,
            processors: [.resize(toFill: box, focus: focus, allowsUpscaling: false)] + processors)
    }

    /// Creates a request for the URL in a text, as the initializer for a `URL` does.
    ///
    /// ```swift
    /// let request = try WebImageRequest("https://example.org/photo.jpg", thumbnail: Thumbnail(.pixels(width: 320)))
    /// ```
    ///
    /// White space around the URL is left out, and characters that a URL cannot contain are percent-encoded, as in
    /// browsers.
    ///
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a text that is not a URL with a scheme, such as a path, and
    ///   for an `http` URL without a host.
    public init(
        _ text: String, options: WebImageOptions = [], priority: LoadPriority? = nil,
        cachePolicy: CachePolicy = .cacheFirst,
        thumbnail: Thumbnail? = nil, scale: Double? = nil, processors: [ImageProcessor] = [],
        headers: [String: String] = [:], credential: Credential? = nil, idleTimeout: Duration? = nil
    ) throws(WebImageError) {
        self.init(
            try Self.url(text), options: options, priority: priority, cachePolicy: cachePolicy, thumbnail: thumbnail,
            scale: scale, processors: processors, headers: headers, credential: credential, idleTimeout: idleTimeout)
    }

    /// Creates a request for an image that fills a box exactly, from the URL in a text; as
    /// ``init(_:filling:focus:options:priority:cachePolicy:scale:processors:)`` does for a `URL`.
    ///
    /// ```swift
    /// let request = try WebImageRequest("https://example.org/photo.jpg", filling: .pixels(width: 300, height: 300))
    /// ```
    ///
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a text that is not a URL with a scheme, and for an `http` URL without a host.
    public init(
        _ text: String, filling size: TargetSize, focus: FocalPoint = .center, options: WebImageOptions = [],
        priority: LoadPriority? = nil, cachePolicy: CachePolicy = .cacheFirst, scale: Double? = nil,
        processors: [ImageProcessor] = []
    ) throws(WebImageError) {
        self.init(
            try Self.url(text), filling: size, focus: focus, options: options, priority: priority,
            cachePolicy: cachePolicy, scale: scale, processors: processors)
    }

    private static func url(_ text: String) throws(WebImageError) -> URL {
        let url = try URL(address: text)
        guard url.scheme != nil else { throw .invalidURL(text) }
        try url.checkAddress()
        return url
    }

    /// Creates a request from a loader's request, with its URL, method, body, headers, credential, time limits, and settings for
    /// cookies, stored credentials and certificates.
    init(_ request: LoaderRequest, options: WebImageOptions = []) {
        self.init(
            request.url, options: options, headers: request.headers, credential: request.credential,
            idleTimeout: request.idleTimeout)
        if request.method != .get { method = request.method }
        if let body = request.body { self.body = body }
        if let limit = request.totalTimeout { totalTimeout = limit }
        if request.handlesCookies { handlesCookies = true }
        if request.usesCredentialStorage { usesCredentialStorage = true }
        if request.allowsInvalidCertificates { allowsInvalidCertificates = true }
    }

    /// The priority; `normal` by default. Requests that share work run at the highest priority among them. A view waits
    /// with a load of ``LoadPriority/low`` until scrolling around it has ended.
    public var priority: LoadPriority {
        get { priority(otherwise: .normal) }
        set { chosenPriority = newValue }
    }

    /// Returns ``priority``, or `standard` if it was not set.
    public func priority(otherwise standard: LoadPriority) -> LoadPriority {
        chosenPriority ?? standard
    }

    /// The properties that few requests set. This copies all of them and retains their objects; ``detail(_:)`` reads one.
    var details: RequestDetails { box?.details ?? .standard }

    /// Returns a property of ``details``.
    @inline(__always)
    func detail<Value>(_ property: (RequestDetails) -> Value) -> Value {
        if let box { property(box.details) } else { property(.standard) }
    }

    mutating func changeDetails(_ change: (inout RequestDetails) -> Void) {
        var details = details
        change(&details)
        box = RequestDetails.Box(details)
    }

    /// Whether no property in ``details`` was ever set.
    var hasStandardDetails: Bool { box == nil }
}

extension WebImageRequest {
    /// The pixels per point that the file name implies: 2 for `photo@2x.png`, 3 for `photo@3x.png`, otherwise 1. The at
    /// sign may be written as `%40`.
    var impliedScale: Double { address.scale }

    /// The scale of the result.
    var resolvedScale: Double { chosenScale ?? impliedScale }

    /// The request's own scale, if it is valid.
    var chosenScale: Double? { scale.flatMap { $0.isFinite && $0 > 0 ? $0 : nil } }

    /// Returns the scale from `@2x` or `@3x` before the last dot of the path's last component; 1 without it.
    static func scale(inNameOf address: String) -> Double {
        var address = address
        return address.withUTF8 { bytes in
            let path = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            guard let dot = path.lastIndex(of: UInt8(ascii: ".")) else { return 1 }
            let name = path[..<dot].suffix(5)
            guard !path[dot...].contains(UInt8(ascii: "/")), name.last == UInt8(ascii: "x") else { return 1 }
            let digit = name.dropLast().last
            let sign = name.dropLast(2)
            guard sign.last == UInt8(ascii: "@") || sign.elementsEqual("%40".utf8) else { return 1 }
            return digit == UInt8(ascii: "2") ? 2 : digit == UInt8(ascii: "3") ? 3 : 1
        }
    }
}
