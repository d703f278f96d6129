internal import CWebImageCurl
package import FoundationEssentials
package import WebImageCore

/// What carries single HTTP exchanges: one request, one answer, no redirect followed, no judgement of the status.
///
/// ``CurlTransport`` is the one in use; tests put their own in its place, and another platform could too.
package protocol HTTPTransport: Sendable {
    /// Makes sure that there is a thread to work on, once before the first call of the others; `false` when the system has
    /// none.
    func prepare() -> Bool

    /// Starts an exchange. Returns at once; never calls `receiver` before it returns, since the caller holds a lock.
    func start(_ request: TransferRequest, id: TransferID, receiver: any TransferReceiver)

    /// Ends an exchange with ``TransferEnd/cancelled``, unless it has ended. Returns at once, as above.
    func cancel(_ id: TransferID)

    /// Asks the receiver again for the bytes it did not take. Returns at once, as above.
    func resume(_ id: TransferID)

    /// Runs `body` on the thread that calls the receivers, after what was asked for before. Returns at once, as above.
    func perform(_ body: @escaping @Sendable () -> Void)

    /// Runs `body` with the cookies on that thread, in order with what else was asked for. Returns at once, as above.
    func withCookies(_ body: @escaping @Sendable (any CookieStore) -> Void)
}

extension HTTPTransport {
    package func prepare() -> Bool { true }
}

/// Names an exchange; its maker sees to it that no two at the same time have the same.
package struct TransferID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A request as it goes over the wire.
package struct TransferRequest: Sendable {
    package var url: URL
    /// Checked by ``RequestHeaders``: no line breaks, no NUL.
    package var headers: [HTTPField]
    /// Who may see what and who is trusted with it.
    package var access = TransferAccess()
    package var method = LoaderRequest.Method.get
    package var body: Data?
    package var limits = TransferLimits()
    /// How long it took when it was sent before, for an answer that the receiver never saw; part of ``TransferMetrics/active``.
    package var usedTime = Duration.zero
    /// Whether to undo the content coding that the headers ask for.
    package var decodesContent = false
    /// Whether a body that was cut must never pass for a whole one, since nothing that uses it would notice.
    package var needsProvenEnd = false
    /// Whether to go over HTTP/1.1 where more is spoken.
    package var usesHTTP1 = false
    /// Whether to leave the connections alone that are there.
    package var usesNewConnection = false

    package init(url: URL, headers: [HTTPField]) {
        self.url = url
        self.headers = headers
    }
}

/// Gets what an exchange brings: a head, pieces of the body, then the end, exactly once. All calls come one after the
/// other on the transport's thread.
package protocol TransferReceiver: Sendable {
    func transferDidReceive(_ head: TransferHead) -> TransferDisposition
    func transferDidReceive(_ bytes: Data) -> TransferDisposition
    /// Asked before each piece of the body. After a no the exchange rests until ``HTTPTransport/resume(_:)``.
    var takesBytes: Bool { get }
    /// `metrics` are missing where the exchange never began.
    func transferDidEnd(_ end: TransferEnd, metrics: TransferMetrics?)
}

extension TransferReceiver {
    package var takesBytes: Bool { true }
    package func transferDidEnd(_ end: TransferEnd) { transferDidEnd(end, metrics: nil) }
}

/// Whether the receiver wants the rest.
package enum TransferDisposition: Sendable {
    case proceed
    /// The exchange ends with ``TransferEnd/stopped``.
    case stop
}

/// Status and header fields of an answer; interim (1xx) ones are left out.
package struct TransferHead: Sendable {
    package var statusCode: Int
    package var fields: [HTTPField]
    /// The fields of the 401 or 407 that the transport answered by itself on the way to this head.
    package var answeredFields: [HTTPField] = []

    package init(statusCode: Int, fields: [HTTPField] = []) {
        self.statusCode = statusCode
        self.fields = fields
    }

    /// The value of the last field with that name; `name` in lower case.
    package func value(_ name: String) -> String? {
        fields.last { $0.name.lowercased() == name }?.value
    }

    /// Where it sends its receiver, if that is what it does.
    package var redirectLocation: String? {
        [301, 302, 303, 307, 308].contains(statusCode) ? value("location") : nil
    }

    /// The content codings of the body, in lower case and in the order in which they were applied.
    package var contentCodings: [String] {
        values("content-encoding").flatMap { Self.codings(in: $0) }
    }

    /// The transfer codings of the body, in lower case and in the order in which they were applied.
    package var transferCodings: [String] {
        values("transfer-encoding").flatMap { Self.codings(in: $0) }
    }

    /// The codings that a list of them names, in lower case.
    static func codings(in list: some StringProtocol) -> [String] {
        list.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init).filter { $0 != "identity" }
    }

    /// How long the body will be, where the server says so.
    package var contentLength: Int64? {
        // With a transfer coding the length means nothing (RFC 9112 §6.3).
        guard value("transfer-encoding") == nil, let text = value("content-length"), let length = Int64(text),
            length >= 0
        else { return nil }
        return length
    }
}

