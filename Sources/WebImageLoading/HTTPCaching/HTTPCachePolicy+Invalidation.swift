package import FoundationEssentials

extension HTTPCachePolicy {
    /// The URLs of which nothing stored is good any more after an answer to a method that changes things (RFC 9111, 4.4): the
    /// request's own, and those of the same origin that the answer points to.
    package static func urlsInvalidated(
        byMethod method: String, of url: URL, statusCode: Int, headers: [HTTPField]
    ) -> [URL] {
        guard !safeMethods.contains(method), (200..<400).contains(statusCode) else { return [] }
        let others = ["Location", "Content-Location"]
            .compactMap { headers.values(named: $0).first }
            .compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            .filter { HTTPOrigin($0) == HTTPOrigin(url) && $0 != url }
        return [url] + others
    }

    /// RFC 9110, 9.2.1.
    private static let safeMethods: Set = ["GET", "HEAD", "OPTIONS", "TRACE"]
}
