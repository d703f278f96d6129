public import FoundationEssentials
public import WebImageCore

/// Loads `http:` and `https:` URLs concurrently, the most urgent first.
///
///     load ──► DownloadQueue ──► HTTPTransport ──► Download ──► the caller's handler
///              what may start    one exchange      redirects, status, length, limits
///                  ▲                                  │
///                  └────── next, or another hop ──────┘
///
/// Handlers are called on the downloader's network thread, and block all its transfers until they return. A released
/// downloader finishes its loads; its thread then ends.
///
/// ```swift
/// var configuration = ImageDownloader.Configuration()
/// configuration.maximumConnectionsPerHost = 2
/// let manager = WebImageManager(
///     configuration: WebImageManager.Configuration(loaders: [ImageDownloader(configuration: configuration)]))
/// ```
public final class ImageDownloader: ImageLoader {
    /// The shared downloader, with the default configuration.
    public static let shared = ImageDownloader()

    /// The configuration, which is constant.
    public var configuration: Configuration { environment.configuration }
    /// The cookies of this downloader's requests with ``LoaderRequest/handlesCookies``.
    public let cookies: CookieJar
    let environment: DownloadEnvironment
    private let scheduler: DownloadScheduler

    /// Creates a downloader with its own connections and queue. Its thread starts with the first load.
    public convenience init(configuration: Configuration = Configuration()) {
        var transport = CurlTransport.Configuration(
            connectTimeout: configuration.connectTimeout)
        transport.maximumHTTPVersion = LoaderMetrics.HTTPVersion(major: configuration.maximumHTTPVersion)
        transport.certificateAuthorities = configuration.certificateAuthorities
        let policy = configuration.addressPolicy
        if !policy.deniedNetworks.isEmpty { transport.addressCheck = { policy.blockReason(for: $0) } }
        self.init(configuration: configuration, transport: CurlTransport(transport))
    }

    /// - Parameter clock: measures the rate limit.
    init(
        configuration: Configuration, transport: any HTTPTransport, clock: any Clock<Duration> = ContinuousClock()
    ) {
        environment = DownloadEnvironment(configuration)
        cookies = CookieJar(transport: transport)
        scheduler = DownloadScheduler(environment, transport: transport, clock: clock)
    }

    /// Whether the scheme is `http` or `https`.
    public func canLoad(_ url: URL) -> Bool { HTTPOrigin.isHTTP(url) }

    /// Returns the request's and the downloader's header fields, after the ``Configuration/requestModifier``. Cookies
    /// and credentials are missing: the transport adds them. For a request that it refuses, returns the fields before
    /// it.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPHeader] {
        let prepared = try? configuration.prepared(request)
        return (prepared?.headers ?? configuration.completeHeaders(of: request)).sortedFields
    }

    /// Starts a load; see ``ImageLoader/load(_:priority:handler:)``. `queued` is sent within this call, `started` when
    /// the load gets a connection slot.
    ///
    /// Besides the errors of transfers, it reports ``WebImageError/invalidURL(_:reason:)`` for a URL without a host and
    /// ``WebImageError/RequestFailure/invalidHeader(name:)`` for a header that cannot be sent.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        scheduler.submit(request, priority: priority, handler: handler)
    }

    /// Removes the stored credentials for the server of `url`; for all servers without one.
    ///
    /// Credentials that have worked for requests with ``LoaderRequest/usesCredentialStorage`` are stored in memory, by
    /// origin and realm. A stored credential is tried when a server rejects a request, and sent without a challenge
    /// below a path where it has worked (RFC 7617, 2.2).
    public func removeStoredCredentials(for url: URL? = nil) {
        if let url { credentials.removeCredentials(for: url) } else { credentials.removeAll() }
    }

    var credentials: CredentialStorage { environment.credentials }

    /// The number of loads that run, with a connection or while connecting, and of those that wait.
    var loadCounts: (running: Int, waiting: Int) { scheduler.loadCounts }

    /// The number of loads that run or wait.
    public var currentDownloadCount: Int { loadCounts.running + loadCounts.waiting }

    /// Whether new loads wait. Loads that have begun continue, also through redirects. The others start when it is
    /// `false` again, by priority.
    public var isSuspended: Bool {
        get { scheduler.isSuspended }
        set { scheduler.isSuspended = newValue }
    }

    /// Cancels all loads; each ends with ``WebImageError/cancelled``.
    public func cancelAll() { scheduler.cancelAll() }
}
