public import FoundationEssentials
import WebImageCaching
public import WebImageCore

/// A loaded image and where it came from.
///
/// ```swift
/// let response = try await manager.response(for: WebImageRequest(url))
/// print(response.origin, response.image.pixels.size, response.attempts.count)
/// ```
public struct WebImageResponse: Sendable {
    // One reference: a response passes through jobs, operations and queues, which copy it often.
    private var content: Content

    // `@unchecked`: a response changes its content only while it has the only reference.
    private final class Content: @unchecked Sendable {
        var image: Image
        var url: URL
        var origin: ImageOrigin
        var data: Data?
        var metrics: LoaderMetrics?
        var attempts: [LoadAttempt] = []
        var info: ImageInfo?
        var userInfo: [String: any Sendable] = [:]
        var previewKind = PreviewKind.stored
        var isReduced = false
        var isUnchanged = false
        var expiration: CacheExpiration?
        var isForMemory = true
        var variantStore: Job<Bool, NoNews>?
        var recorder: (TraceRecorder, start: BootTime)?

        init(image: Image, url: URL, origin: ImageOrigin) {
            self.image = image
            self.url = url
            self.origin = origin
        }

        init(_ other: Content) {
            (image, url, origin) = (other.image, other.url, other.origin)
            (data, metrics, attempts, info) = (other.data, other.metrics, other.attempts, other.info)
            (userInfo, previewKind) = (other.userInfo, other.previewKind)
            (isReduced, isUnchanged, isForMemory) = (other.isReduced, other.isUnchanged, other.isForMemory)
            (expiration, variantStore, recorder) = (other.expiration, other.variantStore, other.recorder)
        }
    }

    /// Creates a response for an image that a program has already, such as one to show in a view.
    ///
    /// - Parameters:
    ///   - image: the image.
    ///   - url: the URL of the request.
    ///   - origin: where the image comes from.
    ///   - data: the encoded bytes; `nil` by default.
    ///   - metrics: those of a transfer; `nil` by default.
    public init(
        image: Image, url: URL, origin: ImageOrigin, data: Data? = nil, metrics: LoaderMetrics? = nil
    ) {
        content = Content(image: image, url: url, origin: origin)
        content.data = data
        content.metrics = metrics
    }

    /// Returns the response as an operation delivers it, with a single copy.
    func delivered(
        attempts: [LoadAttempt], userInfo: [String: any Sendable],
        _ recorder: (TraceRecorder, start: BootTime)
    ) -> WebImageResponse {
        var response = self
        let content = response.ownContent
        (content.attempts, content.userInfo, content.recorder) = (attempts, userInfo, recorder)
        return response
    }

    /// The content, to change it.
    private var ownContent: Content {
        mutating get {
            if !isKnownUniquelyReferenced(&content) { content = Content(content) }
            return content
        }
    }

