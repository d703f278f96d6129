public import FoundationEssentials
public import WebImageCore

extension ImageDownloader {
    /// The settings of a downloader.
    ///
    /// Closures may change requests, responses and bodies:
    ///
    ///     load ─► requestModifier ─► queue ─► server ─► responseModifier ─► status, type ─► decryptor ─► caller
    ///                                           └─► redirectHandler
    ///
    /// All but the decryptor run on the network thread, and block all transfers until they return. None is called under
    /// a lock, or on the thread that calls ``ImageDownloader/load(_:priority:handler:)``.
    ///
    /// ```swift
    /// var configuration = ImageDownloader.Configuration()
    /// configuration.headers["User-Agent"] = "Example/1.0"
    /// configuration.requestModifier = { request in
    ///     var request = request
    ///     request.headers["X-Time"] = "\(Date.now.timeIntervalSince1970)"
    ///     return request
    /// }
    /// ```
    public struct Configuration: Sendable {
        /// The limit on concurrent transfers per host and port; 6, as in browsers with HTTP/1.1. At least 1.
        public var maximumConnectionsPerHost = 6
        /// The limit on concurrent transfers in total; 32. At least 1.
        public var maximumConnections = 32
        /// The average number of transfers that may start per second; `nil`, the default, sets no limit. After a pause,
        /// 25 may start at once.
        ///
        /// With a limit, loads of cells that scroll past quickly are cancelled before they reach the network, and a burst
        /// of requests does not overload a server. The cells that stay wait longer: the loads before have used the starts up. Loads that wait keep their priority and can be cancelled. The wait does not count against any time
        /// limit. Only the start of a load counts, not its redirects and authentication attempts. A retry counts again.
        public var maximumTransfersPerSecond: Double?
        /// The number of transfers that may start at once after a pause, with a rate limit; 25, as in Nuke. At least 1.
        var transferBurst = 25
        /// The time limit for connecting, including name lookup and TLS; 15 s.
        public var connectTimeout: Duration = .seconds(15)
        /// How long a server may send nothing before its transfer fails; 15 s. Informational (1xx) responses do not
        /// count.
        public var idleTimeout: Duration = .seconds(15)
        /// The time limit for all transfers of one load; `nil`, the default, sets no limit, since large images take
        /// long on slow networks. A request can have its own.
        ///
        /// The clock runs during each transfer, from the name lookup to the last byte, and adds up redirects,
        /// authentication attempts, the attempts of a manager's ``RetryPolicy`` and alternative URLs. It stops while
        /// the load waits for a slot, for the ``authenticationHandler`` or for the next attempt, and while its reader
        /// pauses it. A load that exceeds it fails with
        /// ``WebImageError/timedOut(reason:after:url:)`` and is not retried.
        public var totalTimeout: Duration?
        /// The minimum transfer rate in bytes per second, on average over a minute; 100. 0 sets no limit.
        ///
        /// Head and body count as they come over the wire, and so does a body that is sent; informational responses do
        /// not. Until the first byte, only the ``idleTimeout`` applies. A paused transfer is not measured. A load below
        /// the limit fails with ``WebImageError/timedOut(reason:after:url:)``.
        public var minimumBytesPerSecond = 100
        /// The time over which ``minimumBytesPerSecond`` is measured; 60 s.
        var minimumRateWindow: Duration = .seconds(60)
        /// The largest accepted body, in bytes; 200 MiB. Larger ones fail with
        /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
        public var maximumResponseByteCount: Int64 = 200 << 20
        /// Whether the latest load starts first, among loads of the same priority and origin; `false`. Origins take
        /// turns.
        ///
        /// In a list that scrolls, the latest load is the one on screen. Changing a load's priority makes it the
        /// latest.
        public var isLastInFirstOut = false
        /// The accepted statuses; 200 to 299. `nil` accepts all. Others fail with ``WebImageError/httpStatus(code:url:)``.
        /// Redirects with a `Location` are followed in any case.
        public var acceptableStatusCodes: Set<Int>? = Set(200..<300)
        /// The accepted content types, such as `image/png`; `nil`, the default, accepts all. Others fail with
        /// ``WebImageError/ResponseFailure/contentType(_:)``.
        ///
        /// Parameters and case are ignored, and a response without a type is accepted.
        public var acceptableContentTypes: Set<String>?
        /// Returns the request to send, before it is queued; gets the request with all headers. `nil` refuses the
        /// request: the load fails with ``WebImageError/BlockReason/hook``.
        ///
        /// Called for each attempt of a load on the network thread, which must not be blocked: no other transfer
        /// continues meanwhile. Redirects keep the headers that the next origin may receive.
        ///
        /// It is also called on other threads, several at the same time, by
        /// ``ImageDownloader/requestHeaders(for:)``: a manager compares the fields with the `Vary` of stored responses.
        /// Return the same for the same request, and do not count calls.
        public var requestModifier: (@Sendable (LoaderRequest) -> LoaderRequest?)?
        /// Returns the URL that a redirect leads to: the target, or another URL, which is checked as the target was.
        /// `nil` denies the redirect: the load fails with ``WebImageError/BlockReason/redirect(to:)``.
        ///
        /// Called on the network thread for each redirect that is allowed otherwise; without a handler these are
        /// followed. The response has the URL, status and headers of the redirect. After a 303, and after a 301 or 302
        /// to a POST, the next request is a GET without a body; otherwise method and body stay (RFC 9110, 15.4).
        public var redirectHandler: (@Sendable (_ response: LoaderResponse, _ target: URL) -> URL?)?
        /// Returns the response to check and report; gets the head of each response that is no redirect. `nil` refuses
        /// the response: the load fails with ``WebImageError/ResponseFailure/refused``.
        ///
        /// Called on the network thread before the status and the type are checked. Status and headers can be changed,
        /// the URL and the length cannot.
        public var responseModifier: (@Sendable (LoaderResponse) -> LoaderResponse?)?
        /// Returns the image file for a body; `nil` fails with ``WebImageError/ResponseFailure/decryption``.
        ///
        /// Called on its own thread once the body is complete. With a decryptor no bytes arrive before the end, and the
        /// length of the body is not announced.
        public var decryptor: (@Sendable (_ body: Data, _ response: LoaderResponse) -> Data?)?
        /// Where the body is stored for the ``decryptor``, which needs it whole.
        var bodyStorage = BodyStorage()
        /// How many redirects are followed for one request; 10.
        public var maximumRedirects = 10
        /// Whether an https URL may redirect to http, where a third party can read and change the response; `false`.
        public var allowsInsecureRedirects = false
        /// The credential for servers that require one, if the request has none.
        ///
        /// Every server that a request names can get it, but no server that a redirect leads to, and no alternative of
        /// another origin. It is meant for a downloader that loads from one service.
        public var credential: Credential?
        /// Returns a credential for a server or proxy that requires one, or refuses the one it got, for example by
        /// asking the user.
        ///
        /// Called at most three times for one load. Without a credential, and without a handler, the default, the load
        /// fails with 401 or 407. If the handler throws, the load ends with ``WebImageError/cancelled``. It runs in its
        /// own task, however long it takes; the load has no connection meanwhile. Cancelling the load cancels the task.
        public var authenticationHandler:
            (@Sendable (AuthenticationChallenge) async throws(CancellationError) -> Credential?)?
        /// The authorities that sign servers' certificates; the system's by default.
        ///
        /// Others are trusted **instead of** the system's: a downloader for a private service should trust no others. For
        /// both, append to the content of the system's file, `/etc/ssl/certs/ca-certificates.crt`.
        public var certificateAuthorities = CertificateAuthorities.system
        /// The public keys that servers must have besides a valid certificate, by host; `*` is for all other hosts.
        /// None by default.
        ///
        /// A key is the SHA-256 of its DER form in base64, with or without curl's prefix `sha256//`. One of a host's
        /// keys must be the server's. An invalid entry matches no key. The spelling of hosts does not matter:
        /// `pin.example` is for `PIN.example.` too.
        ///
        /// ```sh
        /// openssl x509 -in server.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
        /// ```
        public var pinnedPublicKeys: [String: [String]] = [:]
        /// The allowed servers; all. See ``AddressPolicy`` and ``server``.
        public var addressPolicy = AddressPolicy()
        /// The addresses of hosts, by name, used instead of a lookup; none. The address policy applies to them too.
        var hostAddresses: [String: [String]] = [:]
        /// The latest version of HTTP to offer: 1, 2 or 3. By default 2, over TLS, with all requests on one connection.
        ///
        /// Servers without it respond in an earlier version. HTTP/3 needs a libcurl built with it; without it every
        /// load fails with ``WebImageError/transport(code:message:url:)``.
        public var maximumHTTPVersion = 2
        /// The header fields of each request; a request's own fields take precedence. By default `User-Agent`, an
        /// `Accept` that prefers images, and `Accept-Encoding: identity`, since images are compressed already.
        ///
        /// With `Accept-Encoding: gzip, deflate`, here or in a request, bodies in these codings are decoded, and
        /// ``maximumResponseByteCount`` applies to the decoded bytes. Other codings, and any that was not requested,
        /// fail with ``WebImageError/ResponseFailure/contentCoding(_:)``. **An interrupted coded body is only detected
        /// by its `Content-Length`**: libcurl does not report a coded stream without its end.
        ///
        /// Another origin gets only `Accept`, `Accept-Encoding`, `User-Agent`, `Range` and `If-Range` of these and of
        /// the request's own: after a redirect, and for an alternative of a request's URL.
        public var headers = Self.defaultHeaders {
            didSet { fields = headers.sortedFields }
        }
        /// The ``headers``, sorted by name.
        private var fields = Self.defaultFields
        /// The proxy; ``Proxy/environment``.
        public var proxy = Proxy.environment
        /// The counter of running transfers; `nil` for none.
        var networkActivity: NetworkActivity? = .shared

