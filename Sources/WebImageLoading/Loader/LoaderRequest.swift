public import FoundationEssentials

/// What a loader is asked for.
public struct LoaderRequest: Sendable, Hashable {
    /// Where the bytes are.
    public var url: URL
    /// Headers for a loader that sends any, by name; they replace the loader's own of the same name. `Content-Length` and
    /// `Transfer-Encoding` are the transport's business and not sent.
    public var headers: [String: String]
    /// For a server that asks for one; `nil` by default. It replaces `user:password@` in the URL, and is never shown to
    /// another origin than the URL's. An `Authorization` header set by hand goes before it.
    public var credential: Credential?
    /// Whether credentials that worked are kept in memory and used again; `false` by default.
    public var usesCredentialStorage = false
    /// Whether cookies are taken from the downloader's ``CookieJar`` and kept in it; `false` by default. A `Cookie` header
    /// set by hand is sent after those of the jar.
    public var handlesCookies = false
    /// Whether any certificate will do: **anybody on the way can then read and change what is loaded**; `false` by default.
    /// It shares no connections with requests that check, nor what they know: it neither uses nor changes the cookie jar and
    /// the stored credentials, whatever ``handlesCookies`` and ``usesCredentialStorage`` say.
    public var allowsInvalidCertificates = false
    /// What is asked for: the picture, its head alone, or something else; ``Method/get`` by default.
    public var method = Method.get
    /// What is sent along; `nil`, the default, sends nothing. Its type goes into a `Content-Type` header of the request's.
    /// A body with ``Method/get``, ``Method/head`` or ``Method/trace`` fails with
    /// ``WebImageError/unsupportedMethod(_:hasBody:url:)``.
    public var body: Data?
    /// Whether every answer is as good as a picture: `false`, the default, makes errors of statuses and types that the
    /// loader's configuration does not accept, and of an empty body.
    ///
    /// Redirects are followed, limits and lengths checked, and credentials sought all the same. A 206 that nobody asked for
    /// with a `Range` stays an error: it would pass for the whole. So does a 401 or 407 after an authentication handler was
    /// asked, and gave none: its body is gone by then.
    public var acceptsAnyAnswer = false
    /// Whether a request for another origin led to this one, as with the alternatives of a `WebImageRequest`; `false`
    /// by default.
    ///
    /// The loader then adds no credential of its own, and of its own headers only those that a redirect takes to another
    /// origin: Accept, Accept-Encoding, User-Agent, Range and If-Range. A custom loader must do the same.
    public var isForAnotherOrigin = false
    /// How long nothing may arrive; `nil`, the default, leaves it to the loader.
    public var idleTimeout: Duration?
    /// The longest that the load's transfers may take in total; `nil`, the default, leaves it to the loader. See
    /// ``ImageDownloader/Configuration/totalTimeout`` for what counts.
    public var totalTimeout: Duration?
    /// What the attempts of this load have in common; not a part of its identity.
    package var history: LoadHistory?

    /// How long the transfers of this load have taken before this one. It counts towards ``totalTimeout``.
    package var usedTime: Duration { history?.usedTime ?? .zero }

    /// Makes a request.
    public init(url: URL, headers: [String: String] = [:], credential: Credential? = nil) {
        self.url = url
        self.headers = headers
        self.credential = credential
    }
}
