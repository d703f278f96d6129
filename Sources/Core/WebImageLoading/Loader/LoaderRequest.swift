public import FoundationEssentials
internal import WebImageCore

/// A request to a loader.
///
/// ```swift
/// var request = LoaderRequest(url: url, headers: ["Accept": "image/webp"])
/// request.idleTimeout = .seconds(5)
/// let bytes = try await ImageDownloader.shared.bytes(for: request)
/// ```
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
    /// ``Method/get``, ``Method/head`` or `TRACE` fails with
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
    /// after a redirect: Accept, Accept-Encoding, User-Agent, Range and If-Range.
    public var isForAnotherOrigin = false
    /// The header fields that neither separate users nor select other content; ``HarmlessHeaders/standard`` by default.
    public var harmlessHeaders = HarmlessHeaders.standard
    /// Whether the response must come from the server, although a cache that machines share may have one; `false` by
    /// default.
    public var bypassesSharedCache = false
    /// The longest time without any data; `nil`, the default, uses the loader's limit.
    public var idleTimeout: Duration?
    /// The maximum total duration of the load's transfers; `nil`, the default, uses the loader's limit. See
    /// ``ImageDownloader/Configuration/totalTimeout`` for what counts.
    public var totalTimeout: Duration?
    /// The state that the attempts of this load share; not part of its identity.
    var history: LoadHistory?

    /// The duration of earlier transfers of this load, which counts towards ``totalTimeout``.
    var usedTime: Duration { history?.usedTime ?? .zero }

    /// Creates a request.
    public init(url: URL, headers: [String: String] = [:], credential: Credential? = nil) {
        self.url = url
        self.headers = headers
        self.credential = credential
    }
}

extension LoaderRequest {
    /// Returns why a read-only loader refuses the request; `nil` for requests that only read.
    ///
    /// - Parameter url: the URL in the error.
    func refusalToChange(_ url: URL) -> WebImageError? {
        guard ![.get, .head].contains(method) || body != nil else { return nil }
        return .invalidRequest(
            reason: .unsupportedMethod(method.name, hasBody: body != nil && method.forbidsBody), url: url)
    }

    /// An HTTP method (RFC 9110, 9). Loaders that do not use HTTP support only ``get`` and ``head``.
    public struct Method: Sendable, Hashable {
        /// The name as it is sent.
        public let name: String

        /// Creates a method from its name; `nil` if that is not a token, and for `CONNECT`, which asks a proxy for a
        /// tunnel. Case matters: `get` is not `GET`.
        public init?(_ name: String) {
            guard RequestHeaders.isToken(name), name != "CONNECT" else { return nil }
            self.name = name
        }

        private init(known: String) { name = known }

        /// Requests head and body.
        public static let get = Self(known: "GET")
        /// Requests only the head; such a load ends without any bytes.
        public static let head = Self(known: "HEAD")
        /// Lets the resource process the body.
        public static let post = Self(known: "POST")
        /// Replaces the resource with the body.
        public static let put = Self(known: "PUT")
        /// Modifies the resource as described by the body (RFC 5789).
        public static let patch = Self(known: "PATCH")
        /// Deletes the resource.
        public static let delete = Self(known: "DELETE")
        /// Requests the communication options of the resource.
        public static let options = Self(known: "OPTIONS")
        /// Returns the request as the server received it.
        public static let trace = Self(known: "TRACE")

        /// Whether the method changes nothing on the server (9.2.1).
        public var isSafe: Bool { [.get, .head, .options, .trace].contains(self) }

        /// Whether repeating the request has the same effect as sending it once (9.2.2), so that a failed request can
        /// be sent again.
        public var isIdempotent: Bool { isSafe || [.put, .delete].contains(self) }

        /// Whether a body has no meaning with the method.
        var forbidsBody: Bool { [.get, .head, .trace].contains(self) }

        /// Whether servers expect a body, even an empty one (8.6).
        var expectsBody: Bool { [.post, .put, .patch].contains(self) }
    }
}

extension LoaderRequest {
    /// The request's identity: equal for requests with the same response, which can share a transfer. It contains
    /// everything except the time limits, the fragment and the fields without effect, with header names in lowercase.
    public var identity: LoaderRequest {
        var identity = self
        (identity.idleTimeout, identity.totalTimeout, identity.history) = (nil, nil, nil)
        identity.url = url.withoutFragment
        identity.harmlessHeaders = .standard
        if !headers.isEmpty { identity.headers = answerFields.mapValues(\.value) }
        return identity
    }

    /// The fields that may change the response, by lowercase name.
    var answerFields: [String: HTTPHeader] { headers.fieldsByName.filter { !harmlessHeaders.isIrrelevant($0.key) } }
}

extension LoaderRequest {
    /// Returns the same request for another URL.
    ///
    /// Conditions are removed, since they apply to the first URL. So is a range that would continue its body. As after
    /// a redirect, another origin receives no credentials, cookies or headers of the caller or the loader. A user name
    /// and password in `url` itself are sent to its server.
    public func alternative(_ url: URL) -> LoaderRequest {
        var other = self
        other.url = url
        let names = Set(headers.keys.map { $0.lowercased() })
        let isContinuation = names.contains("if-range")
        let isSameOrigin = HTTPOrigin(url) != nil && HTTPOrigin(url) == HTTPOrigin(self.url)
        other.headers = headers.filter { field in
            let name = field.key.lowercased()
            if name == "range" { return !isContinuation }
            if HTTPHeader.conditionNames.contains(name) { return false }
            return isSameOrigin || RequestHeaders.namesForAnyOrigin.contains(name) && name != RequestHeaders.proxyName
        }
        if !isSameOrigin {
            other.credential = nil
            other.isForAnotherOrigin = true
        }
        return other
    }
}
