public import FoundationEssentials

/// The metrics of a load over HTTP: every exchange with a server, and totals.
///
///     load ── queue ──► exchange (302) ── queue ──► exchange (200) ──► end
///             └──────── queueDuration ────┘
///     └────────────────────── totalDuration ─────────────────────────┘
///
/// ```swift
/// let response = try await manager.response(for: WebImageRequest(url))
/// if let metrics = response.metrics { print(metrics.totalDuration, metrics.wireByteCount, metrics.redirectCount) }
/// ```
public struct LoaderMetrics: Sendable {
    /// The exchanges in order. The last is the response; those before it led to it, such as redirects.
    public var exchanges: [Exchange] = []
    /// The number of redirects that were followed.
    public package(set) var redirectCount = 0
    /// The total time spent waiting for a slot, before the first exchange and between exchanges.
    public package(set) var queueDuration = Duration.zero
    /// The time from the call of `load` to the end.
    public var totalDuration = Duration.zero
    /// The number of decoded bytes delivered to the caller.
    public package(set) var decodedByteCount: Int64 = 0
    /// The duration of the exchanges, without the time during which the reader paused them. Counts towards
    /// ``LoaderRequest/totalTimeout``.
    public package(set) var activeDuration = Duration.zero

    init() {}

    /// The size of all headers and bodies received, in bytes on the wire, without the framing of chunks, HTTP/2 and
    /// TLS.
    public var wireByteCount: Int64 { exchanges.reduce(0) { $0 + $1.headerByteCount + $1.bodyByteCount } }

    /// One request and its response.
    ///
    /// ```swift
    /// for exchange in try await manager.response(for: WebImageRequest(url)).metrics?.exchanges ?? [] {
    ///     print(exchange.url, exchange.statusCode ?? 0, exchange.firstByteDuration, exchange.isConnectionReused)
    /// }
    /// ```
    public struct Exchange: Sendable {
        /// The requested URL.
        public package(set) var url: URL
        /// The status; `nil` if no head arrived.
        public var statusCode: Int?
        /// The duration of the name lookup; zero on a reused connection.
        public var nameLookupDuration: Duration
        /// The duration of connecting after the lookup, without TLS; zero on a reused connection.
        public var connectDuration: Duration
        /// The duration of the TLS handshake after that; zero without TLS, and on a reused connection.
        public var secureDuration: Duration
        /// The time from the start of the exchange to the first byte of the response; zero if none arrived.
        public var firstByteDuration: Duration
        /// The time from the start of the exchange to its end.
        public var totalDuration: Duration
        /// Whether an existing connection was reused.
        public package(set) var isConnectionReused: Bool
        /// The HTTP version; `nil` if no head arrived.
        public package(set) var httpVersion: HTTPVersion?
        /// The address of the server, or of a proxy; `nil` if no connection was established.
        public package(set) var remoteAddress: String?
        /// The port of the server, or of a proxy; `nil` if no connection was established.
        public package(set) var remotePort: Int?
        /// The size of the response's head in bytes, decompressed.
        public package(set) var headerByteCount: Int64
        /// The size of the body in bytes on the wire, that is, before content decoding.
        public package(set) var bodyByteCount: Int64
        /// The time from the start of the load to the start of the exchange.
        public package(set) var startDuration = Duration.zero
        /// The header fields of the response as received, in order.
        public package(set) var responseHeaders: [HTTPHeader] = []
        /// The encryption of the connection; `nil` without TLS, and if libcurl's TLS library does not tell.
        public package(set) var security: Security?
        var sentFields: [HTTPHeader] = []

        /// The header fields of the request, without those that libcurl adds itself. Values that identify the user,
        /// such as credentials and cookies, are replaced by an ellipsis.
        public var requestHeaders: [HTTPHeader] {
            sentFields.map { field in
                Self.secretNames.contains(field.name.lowercased()) ? HTTPHeader(name: field.name, value: "…") : field
            }
        }

        private static let secretNames: Set = ["authorization", "proxy-authorization", "cookie"]
    }

    /// The encryption of a connection.
    public struct Security: Sendable, Equatable {
        /// The version of TLS, such as `TLSv1.3`.
        public package(set) var version: String
        /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
        public package(set) var cipher: String
        /// The server's certificate; `nil` if it is unknown.
        public package(set) var certificate: Certificate?

        init(version: String, cipher: String, certificate: Certificate? = nil) {
            self.version = version
            self.cipher = cipher
            self.certificate = certificate
        }
    }

    /// A certificate.
    public struct Certificate: Sendable, Equatable {
        /// The common name or organization of the server.
        public package(set) var subject: String
        /// The common name or organization of the authority.
        public package(set) var issuer: String
        /// The last moment at which it is valid.
        public package(set) var expires: Date

        init(subject: String, issuer: String, expires: Date) {
            self.subject = subject
            self.issuer = issuer
            self.expires = expires
        }
    }

    /// An HTTP version.
    public enum HTTPVersion: String, Sendable {
        /// HTTP/1.0.
        case http1_0 = "HTTP/1.0"
        /// HTTP/1.1.
        case http1_1 = "HTTP/1.1"
        /// HTTP/2.
        case http2 = "HTTP/2"
        /// HTTP/3.
        case http3 = "HTTP/3"

        /// The latest version with that major number; the nearest one for other numbers.
        init(major: Int) { self = major < 2 ? .http1_1 : major == 2 ? .http2 : .http3 }
    }
}