/// How an exchange ended.
package enum TransferEnd: Sendable, Equatable {
    /// The answer is whole, as far as the protocol tells.
    case complete
    /// The connection closed in the middle of the body.
    case cut
    /// The receiver said ``TransferDisposition/stop``.
    case stopped
    case cancelled
    /// No connection came about within the time for it.
    case connectTimedOut
    /// The exchange reached one of its ``TransferRequest/limits``.
    case timedOut(TransferLimits.Kind)
    /// The URL has characters, or a port, that none can have.
    case malformedURL
    /// The head did not end within this number of bytes.
    case headTooLong(limit: Int)
    /// The transport itself refused a transfer coding that was not asked for.
    case transferCodingRefused(String)
    /// More informational (1xx) answers came than this.
    case tooManyInformationalResponses(limit: Int)
    /// The server is not trusted.
    case untrusted(WebImageError.CertificateFailure)
    /// The address policy forbids the connection.
    case blocked(WebImageError.BlockCause)
    /// The proxy wants another credential before it connects to anybody.
    case proxyRefused(AuthenticationChallenge.Scheme)
    /// Anything else: libcurl's number and words.
    case failed(code: Int, message: String)
}

/// What an exchange shows to whom, and whom it trusts.
package struct TransferAccess: Sendable {
    /// How libcurl may show a name and password.
    package enum Authentication: Sendable, Hashable {
        /// It asks first without, and takes the better of what the server offers.
        case negotiated
        /// At once.
        case basic
        /// It asks first without, for the nonce.
        case digest
    }

    /// A name and password for the server.
    package var credential: Credential?
    package var authentication = Authentication.negotiated
    /// `nil`: straight to the server.
    package var proxy: ProxyServer?
    package var proxyCredential: Credential?
    package var proxyAuthentication = Authentication.negotiated
    /// Fields that only the proxy sees.
    package var proxyHeaders: [HTTPField] = []
    package var allowsInvalidCertificates = false
    /// The SHA-256 of each key, in base64.
    package var pinnedPublicKeys: [String] = []
    package var usesCookies = false
    /// Where the host is, if that is not to be looked up.
    package var addresses: [String] = []
}

/// What the transport measured of one exchange. Times count from its start; those of phases that did not happen, as on a
/// connection used again, are zero.
package struct TransferMetrics: Sendable, Equatable {
    package var nameLookup = Duration.zero
    package var connect = Duration.zero
    package var secure = Duration.zero
    package var firstByte = Duration.zero
    package var total = Duration.zero
    /// How long it took, without the time during which the receiver held it back.
    package var active = Duration.zero
    package var isConnectionReused = false
    package var httpVersion: LoaderMetrics.HTTPVersion?
    package var remoteAddress: String?
    package var remotePort: Int?
    package var headerByteCount: Int64 = 0
    /// As it came over the wire, without the framing of chunks.
    package var bodyByteCount: Int64 = 0

    package init() {}
}

extension TransferMetrics {
    /// Reads them from a handle, which must not have been reset since.
    init(of easy: UnsafeMutableRawPointer) {
        func time(_ info: CURLINFO) -> Duration { .microseconds(cwi_curl_get_offset(easy, info)) }
        nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        connect = time(CURLINFO_CONNECT_TIME_T)
        secure = time(CURLINFO_APPCONNECT_TIME_T)
        firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        total = time(CURLINFO_TOTAL_TIME_T)
        httpVersion = LoaderMetrics.HTTPVersion(curlVersion: cwi_curl_get_long(easy, CURLINFO_HTTP_VERSION))
        let hasConnection = cwi_curl_get_offset(easy, CURLINFO_PRETRANSFER_TIME_T) > 0
        isConnectionReused = hasConnection && cwi_curl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
        remoteAddress = cwi_curl_get_string(easy, CURLINFO_PRIMARY_IP).map { String(cString: $0) }
        if remoteAddress?.isEmpty == true { remoteAddress = nil }
        let port = cwi_curl_get_long(easy, CURLINFO_PRIMARY_PORT)
        remotePort = port > 0 ? port : nil
        headerByteCount = Int64(cwi_curl_get_long(easy, CURLINFO_HEADER_SIZE))
        bodyByteCount = Int64(cwi_curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T))
    }
}

extension LoaderMetrics.HTTPVersion {
    fileprivate init?(curlVersion: Int) {
        switch curlVersion {
        case Int(CURL_HTTP_VERSION_1_0): self = .http1_0
        case Int(CURL_HTTP_VERSION_1_1): self = .http1_1
        case Int(CURL_HTTP_VERSION_2_0): self = .http2
        case Int(CURL_HTTP_VERSION_3): self = .http3
        default: return nil
        }
    }
}
