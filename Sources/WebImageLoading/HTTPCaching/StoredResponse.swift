public import FoundationEssentials

/// What a cache keeps about an answer beside its body (RFC 9111, 3): enough to say later whether it may be used again.
public struct StoredResponse: Sendable, Hashable, Codable {
    /// The status.
    public var statusCode: Int
    /// The fields of the answer that are kept: those of the connection are not (3.1).
    public var headers: [HTTPField]
    /// The values that the request had in the fields that the answer's Vary names, normalized; `nil` for one it had not.
    /// Names are in lower case.
    public var varyingFields: [String: String?]
    /// When the request went out.
    public var requestTime: Date
    /// When the answer's head came in, or that of the last answer that confirmed it.
    public var responseTime: Date
    /// Set by what makes the answer useless before its time, such as a HEAD that shows another length: it is to be confirmed
    /// before it is used (4.3.5, 4.4).
    public var isInvalidated = false

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
        varyingFields = [:]
        for name in varyNames where name != "*" {
            varyingFields[name] = .some(requestHeaders.normalizedValue(named: name))
        }
    }

    /// The names in its Vary, in lower case; `*` among them when anything may have made a difference.
    package var varyNames: [String] { headers.elements(ofFieldNamed: "Vary").map { $0.lowercased() } }

    /// Whether a request with `requestHeaders` would have got the same answer, as far as Vary tells (4.1).
    package func matches(_ requestHeaders: [HTTPField]) -> Bool { firstDifference(from: requestHeaders) == nil }

    /// The field by which such a request differs from the one that was answered; `*` if nobody can tell.
    package func firstDifference(from requestHeaders: [HTTPField]) -> String? {
        varyNames.first { name in
            name == "*" || varyingFields[name].flatMap { $0 } != requestHeaders.normalizedValue(named: name)
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

    /// The field's value with what makes no difference taken out: several fields are joined, white space around commas
    /// goes, and so do empty elements (RFC 9111, 4.1).
    func normalizedValue(named name: String) -> String? {
        let values = values(named: name)
        return values.isEmpty ? nil : values.flatMap(\.listElements).joined(separator: ",")
    }
}
