public import FoundationEssentials
import WebImageCaching
public import WebImageCore

/// A loaded picture and where it came from.
public struct WebImageResponse: Sendable {
    /// The picture.
    public var image: Image
    /// The URL that was asked for.
    public var url: URL
    /// Who answered.
    public var origin: ImageOrigin
    /// The file's bytes as they came; `nil` for a picture from memory, which keeps pixels only.
    public var data: Data?
    /// How the transfer went; `nil` for a picture that came without one, and from a loader that does not measure.
    public var metrics: LoaderMetrics?
    /// How often a loader was asked for it, and what came of it; empty for a picture that came without one.
    public var attempts: [LoadAttempt] = []
    /// What the file says about itself, where ``WebImageOptions/ignoreDecoding`` left it undecoded; else `nil`.
    public var info: ImageInfo?
    /// The request's own; see ``WebImageRequest/userInfo``.
    public var userInfo: [String: any Sendable] = [:]
    /// What it is before the end; every end is ``PreviewKind/stored``.
    var previewKind = PreviewKind.stored
    /// Whether it was made of a larger picture in memory.
    var isReduced = false
    /// Whether it is the picture that was the last preview: the server has confirmed it, or what it was shown for could not
    /// be had, and there is nothing new to show.
    public var isUnchanged = false
    /// Until when the disk cache keeps what this was made of; `nil` where it says nothing.
    var expiration: CacheExpiration?
    /// Whether memory may keep what is made of it.
    var isForMemory = true
    /// Stores the variant on disk, if the request asks for that.
    var variantStore: Job<Bool, NoNews>?
    /// What has noted how it came about, and when that began for whoever asked.
    var recorder: (TraceRecorder, start: ContinuousClock.Instant)?

    /// What happened on the way to it; made of notes each time it is asked for.
    public var trace: LoadTrace {
        guard let (recorder, start) = recorder else { return LoadTrace() }
        return recorder.trace(from: start)
    }

    /// Makes a response.
    public init(
        image: Image, url: URL, origin: ImageOrigin, data: Data? = nil, metrics: LoaderMetrics? = nil
    ) {
        self.image = image
        self.url = url
        self.origin = origin
        self.data = data
        self.metrics = metrics
    }
}
