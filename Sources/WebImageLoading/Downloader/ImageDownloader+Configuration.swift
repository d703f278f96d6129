extension ImageDownloader {
    /// What can be set for a downloader.
    public struct Configuration: Sendable {
        /// The most transfers at once from one host and port; 6, as browsers have it for HTTP/1.1. At least 1.
        public var maximumConnectionsPerHost = 6
        /// The most transfers at once in all; 32. At least 1.
        public var maximumConnections = 32
        /// How many transfers may start per second; `nil`, the default, sets no limit.
        public var rateLimit: RateLimit?
        /// How long a connection may take, with name look-up and TLS; 15 s.
        public var connectTimeout: Duration = .seconds(15)
        /// How long a server may send nothing before its transfer fails; 15 s. Informational (1xx) responses count as nothing.
        public var idleTimeout: Duration = .seconds(15)
        /// The longest that the transfers of one load may take in total; `nil`, the default, sets no limit, since large images
        /// take long on slow networks. A request can have its own.
        ///
        /// The clock runs while a transfer runs, from the name lookup to the last byte, for all redirects and authentication
        /// attempts, and for all attempts of a manager's ``RetryPolicy`` and alternative URLs. It stands still while the load
        /// waits for a slot, for the ``authenticationHandler`` or for the next attempt, and while its reader holds it back
        /// (``LoaderTask/pause()``). Over it, the load fails with ``WebImageError/timedOut(reason:seconds:url:)``, and is not
        /// retried.
        public var totalTimeout: Duration?
        /// The fewest bytes a second that a transfer may bring, on average over ``minimumRateWindow``; 100. 0 sets no limit.
        ///
        /// Head and body count as they come over the wire, and so does a body that is sent; informational responses do not. The
        /// window begins with a byte: until the first one, the ``idleTimeout`` decides. A transfer that its reader holds back is not
        /// measured. Below the limit, the load fails with ``WebImageError/timedOut(reason:seconds:url:)``.
        public var minimumBytesPerSecond = 100
        /// The time over which ``minimumBytesPerSecond`` is measured; 60 s.
        public var minimumRateWindow: Duration = .seconds(60)
        /// The longest body taken, in bytes; 200 MiB. Longer ones fail with ``WebImageError/responseTooLarge``.
        public var maximumResponseByteCount: Int64 = 200 << 20
        /// Which load starts first among those of the same priority and origin; the one that came first. Origins take turns.
        public var executionOrder = ExecutionOrder.firstInFirstOut
        /// Which statuses bring a picture; 200 to 299. `nil` takes any. Others fail with ``WebImageError/httpStatus``;
        /// redirects with a `Location` are followed in any case.
        public var acceptableStatusCodes: Set<Int>? = Set(200..<300)
        /// Which types of content are taken, such as `image/png`; `nil`, the default, takes any. Types compare without
        /// their parameters and without regard to case, and an answer without a type passes. Others fail with
        /// ``WebImageError/unacceptableContentType(_:url:)``.
        public var acceptableContentTypes: Set<String>?
        /// Whether to ask for bodies coded with gzip or deflate, and decode them; `false`: pictures are compressed anyway.
        ///
        /// A request can ask with an `Accept-Encoding` of its own as well. The limit on the length of responses then holds
        /// for the decoded bytes. Other codings, and any that was not asked for, fail with
        /// ``WebImageError/unsupportedContentCoding(_:url:)``. **A coded body that is cut passes for whole** unless its
        /// `Content-Length` tells: libcurl does not report a coded stream without its end.
        public var acceptsContentCodings = false
        /// What may change requests, answers and bodies; nothing by default.
        public var hooks = Hooks()
        /// Where a body is kept that the ``Hooks/decryptor`` has to see whole.
        public var bodyStorage = BodyStorage()
        /// How many redirects are followed for one request; 10.
        public var maximumRedirects = 10
        /// Which redirects are followed; all but those from https to http.
        public var redirectPolicy = RedirectPolicy()
        /// For servers that ask for a credential when the request brings none. It is shown to any such server that a
        /// request names, but not to those that redirects lead to, nor to alternatives of another origin: for a downloader
        /// with one service.
        public var credential: Credential?
        /// Asked for a credential when a server or proxy wants one and refuses what it got; `nil`, the default, fails with
        /// its 401 or 407.
        public var authenticationHandler: AuthenticationHandler?
        /// How often ``authenticationHandler`` is asked for one load; 3.
        public var maximumAuthenticationAttempts = 3
        /// Whose signature makes a server's certificate good; the system's authorities.
        public var certificateAuthorities = CertificateAuthorities.system
        /// Keys that servers must have besides a good certificate; none.
        public var pinnedPublicKeys = PublicKeyPins()
        /// Where connections may go; anywhere. See ``AddressPolicy`` and ``server``.
        public var addressPolicy = AddressPolicy.unrestricted
        /// Addresses of hosts, by name, that are then not looked up; none. The address policy holds for them too.
        public var hostAddresses: [String: [String]] = [:]
        /// Which versions of HTTP to offer; ``HTTPVersions/automatic``.
        public var httpVersions = HTTPVersions.automatic
        /// Headers sent with each request unless the request has its own of the same name; ``defaultHeaders``.
        ///
        /// Of these and of the request's own, another origin gets only `Accept`, `Accept-Encoding`, `User-Agent`, `Range` and
        /// `If-Range`: after a redirect, and where ``LoaderRequest/isForAnotherOrigin`` is set, as for alternatives.
        public var headers = Self.defaultHeaders
        /// Whether to go through a proxy; ``Proxy/environment``.
        public var proxy = Proxy.environment
        /// Where running transfers are counted; ``NetworkActivity/shared``. `nil` counts them nowhere.
        public var networkActivity: NetworkActivity? = .shared

        /// Makes one with the defaults.
        public init() {}

        /// `User-Agent`, an `Accept` that prefers images, and `Accept-Encoding: identity`: coded bodies would be
        /// delivered as they come, and pictures are compressed anyway.
        public static let defaultHeaders = [
            "User-Agent": "swift-web-image/\(LibraryVersion.text)",
            "Accept": "image/*,*/*;q=0.8",
            "Accept-Encoding": "identity",
        ]
    }

    /// Which load starts first among those that wait for the same origin at the same priority.
    public enum ExecutionOrder: Sendable, Hashable {
        /// The one that came first.
        case firstInFirstOut
        /// The one that came last: in a list that is being scrolled, the one on screen.
        ///
        /// One at a time, with 1 to 7 asked for at first and 8 to 14 while 7 runs, it gives 1, 7, 14 … 8, 6 … 2. A load
        /// whose priority changes counts as the last that came.
        case lastInFirstOut
    }

    /// Which way requests take to their server.
    public enum Proxy: Sendable, Hashable {
        /// As the environment says when the downloader is made: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
        /// Where one of them names no usable proxy, loads fail with ``WebImageError/invalidProxy(variable:url:)``.
        case environment
        /// Straight to the server.
        case none
        /// Through this one, except for the hosts in `bypassing`: names (with all below them), addresses, networks such as
        /// `10.0.0.0/8`, or `*` for all.
        case server(ProxyServer, bypassing: [String] = [])
    }

    /// Which versions of HTTP a downloader offers.
    public enum HTTPVersions: String, Sendable, Hashable, Codable, CaseIterable {
        /// HTTP/2 over TLS where the server has it, with all requests on one connection; else HTTP/1.1.
        case automatic
        /// HTTP/1.1 only.
        case http1
        /// HTTP/3 where the server answers to it, else as ``automatic``. It needs a libcurl built with it, see
        /// ``ImageDownloader/supportsHTTP3``; with another every load fails with ``WebImageError/transport(code:message:url:)``.
        case http3
    }
}

extension ImageDownloader.Configuration {
    /// For servers that fetch URLs given by users: only the public internet, over http and https, without the
    /// environment's proxy.
    ///
    /// No server can take up a slot for long: a connection takes at most 10 s, silence at most 10 s, each load at most 60 s in
    /// total and at most 50 MiB, and fewer than 1024 bytes a second over 10 s end it.
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
