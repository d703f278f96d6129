public import FoundationEssentials

/// The head of a loader's answer.
public struct LoaderResponse: Sendable {
    /// Where the bytes came from in the end, after redirects.
    public var url: URL
    /// The HTTP status; `nil` for a loader without one.
    public var statusCode: Int?
    /// The header fields as they came, in order; empty for a loader without any.
    public var headers: [HTTPField]
    /// How long the body will be, in bytes, where that is known.
    public var expectedByteCount: Int64?
    /// The answers that led on to another URL, in order; empty without redirects.
    public var redirects: [Redirection]

    /// Makes a response.
    public init(
        url: URL, statusCode: Int? = nil, headers: [HTTPField] = [], expectedByteCount: Int64? = nil,
        redirects: [Redirection] = []
    ) {
        self.url = url
        self.statusCode = statusCode
        self.headers = headers
        self.expectedByteCount = expectedByteCount
        self.redirects = redirects
    }

    /// An answer on the way that was a redirect, and was followed.
    public struct Redirection: Sendable, Hashable {
        /// Who answered so.
        public var url: URL
        /// 301, 302, 303, 307 or 308.
        public var statusCode: Int
        /// The header fields as they came, in order.
        public var headers: [HTTPField]

        /// Describes a redirect.
        public init(url: URL, statusCode: Int, headers: [HTTPField] = []) {
            self.url = url
            self.statusCode = statusCode
            self.headers = headers
        }
    }

    /// The value of the last field with that name, in any case.
    public func headerValue(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.last { $0.name.lowercased() == wanted }?.value
    }
}

/// One header field.
public struct HTTPField: Sendable, Hashable, Codable {
    /// Its name as it came; names compare without regard to case.
    public var name: String
    /// Its value without the white space around it.
    public var value: String

    /// Makes a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