        /// Creates the default configuration.
        public init() {}

        private static let defaultHeaders = [
            "User-Agent": "swift-web-image/\(LibraryVersion.text)",
            "Accept": "image/*,*/*;q=0.8",
            "Accept-Encoding": "identity",
        ]
        private static let defaultFields = defaultHeaders.sortedFields
    }

    /// How requests reach their server.
    public struct Proxy: Sendable {
        enum Route {
            case environment
            case none
            case server(ProxyServer, bypassing: [String])
        }

        let route: Route

        /// As the environment says when the downloader is made: `http_proxy`, `https_proxy`, `all_proxy` and
        /// `no_proxy`. If one of them names no usable proxy, loads fail with
        /// ``WebImageError/RequestFailure/invalidProxy(variable:)``.
        public static let environment = Proxy(route: .environment)
        /// Directly.
        public static let none = Proxy(route: .none)

        /// Through a proxy, such as `http://proxy.example:3128` or `socks5h://127.0.0.1:1080`.
        ///
        /// - Parameters:
        ///   - url: its scheme is `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`. With `socks4` and
        ///     `socks5`, this machine looks up names, with the others the proxy does. The default port is 1080 for
        ///     SOCKS, 443 for https and 80 for http.
        ///   - credential: for a proxy that requires one, shown only to the proxy. It takes precedence over
        ///     `user:password@` in `url`.
        ///   - bypassing: the hosts to reach directly: names (with all subdomains), addresses, networks such as
        ///     `10.0.0.0/8`, or `*` for all.
        /// - Throws: ``WebImageError/RequestFailure/unsupportedScheme(_:)``, ``WebImageError/invalidURL(_:reason:)``
        ///   without a host, or ``WebImageError/RequestFailure/invalidHeader(name:)`` for a credential with control
        ///   characters.
        public static func server(
            _ url: URL, credential: Credential? = nil, bypassing: [String] = []
        ) throws(WebImageError) -> Proxy {
            Proxy(route: .server(try ProxyServer(url, credential: credential), bypassing: bypassing))
        }
    }
}

