internal import CWebImageCurl
package import FoundationEssentials
package import WebImageCore

/// Performs single HTTP exchanges: one request and one response. It follows no redirects and does not interpret the
/// status.
///
/// ``CurlTransport`` is the implementation; tests have their own, and another platform could too.
package protocol HTTPTransport: Sendable {
    /// Starts the thread if needed; returns `false` if the system has none to give. Called before the first call of the
    /// other methods.
    func prepare() -> Bool

    /// Starts an exchange. Returns at once, and never calls `receiver` before it returns: the caller holds a lock.
    func start(_ request: TransferRequest, id: TransferID, receiver: any TransferReceiver)

    /// Ends an exchange with ``TransferEnd/cancelled``, unless it has ended. Returns at once, like `start`.
    func cancel(_ id: TransferID)

    /// Offers the receiver again the bytes it did not take. Returns at once, like `start`.
    func resume(_ id: TransferID)

    /// Runs `body` on the thread that calls the receivers, after all earlier commands. Returns at once, like `start`.
    func perform(_ body: @escaping @Sendable () -> Void)

    /// Runs `body` with the cookies on that thread, after all earlier commands. Returns at once, like `start`.
    func withCookies(_ body: @escaping @Sendable (any CookieStore) -> Void)
}

extension HTTPTransport {
    func prepare() -> Bool { true }
}

/// Identifies an exchange. Concurrent exchanges have different IDs.
package struct TransferID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A request as it goes over the wire.
package struct TransferRequest: Sendable {
    var url: URL
    /// Checked by ``RequestHeaders``: no line breaks, no NUL.
    package var headers: [HTTPHeader]
    /// Credentials, proxy and trust.
    package var access = TransferAccess()
    package var method = LoaderRequest.Method.get
    package var body: Data?
    package var limits = TransferLimits()
    /// How long earlier attempts took whose response the receiver has not seen; part of ``TransferMetrics/active``.
    var usedTime = Duration.zero
    /// Whether to decode the content coding that the headers accept.
    var decodesContent = false
    /// Whether a truncated body must be detected in any case, since nothing that uses it would notice.
    var needsProvenEnd = false
    /// Whether to use HTTP/1.1 only.
    var usesHTTP1 = false
    /// Whether to use no existing connection.
    var usesNewConnection = false

    package init(url: URL, headers: [HTTPHeader]) {
        self.url = url
        self.headers = headers
    }
}

/// Receives a head, pieces of the body, then the end, exactly once. All calls are serial, on the transport's thread.
package protocol TransferReceiver: Sendable {
    func transferDidReceive(_ head: TransferHead) -> TransferDisposition
    func transferDidReceive(_ bytes: Data) -> TransferDisposition
    /// Read before each piece of the body. After `false` the exchange pauses until ``HTTPTransport/resume(_:)``.
    var takesBytes: Bool { get }
    /// - Parameter metrics: `nil` if the exchange never started.
    func transferDidEnd(_ end: TransferEnd, metrics: TransferMetrics?)
}

extension TransferReceiver {
    package var takesBytes: Bool { true }
    func transferDidEnd(_ end: TransferEnd) { transferDidEnd(end, metrics: nil) }
}

/// Whether the receiver needs the rest.
package enum TransferDisposition: Sendable {
    case proceed
    /// The exchange ends with ``TransferEnd/stopped``.
    case stop
}

/// Status and header fields of a response. Informational (1xx) responses are left out.
package struct TransferHead: Sendable {
    package var statusCode: Int
    package var fields: [HTTPHeader]
    /// The fields of a 401 or 407 after which the transport repeated the request itself.
    var answeredFields: [HTTPHeader] = []

    init(statusCode: Int, fields: [HTTPHeader] = []) {
        self.statusCode = statusCode
        self.fields = fields
    }

    /// The value of the last field with that name; `name` in lower case.
    package func value(_ name: String) -> String? {
        fields.last { $0.isNamed(name) }?.value
    }

    /// The target of a redirect; `nil` for other responses.
    var redirectLocation: String? {
        [301, 302, 303, 307, 308].contains(statusCode) ? value("location") : nil
    }

    /// The content codings of the body, in lower case and in the order in which they were applied.
    var contentCodings: [String] {
        values("content-encoding").flatMap { Self.codings(in: $0) }
    }

    /// The transfer codings of the body, in lower case and in the order in which they were applied.
    var transferCodings: [String] {
        values("transfer-encoding").flatMap { Self.codings(in: $0) }
    }

    /// Returns the codings of a list, in lower case.
    static func codings(in list: String) -> [String] {
        list.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init).filter { $0 != "identity" }
    }

    /// The length of the body, if the server declares it.
    package var contentLength: Int64? {
        // With a transfer coding the length means nothing (RFC 9112 §6.3).
        value("transfer-encoding") == nil ? value("content-length")?[...].decimalNumber : nil
    }
}

/// How an exchange ended.
package enum TransferEnd: Sendable, Equatable {
    /// The response is complete, as far as the protocol tells.
    case complete
    /// The connection closed in the middle of the body.
    case interrupted
    /// The receiver returned ``TransferDisposition/stop``.
    case stopped
    case cancelled
    /// No connection was made within the time limit.
    case connectTimedOut
    /// The exchange reached one of its ``TransferRequest/limits``.
    case timedOut(TransferLimits.Kind)
    /// The URL has invalid characters or an invalid port.
    case malformedURL
    /// The head did not end within this number of bytes.
    case headTooLong(limit: Int)
    /// The transport itself refused an unrequested transfer coding.
    case transferCodingRefused(String)
    /// There were too many informational (1xx) responses.
    case tooManyInformationalResponses(limit: Int)
    /// The server is not trusted.
    case untrusted(WebImageError.CertificateFailure)
    /// The address policy forbids the connection.
    case blocked(WebImageError.BlockReason)
    /// The proxy requires another credential.
    case proxyRefused(AuthenticationScheme)
    /// Any other failure, with libcurl's code and message.
    case failed(code: Int, message: String)
}

