public import FoundationEssentials

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
    /// Header fields for the server, by name. Those that carry credentials (Authorization, Cookie) become part of the
    /// cache key, so that one user never sees another's picture.
    public var headers: [String: String]

    /// Makes a request.
    public init(
        _ url: URL, options: WebImageOptions = [], priority: LoadPriority = .normal,
        cachePolicy: CachePolicy = .cacheFirst, thumbnail: Thumbnail? = nil, scale: Double = 1,
        headers: [String: String] = [:]
    ) {
        self.url = url
        self.options = options
        self.priority = priority
        self.cachePolicy = cachePolicy
        self.thumbnail = thumbnail
        self.scale = scale
        self.headers = headers
    }
}
