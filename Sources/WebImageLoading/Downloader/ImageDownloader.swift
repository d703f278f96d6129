public import FoundationEssentials
public import WebImageCore

/// Loads `http:` and `https:` URLs, several at once, the most urgent first.
///
///     load ──► DownloadQueue ──► HTTPTransport ──► Download ──► the caller's handler
///              who may start     one exchange      redirects, status, length, limits
///                  ▲                                  │
///                  └────── next, or another hop ──────┘
///
/// Handlers are called on the one network thread: they hold up every other transfer until they return. A downloader that
/// is let go finishes what it has begun; its thread then ends.
public final class ImageDownloader: ImageLoader {
    /// The one used unless a caller makes their own; it has the default configuration.
    public static let shared = ImageDownloader()

    /// What it was made with.
    public let configuration: Configuration
    /// The cookies of requests that handle them; no other downloader's see them.
    public let cookies: CookieJar
    /// The credentials that have worked, of requests that use the storage.
    public let credentials = CredentialStorage()
    /// Whether the installed libcurl speaks HTTP/3.
    public static var supportsHTTP3: Bool { CurlVersion.hasHTTP3 }
    private let scheduler: DownloadScheduler

    /// Makes a downloader with connections and a queue of its own; its thread starts with the first load.
    public convenience init(configuration: Configuration = Configuration()) {
        var transport = CurlTransport.Configuration(
            connectTimeout: configuration.connectTimeout)
        transport.httpVersions = configuration.httpVersions
        transport.certificateAuthorities = configuration.certificateAuthorities
        let policy = configuration.addressPolicy
        if !policy.deniedNetworks.isEmpty { transport.addressCheck = { policy.objection(to: $0) } }
        self.init(configuration: configuration, transport: CurlTransport(transport))
    }

    /// - Parameter clock: measures the rate limit.
    package init(
        configuration: Configuration, transport: any HTTPTransport, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.configuration = configuration
        cookies = CookieJar(transport: transport)
        scheduler = DownloadScheduler(configuration, transport: transport, credentials: credentials, clock: clock)
    }

    /// Whether the scheme is `http` or `https`.
    public func canLoad(_ url: URL) -> Bool { HTTPOrigin.isHTTP(url) }

    /// The request's header fields with the downloader's, as the ``Hooks`` that change requests leave them; without cookies
    /// and credentials, which the transport adds. For a request that a hook refuses, those before it.
    public func requestHeaders(for request: LoaderRequest) -> [HTTPField] {
        let prepared = try? configuration.prepared(request)
        return (prepared?.headers ?? configuration.completeHeaders(of: request)).sortedFields
    }

    /// Starts to load; see ``ImageLoader/load(_:priority:handler:)``.
    ///
    /// Besides the errors of the transfer it reports ``WebImageError/invalidURL(_:)`` for a URL without a host and
    /// ``WebImageError/invalidHeader(name:)`` for a header that can't be sent.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        scheduler.submit(request, priority: priority, handler: handler)
    }

    /// Like ``load(_:priority:handler:)``, and reports when the load starts.
    ///
    /// - Parameter onStart: called once when the load gets a slot, on the thread of the events and before the first of them. Not
    ///   called for a load that ends while it waits.
    package func load(
        _ request: LoaderRequest, priority: LoadPriority, onStart: @escaping @Sendable () -> Void,
        handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        scheduler.submit(request, priority: priority, onStart: onStart, handler: handler)
    }

    /// How many loads have a connection or are getting one, and how many wait for their turn.
    public var loadCounts: (running: Int, waiting: Int) { scheduler.loadCounts }

    /// How many loads are under way, running or waiting.
    public var currentDownloadCount: Int { loadCounts.running + loadCounts.waiting }

    /// Whether new loads are held back. Those that have begun go on, also through redirects; the others wait until it is
    /// `false` again, in the order of their priorities.
    public var isSuspended: Bool {
        get { scheduler.isSuspended }
        set { scheduler.isSuspended = newValue }
    }

    /// Cancels every load that is under way; each ends with ``WebImageError/cancelled``.
    public func cancelAll() { scheduler.cancelAll() }
}