    /// The image.
    public package(set) var image: Image {
        get { content.image }
        set { ownContent.image = newValue }
    }
    /// The requested URL.
    public var url: URL { content.url }
    /// Where the image came from.
    public package(set) var origin: ImageOrigin {
        get { content.origin }
        set { ownContent.origin = newValue }
    }
    /// The original bytes of the file; `nil` for an image from memory, unless ``WebImageOptions/queryMemoryData`` is
    /// set.
    public package(set) var data: Data? {
        get { content.data }
        set { ownContent.data = newValue }
    }
    /// Measurements of the transfer; `nil` without one, and from a loader that does not measure.
    public package(set) var metrics: LoaderMetrics? {
        get { content.metrics }
        set { ownContent.metrics = newValue }
    }
    /// The attempts at a loader; empty for an image that needed none.
    public package(set) var attempts: [LoadAttempt] {
        get { content.attempts }
        set { ownContent.attempts = newValue }
    }
    /// The information in the file's header, if ``WebImageOptions/ignoreDecoding`` left it undecoded; otherwise `nil`.
    public package(set) var info: ImageInfo? {
        get { content.info }
        set { ownContent.info = newValue }
    }
    /// The values of the request; see ``WebImageRequest/userInfo``.
    public package(set) var userInfo: [String: any Sendable] {
        get { content.userInfo }
        set { ownContent.userInfo = newValue }
    }
    /// Whether the image is that of the last preview, so that there is nothing new to show. Either the server has
    /// confirmed it, or the server failed and the stored image is the result.
    public package(set) var isUnchanged: Bool {
        get { content.isUnchanged }
        set { ownContent.isUnchanged = newValue }
    }
    /// The kind of preview; ``PreviewKind/stored`` for every result.
    var previewKind: PreviewKind {
        get { content.previewKind }
        set { ownContent.previewKind = newValue }
    }
    /// Whether the image was made from a larger one in memory.
    var isReduced: Bool {
        get { content.isReduced }
        set { ownContent.isReduced = newValue }
    }
    /// When the disk cache's copy of the original expires; `nil` if that is not known.
    var expiration: CacheExpiration? {
        get { content.expiration }
        set { ownContent.expiration = newValue }
    }
    /// Whether memory may store images made from this one.
    var isForMemory: Bool {
        get { content.isForMemory }
        set { ownContent.isForMemory = newValue }
    }
    /// Stores the variant on disk, if the request requires it.
    var variantStore: Job<Bool, NoNews>? {
        get { content.variantStore }
        set { ownContent.variantStore = newValue }
    }
    /// The recorder of the trace, and when the load started for the caller.
    var recorder: (TraceRecorder, start: BootTime)? {
        get { content.recorder }
        set { ownContent.recorder = newValue }
    }

    /// The trace of the load. Each access creates a new one.
    public var trace: LoadTrace {
        guard let (recorder, start) = recorder else { return LoadTrace() }
        return recorder.trace(from: start)
    }
}

/// A kind of preview.
enum PreviewKind: Sendable {
    /// A complete image, which may turn out to be the result.
    case stored
    /// An image in memory with another size.
    case otherSize
    /// The part of the image that has arrived.
    case arriving
}

/// A response from ``WebImageManager/data(for:)``, from the server or from the cache.
public struct WebDataResponse: Sendable {
    /// The body; empty for a response without one, such as to a HEAD request.
    public internal(set) var data: Data
    /// The status, also of an error; `nil` from a loader without HTTP, and for bytes that were stored without a head.
    public internal(set) var statusCode: Int?
    /// The header fields. A response from the cache has its age in an `Age` field, and lacks fields that must not be
    /// reused without revalidation.
    public internal(set) var headers: [HTTPHeader]
    /// The final URL, after redirects.
    public internal(set) var url: URL
    /// Where the response came from.
    var origin: ImageOrigin
    /// Whether the body came from the cache, and the server has just confirmed that it is current.
    var isConfirmed: Bool
    /// Whether a cached response was served that is no longer fresh, because the server allows that or because the
    /// policy does not contact the server.
    var isStale: Bool
    /// Measurements of the transfer; `nil` without one, and from a loader that does not measure.
    var metrics: LoaderMetrics?
    /// The trace of the load.
    var trace: LoadTrace
    /// The judgments of the body that shared caches wait for before they store it: a caller that decodes it tells them the result.
    public internal(set) var judgments: [BodyJudgment] = []

    /// Returns the value of the last field with this name, in any case.
    func headerValue(_ name: String) -> String? {
        headers.last { $0.isNamed(name) }?.value
    }
}

/// An event of a load.
///
/// ```swift
/// for await event in manager.events(for: WebImageRequest(url, options: .progressive)) {
///     switch event {
///     case .progress(let received, let expected): print(received, expected as Any)
///     case .preview(let image): show(image)
///     case .finished(let result): print(result)
///     }
/// }
/// ```
public enum LoadEvent: Sendable {
    /// Bytes have arrived. The first event has 0; `expected` is `nil` if the length is unknown. Unread progress is
    /// replaced by newer progress. Progress starts again at 0 with each attempt at a loader after the first.
    case progress(received: Int64, expected: Int64?)
    /// An image to show until the end, such as a stored one while it is revalidated. An unread
    /// preview is replaced by the next.
    case preview(Image)
    /// The result, sent exactly once.
    case finished(Result<WebImageResponse, WebImageError>)
}
