import FoundationEssentials
import WebImageCaching

/// The URL of a request, and what each load needs to know of it, found out once. Copies of a request share it.
final class RequestAddress: Sendable {
    let url: URL
    /// The absolute URL.
    let text: String
    /// The pixels per point that the file name implies.
    let scale: Double
    /// The cache key of the original for a request with nothing but a URL; `nil` if the URL's text is not the key's.
    let key: ImageCacheKey?

    init(_ url: URL) {
        self.url = url
        text = url.absoluteString
        scale = WebImageRequest.scale(inNameOf: text)
        key = WebImageRequest.isSource(text) ? ImageCacheKey(source: text) : nil
    }
}
