public import FoundationEssentials

/// A request to a loader.
public struct LoaderRequest: Sendable, Hashable {
    /// The URL to load.
    public var url: URL
    /// Header fields by name, for loaders that send any; they replace the loader's own fields with the same name.
    /// `Content-Length` and `Transfer-Encoding` are set by the transport and ignored here.
    public var headers: [String: String]
    /// The credential for servers that require one; `nil` by default. It replaces `user:password@` in the URL, and is
    /// never sent to an origin other than the URL's. An explicit `Authorization` header takes precedence.
    public var credential: Credential?
    /// Whether accepted credentials are stored in memory and reused; `false` by default.
    public var usesCredentialStorage = false
    /// Whether the downloader's ``CookieJar`` provides and stores cookies; `false` by default. An explicit `Cookie`
    /// header is sent after the cookies of the jar.
    public var handlesCookies = false
    /// Whether invalid certificates are accepted; `false` by default. **Insecure: allows interception.**
    ///
    /// Such a request shares no connections with requests that verify certificates. It neither uses nor changes the
    /// cookie jar and the stored credentials, regardless of ``handlesCookies`` and ``usesCredentialStorage``.
    public var allowsInvalidCertificates = false
    /// The HTTP method; ``Method/get`` by default.
    public var method = Method.get
    /// The request body; `nil`, the default, sends none. Specify its type with a `Content-Type` header. A body with
    /// ``Method/get``, ``Method/head`` or ``Method/trace`` fails with
    /// ``WebImageError/RequestFailure/unsupportedMethod(_:hasBody:)``.
    public var body: Data?
    /// Whether every response is accepted. `false`, the default, reports an error for an empty body, and for statuses
    /// and content types that the loader's configuration does not accept.
    ///
    /// In both cases redirects are followed, limits and lengths are checked, and credentials are used. A 206 response
    /// to a request without `Range` remains an error, since it could be taken for the whole. So does a 401 or 407
    /// response after an authentication handler was called and returned no credential, since the body has been
    /// discarded by then.
    public var acceptsAnyAnswer = false
    /// Whether the request replaces one for another origin, such as an alternative of a `WebImageRequest`; `false` by
    /// default.
    ///
    /// The loader then adds no credentials of its own, and only those of its headers that are sent to another origin
    /// after a redirect: Accept, Accept-Encoding, User-Agent, Range and If-Range. A custom loader must do the same.
    public var isForAnotherOrigin = false
    /// The longest time without any data; `nil`, the default, uses the loader's limit.
    public var idleTimeout: Duration?
    /// The maximum total duration of the load's transfers; `nil`, the default, uses the loader's limit. See
    /// ``ImageDownloader/Configuration/totalTimeout`` for what counts.
    public var totalTimeout: Duration?
    /// What the attempts of this load share; not part of its identity.
    package var history: LoadHistory?

    /// The duration of earlier transfers of this load, which counts towards ``totalTimeout``.
    package var usedTime: Duration { history?.usedTime ?? .zero }

    /// Creates a request.
    public init(url: URL, headers: [String: String] = [:], credential: Credential? = nil) {
        self.url = url
        self.headers = headers
        self.credential = credential
    }
}
