public import FoundationEssentials
internal import WebImageCore

/// The head of a stored response, and what HTTP says about its reuse (RFC 9111, 3).
///
/// ```swift
/// let key = manager.cacheKey(for: WebImageRequest(url)).original
/// if let entry = await cache.disk?.entry(for: key.description), let response = entry.response {
///     print(response.isFresh() ? "fresh until \(response.freshUntil)" : "revalidated before its next use")
/// }
/// ```
public struct CachedResponse: Sendable, Equatable {
    /// The property of a response that tells how long it is fresh (RFC 9111, 4.2.1).
    public enum LifetimeSource: Sendable, CaseIterable {
        /// The directive `max-age`.
        case maxAge
        /// The field `Expires`.
        case expires
        /// A tenth of the time since its last change, because the server declares no lifetime.
        case heuristic
        /// A redirect to it, which has a shorter lifetime than the response.
        case redirect
        /// Nothing: it is stale from the beginning.
        case none
    }

    /// Its status, such as 200.
    public package(set) var statusCode: Int
    /// Its fields, without those of the connection (RFC 9111, 3.1).
    public package(set) var headers: [HTTPHeader]
    /// The request's normalized values of the fields in the response's Vary, by name in lower case; `nil` for a missing
    /// field. Only User-Agent and the Accept fields are stored as they are, all others as digests: they may contain a
    /// secret.
    public package(set) var varyingFields: [String: String?]
    /// When the request was sent.
    var requestTime: Date
    /// When the head of the response, or of the last response that confirmed it, was received.
    public package(set) var responseTime: Date
    /// Whether it may have changed on the server, so that it is revalidated before its next use, fresh or not: for
    /// example because a HEAD shows another length (RFC 9111, 4.3.5 and 4.4).
    public package(set) var isInvalidated = false
    /// A random number for the body. It stays when the metadata are freshened, so that an image made from the body can
    /// be compared with what is stored.
    public let bodyNumber: UInt64
    /// Whether HTTP allows its reuse. Other responses are stored for cache policies that ignore the rules of HTTP.
    public package(set) var isReusable = true
    /// Whether its body was not stored, as that of an error.
    public package(set) var lacksBody = false
    /// Whether the app has changed its body. It is good for images, but not for requests of the server's data.
    public package(set) var isRewritten = false
    /// For how many seconds after ``responseTime`` the redirects to it are valid; `nil` for no limit.
    var redirectLifetime: Double?
    /// The URL after redirects; `nil` without redirects.
    public package(set) var finalURL: String?
    /// Whether one of the redirects must be revalidated each time.
    var redirectsRequireValidation = false
    /// The slots of other responses for the same URL, which `Vary` distinguishes; empty if this is not the latest.
    public package(set) var alternates: [Int] = []

    /// Creates the head of a response as a cache stores it, without the fields of the connection.
    ///
    /// - Parameters:
    ///   - statusCode: such as 200.
    ///   - headers: all fields of the response.
    ///   - requestHeaders: all fields that were sent.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head was received.
    public init(
        statusCode: Int, headers: [HTTPHeader], requestHeaders: [HTTPHeader], requestTime: Date, responseTime: Date
    ) {
        self.statusCode = statusCode
        self.headers = headers.withoutConnectionFields
        self.requestTime = requestTime
        self.responseTime = responseTime
        bodyNumber = .random(in: .min ... .max)
        varyingFields = [:]
        for name in varyingFieldNames where name != "*" {
            varyingFields[name] = .some(requestHeaders.comparableValue(named: name))
        }
    }

    init(
        statusCode: Int, headers: [HTTPHeader], varyingFields: [String: String?], requestTime: Date, responseTime: Date,
        bodyNumber: UInt64
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.varyingFields = varyingFields
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyNumber = bodyNumber
    }

    /// The names of request fields on which it depends, by its `Vary`, in lower case; `*` stands for anything.
    public var varyingFieldNames: [String] { headers.elements(ofFieldNamed: "Vary").map { $0.lowercased() } }

    /// Whether it has a Vary, which most have not.
    private var isVarying: Bool { headers.contains { $0.isNamed("vary") } }

    /// Returns whether it can be served for a request with `requestHeaders`, according to Vary (4.1).
    public func matches(_ requestHeaders: [HTTPHeader]) -> Bool { firstDifference(from: requestHeaders) == nil }

