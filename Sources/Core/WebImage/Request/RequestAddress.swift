import FoundationEssentials
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
        var text = url.absoluteString
        let marks = text.withUTF8(Marks.init)
        self.text = text
        isHTTP = marks.isHTTP
        scale = marks.hasAt || marks.hasPercent ? WebImageRequest.scale(inNameOf: text) : 1
        key = marks.isSource ? ImageCacheKey(source: text) : nil
    }

    /// The URL without user information. A text that is a cache key has none.
    var bareURL: URL { key == nil ? url.separatedFromUserInfo.url : url }

    /// What the bytes of a URL tell in one pass.
    private struct Marks {
        let isHTTP: Bool
        let (hasAt, hasPercent): (Bool, Bool)
        /// Whether the text is the source of a cache key as it is: without user information, without a fragment, and not too long. The
        /// marks of the first two are looked for, which is quick; other texts may contain them, too.
        let isSource: Bool

        init(_ bytes: UnsafeBufferPointer<UInt8>) {
            // Without branches, so that the processor compares many bytes at once.
            var (at, percent, fragment): (UInt8, UInt8, UInt8) = (0, 0, 0)
            for byte in bytes {
                at |= byte == UInt8(ascii: "@") ? 1 : 0
                percent |= byte == UInt8(ascii: "%") ? 1 : 0
                fragment |= byte == UInt8(ascii: "#") ? 1 : 0
            }
            (hasAt, hasPercent) = (at != 0, percent != 0)
            isSource = at | fragment == 0 && bytes.count <= WebImageRequest.longestAddress
            // Only letters change with the bit that is set.
            let (http, colon): (StaticString, _) = ("https", UInt8(ascii: ":"))
            isHTTP =
                bytes.count > 5 && (0..<4).allSatisfy { bytes[$0] | 0x20 == http.utf8Start[$0] }
                && (bytes[4] == colon || bytes[4] | 0x20 == http.utf8Start[4] && bytes[5] == colon)
        }
    }
}
