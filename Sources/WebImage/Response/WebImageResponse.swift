public import FoundationEssentials
import WebImageCaching
public import WebImageCore

/// A loaded image and where it came from.
public struct WebImageResponse: Sendable {
    /// The image.
    public var image: Image
    /// The requested URL.
    public var url: URL
    /// Where the image came from.
    public var origin: ImageOrigin
    /// The original bytes of the file; `nil` for an image from memory, unless ``WebImageOptions/queryMemoryData`` is set.
    public var data: Data?
    /// Measurements of the transfer; `nil` without one, and from a loader that does not measure.
    public var metrics: LoaderMetrics?
    /// The attempts at a loader; empty for an image that needed none.
    public var attempts: [LoadAttempt] = []
    /// The information in the file's header, if ``WebImageOptions/ignoreDecoding`` left it undecoded; otherwise `nil`.
    public var info: ImageInfo?
    /// The values of the request; see ``WebImageRequest/userInfo``.
    public var userInfo: [String: any Sendable] = [:]
    /// The kind of preview; ``PreviewKind/stored`` for every result.
    var previewKind = PreviewKind.stored
    /// Whether the image was made from a larger one in memory.
    var isReduced = false
    /// Whether the image is that of the last preview, so that there is nothing new to show. Either the server has confirmed it,
    /// or the server failed and the stored image is the result.
    public var isUnchanged = false
    /// When the disk cache's copy of the original expires; `nil` if that is not known.
    var expiration: CacheExpiration?
    /// Whether memory may store images made from this one.
    var isForMemory = true
    /// Stores the variant on disk, if the request asks for that.
    var variantStore: Job<Bool, NoNews>?
    /// The recorder of the trace, and when the load started for the caller.
    var recorder: (TraceRecorder, start: ContinuousClock.Instant)?

    /// What happened during the load. Each access creates a new trace.
    public var trace: LoadTrace {
        guard let (recorder, start) = recorder else { return LoadTrace() }
        return recorder.trace(from: start)
    }

    package init(
        image: Image, url: URL, origin: ImageOrigin, data: Data? = nil, metrics: LoaderMetrics? = nil
    ) {
        self.image = image
        self.url = url
        self.origin = origin
        self.data = data
        self.metrics = metrics
    }
}
