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
    /// What the file says about itself, where ``WebImageOptions/ignoreDecoding`` left it undecoded; else `nil`.
    public var info: ImageInfo?
    /// Whether it is what memory had of the picture in another size: a preview for requests without processors.
    var isStandIn = false
    /// Whether it is the picture that was the last preview: the server has confirmed it, and there is nothing new to show.
    public var isUnchanged = false
    /// Until when the disk cache keeps what this was made of; `nil` where it says nothing.
    var expiration: CacheExpiration?

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