extension ImageDownloader.Configuration {
    /// The configuration for servers that fetch URLs given by users: only the public internet, over http and https,
    /// without the environment's proxy.
    ///
    /// No server can hold a slot for long. The limits are 10 s for connecting, 10 s of silence, 60 s and 50 MiB for
    /// each load, and at least 1024 bytes per second over 10 s.
    public static var server: Self {
        var configuration = Self()
        configuration.addressPolicy = .publicInternet
        configuration.proxy = .none
        configuration.connectTimeout = .seconds(10)
        configuration.idleTimeout = .seconds(10)
        configuration.totalTimeout = .seconds(60)
        configuration.minimumBytesPerSecond = 1024
        configuration.minimumRateWindow = .seconds(10)
        configuration.maximumResponseByteCount = 50 << 20
        return configuration
    }
}

/// Counts the starts of transfers against a rate limit.
struct TokenBucket {
    private let rate: Double
    private let capacity: Double
    private var tokens: Double
    /// When the tokens were last counted.
    private var lastCount: Duration

    init(transfersPerSecond: Double, burst: Int, now: Duration) {
        // Not less than one in 1000 s: a limit of 0 would let loads wait forever, without an error.
        rate = transfersPerSecond.isFinite ? max(0.001, transfersPerSecond) : 1_000_000
        capacity = Double(max(1, burst))
        tokens = capacity
        lastCount = now
    }

