public import FoundationEssentials

/// The head of a loader's response.
///
/// ```swift
/// let response = LoaderResponse(
///     url: url, statusCode: 200, headers: [HTTPHeader(name: "Cache-Control", value: "max-age=60")], expectedByteCount: 4_096)
/// ```
public struct LoaderResponse: Sendable {
    /// The final URL, after redirects.
    public var url: URL
    /// The HTTP status; `nil` for loaders without one.
    public var statusCode: Int?
    /// The header fields as received, in order; empty for loaders without any.
    public var headers: [HTTPHeader]
    /// The length of the body in bytes, if known.
    public var expectedByteCount: Int64?
    /// The redirects that were followed, in order.
    public var redirects: [Redirection] = []

    /// Creates a response.
    public init(
        url: URL, statusCode: Int? = nil, headers: [HTTPHeader] = [], expectedByteCount: Int64? = nil
    ) {
        self.url = url
        self.statusCode = statusCode
        self.headers = headers
        self.expectedByteCount = expectedByteCount
    }

    /// A redirect that was followed.
    public struct Redirection: Sendable {
        /// The URL that redirected.
        public var url: URL
        /// 301, 302, 303, 307 or 308.
        public var statusCode: Int
        /// The header fields as received, in order.
        public var headers: [HTTPHeader]

        /// Creates a redirect.
        ///
        /// - Parameters:
        ///   - url: the URL that redirected.
        ///   - statusCode: 301, 302, 303, 307 or 308.
        ///   - headers: the fields of its response, in order.
        public init(url: URL, statusCode: Int, headers: [HTTPHeader]) {
            self.url = url
            self.statusCode = statusCode
            self.headers = headers
        }
    }

    /// Returns the value of the last field with that name, in any case.
    public func headerValue(_ name: String) -> String? {
        headers.last { $0.isNamed(name) }?.value
    }
}
