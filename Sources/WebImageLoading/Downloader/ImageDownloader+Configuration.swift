extension ImageDownloader {
    /// What can be set for a downloader.
    public struct Configuration: Sendable {
        /// The most transfers at once from one host and port; 6, as browsers have it for HTTP/1.1. At least 1.
        public var maximumConnectionsPerHost = 6
        /// The most transfers at once in all; 32. At least 1.
        public var maximumConnections = 32
        /// How long a connection may take, with name look-up and TLS; 15 s.
        public var connectTimeout: Duration = .seconds(15)
        /// How long a server may send nothing before its transfer fails; 15 s.
        public var idleTimeout: Duration = .seconds(15)
        /// The longest body taken, in bytes; 200 MiB. Longer ones fail with ``WebImageError/responseTooLarge``.
        public var maximumResponseByteCount: Int64 = 200 << 20
        /// How many redirects are followed for one request; 10.
        public var maximumRedirects = 10
        /// Headers sent with each request unless the request has its own of the same name; ``defaultHeaders``.
        ///
        /// A redirect to another origin takes along only `Accept`, `Accept-Encoding` and `User-Agent`, of these and of the
        /// request's own.
        public var headers = Self.defaultHeaders
        /// Whether to go through a proxy; ``Proxy/environment``.
        public var proxy = Proxy.environment

        /// Makes one with the defaults.
        public init() {}

        /// `User-Agent`, an `Accept` that prefers images, and `Accept-Encoding: identity`: coded bodies would be
        /// delivered as they come, and pictures are compressed anyway.
        public static let defaultHeaders = [
            "User-Agent": "swift-web-image/0.1",
            "Accept": "image/*,*/*;q=0.8",
            "Accept-Encoding": "identity",
        ]
    }

    /// Which way requests take to their server.
    public enum Proxy: Sendable, Hashable {
        /// As the environment says: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as libcurl reads them.
        case environment
        /// Straight to the server.
        case none
    }
}