/// Credentials, proxy and trust of an exchange.
package struct TransferAccess: Sendable {
    /// How libcurl may show a name and password.
    package enum Authentication: Sendable, Hashable {
        /// The first request is sent without; then the best offered scheme is used.
        case negotiated
        /// Sent at once.
        case basic
        /// The first request is sent without, to get the nonce.
        case digest
    }

    /// A name and password for the server.
    package var credential: Credential?
    package var authentication = Authentication.negotiated
    /// Whether to sign requests with the credential, instead of showing it: `aws:amz:REGION:s3` (libcurl's
    /// CURLOPT_AWS_SIGV4); `nil` for not.
    package var signature: String?
    /// `nil` for a direct connection.
    var proxy: ProxyServer?
    var proxyCredential: Credential?
    var proxyAuthentication = Authentication.negotiated
    /// Fields for the proxy only.
    var proxyHeaders: [HTTPHeader] = []
    var allowsInvalidCertificates = false
    /// The SHA-256 of each key, in base64.
    var pinnedPublicKeys: [String] = []
    var usesCookies = false
    /// The host's addresses, used instead of a lookup; empty for a lookup.
    var addresses: [String] = []

    init() {}
}

/// The measurements of one exchange. Times count from its start. Phases that did not happen, as on a reused connection,
/// are zero.
package struct TransferMetrics: Sendable, Equatable {
    var nameLookup = Duration.zero
    var connect = Duration.zero
    var secure = Duration.zero
    var firstByte = Duration.zero
    var total = Duration.zero
    /// How long it took, without pauses.
    var active = Duration.zero
    var isConnectionReused = false
    var httpVersion: LoaderMetrics.HTTPVersion?
    var remoteAddress: String?
    var remotePort: Int?
    var headerByteCount: Int64 = 0
    /// On the wire, without the framing of chunks.
    var bodyByteCount: Int64 = 0
    /// `nil` without TLS, and if libcurl's TLS library does not tell.
    var security: LoaderMetrics.Security?

    init() {}
}

extension TransferMetrics {
    /// Reads them from a handle that has not been reset.
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

extension LoaderMetrics.Security {
    /// Reads it from a handle with a connection.
    init?(of easy: UnsafeMutableRawPointer) {
        var facts = cwi_curl_security()
        guard cwi_curl_get_security(easy, &facts) != 0 else { return nil }
        func text<Characters>(_ characters: Characters) -> String {
            withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        self.init(version: String(cString: facts.version), cipher: String(cString: facts.cipher))
        guard facts.expires != 0 else { return }
        certificate = LoaderMetrics.Certificate(
            subject: text(facts.subject), issuer: text(facts.issuer),
            expires: Date(timeIntervalSince1970: Double(facts.expires)))
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

/// Builds the head of a response from its lines.
struct TransferHeadParser {
    /// Servers send a few hundred bytes; more is an attack on memory and time.
    static let byteLimit = 64 << 10
    /// The limit on informational (1xx) responses. Servers send one or two; each makes the client wait.
    static let informationalLimit = 20

    enum Outcome: Equatable {
        case incomplete
        /// The blank line after a final status has come.
        case complete
        /// The head, with the trailers after the body, is longer than ``byteLimit``.
        case tooLong
        /// There are more informational responses than ``informationalLimit``.
        case tooManyInformational
    }

    private(set) var head = TransferHead(statusCode: 0)
    private var answeredFields: [HTTPHeader] = []
    private var byteCount = 0
    private var informationalCount = 0
    private(set) var isComplete = false

    /// Whether the last line belongs to an informational (1xx) response.
    var isInformational: Bool { (100..<200).contains(head.statusCode) }

    /// Takes the next line, with its line break.
    mutating func append(_ line: UnsafeRawBufferPointer) -> Outcome {
        byteCount += line.count
        guard byteCount <= Self.byteLimit else { return .tooLong }
        // After the body come trailers, which are ignored; but libcurl stores them all.
        guard !isComplete else { return .incomplete }

        var text = line[...]
        while let last = text.last, Self.isSpace(last) { text = text.dropLast() }
        if text.isEmpty {
            isComplete = head.statusCode >= 200
            return isComplete ? .complete : .incomplete
        }
        if text.starts(with: "HTTP/".utf8) {
            let parts = text.split(separator: UInt8(ascii: " "), maxSplits: 2)
            let code = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self)[...].decimalNumber : nil
            head = TransferHead(statusCode: Int(code ?? 0))
            head.answeredFields = answeredFields
            if isInformational { informationalCount += 1 }
            guard informationalCount <= Self.informationalLimit else { return .tooManyInformational }
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            let value = text[(colon + 1)...].drop(while: Self.isSpace)
            head.fields.append(
                HTTPHeader(
                    name: String(decoding: text[..<colon], as: UTF8.self), value: String(decoding: value, as: UTF8.self)
                ))
        }
        return .incomplete
    }

    /// Starts the next head, after a 401 or 407 for which libcurl has repeated the request itself.
    mutating func beginNextHead() {
        answeredFields = head.fields
        head = TransferHead(statusCode: 0)
        isComplete = false
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }
}