    /// Returns the field in which such a request differs from the original one; `*` if that is unknown.
    ///
    /// - Parameters:
    ///   - requestHeaders: needed only if the response varies.
    ///   - ignored: names that are not compared, in lower case.
    public func firstDifference(
        from requestHeaders: @autoclosure () -> [HTTPHeader], ignoring ignored: @autoclosure () -> Set<String> = []
    ) -> String? {
        // Most responses do not vary, and need no names.
        guard isVarying else { return nil }
        let names = varyingFieldNames
        guard !names.isEmpty else { return nil }
        let (requestHeaders, ignored) = (requestHeaders(), ignored())
        return names.first { name in
            !ignored.contains(name)
                && (name == "*" || varyingFields[name].flatMap { $0 } != requestHeaders.comparableValue(named: name))
        }
    }

    /// The validator `ETag`, as the server has sent it; `nil` without one.
    public var entityTag: String? { headers.entityTag?.description }

    /// The validator `Last-Modified`; `nil` without one.
    public var lastModified: Date? {
        headers.values(named: "Last-Modified").first.flatMap { HTTPDate.parse($0, now: responseTime) }
    }

    /// When the server made it, else when it was received (RFC 9110, 6.6.1).
    var date: Date {
        headers.values(named: "Date").first.flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    }

    var cacheControl: CacheControl { CacheControl(headers) }

    /// The property of the response that tells how long it is fresh.
    public var lifetimeSource: LifetimeSource { Freshness(of: self, now: responseTime).source }

    /// When it becomes stale, or became so.
    public var freshUntil: Date { responseTime - Freshness(of: self, now: responseTime).staleness }

    /// Returns whether it is fresh; not if the clock is now before the time of the response.
    public func isFresh(at date: Date = Date()) -> Bool { Freshness(of: self, now: date).isFresh }

    /// Returns the fields to serve from the cache: with its age (RFC 9111, 4), and without those that require
    /// revalidation (5.2.2.4).
    public func headers(servedAt now: Date) -> [HTTPHeader] {
        let withheld = Set(cacheControl.fieldNames(of: .noCache) + ["age"])
        let age = Int(Freshness(of: self, now: now).age)
        return headers.filter { !withheld.contains($0.name.lowercased()) } + [HTTPHeader(name: "Age", value: "\(age)")]
    }
}

extension [HTTPHeader] {
    /// The fields without those about a connection or a proxy (RFC 9111, 3.1).
    var withoutConnectionFields: [HTTPHeader] {
        let named = Set(elements(ofFieldNamed: "Connection").map { $0.lowercased() })
        return filter { field in
            let name = field.name.lowercased()
            return !Self.connectionFields.contains(name) && !named.contains(name)
        }
    }

    private static let connectionFields: Set = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]

    /// Returns a text that identifies the field's value, and may be stored.
    func comparableValue(named name: String) -> String? {
        guard let value = normalizedValue(named: name) else { return nil }
        let name = name.lowercased()
        if name == "user-agent" || name.hasPrefix("accept") { return value }
        return "sha256=\(SHA256.hexDigest(of: [UInt8](value.utf8)))"
    }

    /// Returns the field's normalized value: fields of the same name are joined, white space around commas and empty
    /// elements are removed (RFC 9111, 4.1), and languages are normalized, see ``LanguagePreference``.
    private func normalizedValue(named name: String) -> String? {
        let values = values(named: name)
        guard !values.isEmpty else { return nil }
        let elements = values.flatMap(\.listElements)
        guard name.lowercased() == "accept-language" else { return elements.joined(separator: ",") }
        return LanguagePreference.normalized(elements)
    }
}

extension CachedResponse {
    /// The response with the directives that a shared cache follows in the place of those of a private one: `s-maxage`
    /// is the lifetime, and like `proxy-revalidate` forbids to serve it stale.
    public var forSharedCache: CachedResponse {
        let control = cacheControl
        var directives: [String] = []
        if let seconds = control.seconds(.sharedMaxAge)?.value { directives.append("max-age=\(Int(seconds))") }
        if control.has(.sharedMaxAge) || control.has(.proxyRevalidate) { directives.append("must-revalidate") }
        guard !directives.isEmpty else { return self }
        var response = self
        // Of repeated directives the first counts.
        response.headers.insert(
            HTTPHeader(name: "Cache-Control", value: directives.joined(separator: ", ")), at: 0)
        return response
    }
}
