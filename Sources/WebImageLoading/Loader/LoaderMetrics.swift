public import FoundationEssentials

/// How a load over HTTP went: every exchange with a server, and sums over all of them.
///
///     load ── queue ──► exchange (302) ── queue ──► exchange (200) ──► end
///             └──────── queueDuration ────┘
///     └────────────────────── totalDuration ─────────────────────────┘
public struct LoaderMetrics: Sendable, Hashable {
    /// The exchanges in order; the last brought the answer, those before it led there.
    public var exchanges: [Exchange]
    /// How many redirects were followed.
    public var redirectCount: Int
    /// The time spent waiting for a slot, before the first exchange and between any two.
    public var queueDuration: Duration
    /// From the call of `load` to the end.
    public var totalDuration: Duration
    /// The bytes of all bodies that were wanted, after decoding: what the caller got.
    public var decodedByteCount: Int64
    /// How long the exchanges took, without the time during which the reader held them back: what counts against
    /// ``LoaderRequest/totalTimeout``.
    package var activeDuration = Duration.zero

    /// Makes metrics.
    public init(
        exchanges: [Exchange] = [], redirectCount: Int = 0, queueDuration: Duration = .zero,
        totalDuration: Duration = .zero, decodedByteCount: Int64 = 0
    ) {
        self.exchanges = exchanges
        self.redirectCount = redirectCount
        self.queueDuration = queueDuration
        self.totalDuration = totalDuration
        self.decodedByteCount = decodedByteCount
    }

    /// The bytes of all headers and bodies received, as they came over the wire; without the framing of chunks, HTTP/2
    /// and TLS.
    public var wireByteCount: Int64 { exchanges.reduce(0) { $0 + $1.headerByteCount + $1.bodyByteCount } }

    /// One request and its answer.
    public struct Exchange: Sendable, Hashable {
        /// What was asked for.
        public var url: URL
        /// The status; `nil` where no head arrived.
        public var statusCode: Int?
        /// How long the name look-up took; zero on a connection used again.
        public var nameLookupDuration: Duration
        /// How long the connection then took, without TLS; zero on a connection used again.
        public var connectDuration: Duration
        /// How long TLS then took; zero without it, and on a connection used again.
        public var secureDuration: Duration
        /// From the start of the exchange to the first byte of the answer; zero where none arrived.
        public var firstByteDuration: Duration
        /// From the start of the exchange to its end.
        public var totalDuration: Duration
        /// Whether the connection was there already.
        public var isConnectionReused: Bool
        /// The protocol spoken; `nil` where no head arrived.
        public var httpVersion: HTTPVersion?
        /// The server's, or a proxy's, address and port; `nil` where no connection came about.
        public var remoteAddress: String?, remotePort: Int?
        /// The bytes of the answer's head, decompressed.
        public var headerByteCount: Int64
        /// The bytes of the body as they came over the wire: coded, where a content coding was in use.
        public var bodyByteCount: Int64
    }

    /// A version of HTTP.
    public enum HTTPVersion: String, Sendable, Hashable {
        /// HTTP/1.0.
        case http1_0 = "HTTP/1.0"
        /// HTTP/1.1.
        case http1_1 = "HTTP/1.1"
        /// HTTP/2.
        case http2 = "HTTP/2"
        /// HTTP/3.
        case http3 = "HTTP/3"
    }
}

extension LoaderMetrics.Exchange {
    /// Takes the phases apart: the transport counts them all from the start.
    init(url: URL, statusCode: Int?, _ transfer: TransferMetrics) {
        self.url = url
        self.statusCode = statusCode
        nameLookupDuration = transfer.nameLookup
        connectDuration = max(.zero, transfer.connect - transfer.nameLookup)
        secureDuration = transfer.secure > .zero ? max(.zero, transfer.secure - transfer.connect) : .zero
        firstByteDuration = transfer.firstByte
        totalDuration = transfer.total
        isConnectionReused = transfer.isConnectionReused
        httpVersion = statusCode == nil ? nil : transfer.httpVersion
        remoteAddress = transfer.remoteAddress
        remotePort = transfer.remotePort
        headerByteCount = transfer.headerByteCount
        bodyByteCount = transfer.bodyByteCount
        if transfer.isConnectionReused {
            // libcurl counts the moments it takes to find the connection.
            (nameLookupDuration, connectDuration, secureDuration) = (.zero, .zero, .zero)
        }
    }
}