    /// Takes a token; returns `false` when there is none.
    mutating func take(at now: Duration) -> Bool {
        if now > lastCount {
            tokens = min(capacity, tokens + (now - lastCount) / .seconds(1) * rate)
            lastCount = now
        }
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// How long until there is a token, counted from the last ``take(at:)``; at least 1 ms.
    var wait: Duration { max(.milliseconds(1), .seconds((1 - tokens) / rate)) }
}

extension ImageDownloader.Configuration {
    /// Returns the request with the downloader's headers and the changes of the ``requestModifier``.
    func prepared(_ request: LoaderRequest) throws(WebImageError) -> LoaderRequest {
        var request = request
        request.headers = completeHeaders(of: request)
        guard let modifier = requestModifier else { return request }
        guard let modified = modifier(request) else {
            throw .blocked(reason: .hook, url: request.url.separatedFromUserInfo.url)
        }
        return modified
    }

    /// The request's headers, and the downloader's of other names.
    func completeHeaders(of request: LoaderRequest) -> [String: String] {
        var complete = request.headers
        if complete.count > 1 {
            complete = [:]
            for field in request.headers.fieldsByName.values { complete[field.name] = field.value }
        }
        complete.reserveCapacity(complete.count + fields.count)
        for field in addedFields(to: request) where !request.headers.keys.contains(where: { field.isNamed($0) }) {
            complete[field.name] = field.value
        }
        return complete
    }

    /// The downloader's headers that the request's server may get, sorted by name.
    func addedFields(to request: LoaderRequest) -> [HTTPHeader] {
        guard request.isForAnotherOrigin else { return fields }
        return fields.filter { RequestHeaders.namesForAnyOrigin.contains($0.name.lowercased()) }
    }

    /// The downloader's credential, if the request's server may get it.
    func addedCredential(to request: LoaderRequest) -> Credential? { request.isForAnotherOrigin ? nil : credential }

    /// Returns why a response with that status and type is refused; `nil` when it is accepted.
    func refusal(of head: TransferHead, url: URL) -> WebImageError? {
        if let acceptableStatusCodes, !acceptableStatusCodes.contains(head.statusCode) {
            return .httpStatus(code: head.statusCode, url: url)
        }
        if let acceptableContentTypes, let type = head.contentType,
            !acceptableContentTypes.contains(where: { $0.lowercased() == type })
        {
            return .invalidResponse(reason: .contentType(type), url: url)
        }
        return nil
    }

    /// Returns why a body in those codings is refused; `nil` when it is accepted.
    ///
    /// - Parameter codings: of the body on the wire, whatever a hook has changed in the head.
    func refusal(ofCodings codings: [String], accepted: Bool, url: URL) -> WebImageError? {
        let isDecodable =
            codings.isEmpty || accepted && codings.count == 1 && Self.decodableCodings.contains(codings[0])
        return isDecodable ? nil : .invalidResponse(reason: .contentCoding(codings.joined(separator: ", ")), url: url)
    }

    /// The codings whose decoded length is at most 1032 times the coded one. Brotli's is unbounded, and libcurl keeps a
    /// decoded piece in memory while a transfer is paused. Only one coding at a time is accepted, for the same reason.
    private static let decodableCodings: Set = ["gzip", "x-gzip", "deflate"]
}

extension TransferHead {
    /// The type of the body, in lower case and without parameters.
    var contentType: String? {
        let type = value("content-type")?.prefix { $0 != ";" }.lowercased()
        return type.map { $0.filter { $0 != " " && $0 != "\t" } }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// ``ImageDownloader/Configuration/pinnedPublicKeys`` in the form that libcurl takes.
struct PublicKeyPins: Sendable {
    private var byHost: [String: [String]]
    private var anyHost: [String]

    init(_ pins: [String: [String]]) {
        let normalized = pins.map { (HostPattern.normalized($0.key), $0.value.map(Self.base64)) }
        byHost = Dictionary(normalized, uniquingKeysWith: +)
        anyHost = byHost.removeValue(forKey: "*") ?? []
    }

    /// - Parameter host: as ``HTTPOrigin/host`` has it.
    func pins(for host: String) -> [String] { byHost[host] ?? anyHost }

    /// Returns the base64 of a key's SHA-256. An invalid text gives one that no key has: to ignore it could allow any
    /// key.
    private static func base64(_ text: String) -> String {
        let digits = text.hasPrefix("sha256//") ? String(text.dropFirst(8)) : text
        return Data(base64Encoded: digits)?.count == 32 ? digits : Data(count: 32).base64EncodedString()
    }
}
