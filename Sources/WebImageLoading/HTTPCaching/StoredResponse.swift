public import FoundationEssentials
internal import WebImageCore

/// What a cache keeps about an answer beside its body (RFC 9111, 3): enough to say later whether it may be used again.
public struct StoredResponse: Sendable, Hashable, Codable {
    /// The status.
    public var statusCode: Int
    /// The fields of the answer that are kept: those of the connection are not (3.1).
    public var headers: [HTTPField]
    /// The values that the request had in the fields that the answer's Vary names, normalized; `nil` for one it had not.
    /// Names are in lower case. Of fields that may hold a secret it is a digest: all but User-Agent and the Accept fields.
    public var varyingFields: [String: String?]
    /// When the request went out.
    public var requestTime: Date
    /// When the answer's head came in, or that of the last answer that confirmed it.
    public var responseTime: Date
    /// Set by what makes the answer useless before its time, such as a HEAD that shows another length: it is to be confirmed
    /// before it is used (4.3.5, 4.4).
    public var isInvalidated = false
    /// A number of its body's own, which stays when the metadata are freshened: who has made something of the body finds
    /// out by it whether that is still what is stored.
    package let bodyNumber: UInt64
    /// Whether the rules of HTTP let it answer again; what is kept although they don't is for those who do not ask for them.
    package var isReusable = true
    /// Whether its body was not kept, as with an error whose page nobody wanted.
    package var lacksBody = false
    /// Whether its body is what the program made of the server's: pictures are made of it, but it is no answer for those who
    /// want what the server sent.
    package var isRewritten = false
    /// For how many seconds after ``responseTime`` the redirects that led to it are good; `nil` where they set no limit.
    package var redirectLifetime: Double?
    /// Where it came from in the end; `nil` without redirects.
    package var finalURL: String?
    /// Whether one of those redirects is to be confirmed each time.
    package var redirectsWantValidation = false

    /// Describes the answer to a request.
    ///
    /// - Parameter requestHeaders: all fields that were sent.
    public init(
        statusCode: Int, headers: [HTTPField], requestHeaders: [HTTPField], requestTime: Date, responseTime: Date
    ) {
        self.statusCode = statusCode
        self.headers = headers.withoutConnectionFields
        self.requestTime = requestTime
        self.responseTime = responseTime
        bodyNumber = .random(in: .min ... .max)
        varyingFields = [:]
        for name in varyNames where name != "*" {
            varyingFields[name] = .some(requestHeaders.comparableValue(named: name))
        }
    }

    /// Takes together what was read from a store.
    init(
        statusCode: Int, headers: [HTTPField], varyingFields: [String: String?], requestTime: Date, responseTime: Date,
        bodyNumber: UInt64
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.varyingFields = varyingFields
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyNumber = bodyNumber
    }

    /// The names in its Vary, in lower case; `*` among them when anything may have made a difference.
    package var varyNames: [String] { headers.elements(ofFieldNamed: "Vary").map { $0.lowercased() } }

    /// Whether a request with `requestHeaders` would have got the same answer, as far as Vary tells (4.1).
    package func matches(_ requestHeaders: [HTTPField]) -> Bool { firstDifference(from: requestHeaders) == nil }

    /// The field by which such a request differs from the one that was answered; `*` if nobody can tell.
    ///
    /// - Parameter ignored: names that are not compared, in lower case.
    package func firstDifference(from requestHeaders: [HTTPField], ignoring ignored: Set<String> = []) -> String? {
        varyNames.first { name in
            !ignored.contains(name)
                && (name == "*" || varyingFields[name].flatMap { $0 } != requestHeaders.comparableValue(named: name))
        }
    }

    /// The tag of its content, if the server gave one.
    package var entityTag: EntityTag? { headers.values(named: "ETag").first.flatMap(EntityTag.init) }

    /// When its content changed last, if the server said.
    package var lastModified: Date? {
        headers.values(named: "Last-Modified").first.flatMap { HTTPDate.parse($0, now: responseTime) }
    }

    /// When the server made it; when it came in, if the server does not say (RFC 9110, 6.6.1).
    package var date: Date {
        headers.values(named: "Date").first.flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    }

    /// How to treat it.
    package var cacheControl: CacheControl { CacheControl(headers) }

    /// The fields to answer with from the cache: with its age (RFC 9111, 4), and without those that may not be passed on
    /// unconfirmed (5.2.2.4).
    package func headers(servedAt now: Date) -> [HTTPField] {
        let withheld = Set(cacheControl.fieldNames(of: .noCache) + ["age"])
        let age = Int(Freshness(of: self, now: now).age)
        return headers.filter { !withheld.contains($0.name.lowercased()) } + [HTTPField(name: "Age", value: "\(age)")]
    }
}

extension [HTTPField] {
    /// Without the fields that are about one connection, or about a proxy (RFC 9111, 3.1).
    package var withoutConnectionFields: [HTTPField] {
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

    /// What tells the field's value from others, and may be written down.
    func comparableValue(named name: String) -> String? {
        guard let value = normalizedValue(named: name) else { return nil }
        let name = name.lowercased()
        if name == "user-agent" || name.hasPrefix("accept") { return value }
        return "sha256=\(SHA256.hexDigest(of: [UInt8](value.utf8)))"
    }

    /// The field's value with what makes no difference taken out: several fields are joined, white space around commas
    /// goes, and so do empty elements (RFC 9111, 4.1). Languages are normalized as well, see ``LanguagePreference``.
    private func normalizedValue(named name: String) -> String? {
        let values = values(named: name)
        guard !values.isEmpty else { return nil }
        let elements = values.flatMap(\.listElements)
        guard name.lowercased() == "accept-language" else { return elements.joined(separator: ",") }
        return LanguagePreference.normalized(elements)
    }
}
