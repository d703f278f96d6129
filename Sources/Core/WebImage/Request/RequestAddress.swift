import FoundationEssentials
import Glibc
import WebImageCaching
import WebImageLoading

/// The URL of a request, and what each load needs to know of it, found out once. Copies of a request share it.
final class RequestAddress: Sendable {
    let url: URL
    /// The absolute URL.
    let text: String
    /// Whether the scheme is http or https.
    let isHTTP: Bool
    /// The pixels per point that the file name implies.
    let scale: Double
    /// The cache key of the original for a request with nothing but a URL; `nil` if the URL's text is not the key's.
    let key: ImageCacheKey?

    init(_ url: URL) {
        self.url = url
        text = url.absoluteString
        isHTTP = text.beginsWithScheme("https") || text.beginsWithScheme("http")
        let mayNameScale = text.hasByte(UInt8(ascii: "@")) || text.hasByte(UInt8(ascii: "%"))
        scale = mayNameScale ? WebImageRequest.scale(inNameOf: text) : 1
        key = WebImageRequest.isSource(text) ? ImageCacheKey(source: text) : nil
    }
}

extension String {
    /// Whether the text has an ASCII character. Every request looks for some, so the C library does.
    func hasByte(_ byte: UInt8) -> Bool {
        utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, Int32(byte), bytes.count) != nil } ?? false
        } ?? utf8.contains(byte)
    }
}
