package import FoundationEssentials
internal import WebImageCore

/// What a cache keeps about an answer beside its body (RFC 9111, 3): enough to say later whether it may be used again.
package struct StoredResponse: Sendable, Hashable, Codable {
    /// The status.
    package var statusCode: Int
    /// The fields of the answer that are kept: those of the connection are not (3.1).
    package var headers: [HTTPField]
    /// The values that the request had in the fields that the answer's Vary names, normalized; `nil` for one it had not.
    /// Names are in lower case. Of fields that may hold a secret it is a digest: all but User-Agent and the Accept fields.
    package var varyingFields: [String: String?]
    /// When the request went out.
    package var requestTime: Date
    /// When the answer's head came in, or that of the last answer that confirmed it.
    package var responseTime: Date
    /// Set by what makes the answer useless before its time, such as a HEAD that shows another length: it is to be confirmed
    /// before it is used (4.3.5, 4.4).
    package var isInvalidated = false
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
    package init(
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

/// Keeps answers: bodies, and beside each what ``ResponseMetadata`` has to say.
///
/// The latest answer of a URL is under the URL's own key, so that whoever does not care for HTTP finds it. Others, for
/// requests that differ in what Vary names, are under keys made of it, which the latest one's metadata list:
///
/// ```
///  key           latest answer   metadata: alternates 0, 2
///  key\vary=0    another         metadata
///  key\vary=2    another         metadata
/// ```
package protocol ResponseStore: AnyObject, Sendable {
    /// What is stored under `key`, without the body; blocks.
    func storedMetadata(for key: String) -> Data?

    /// What is stored under `key`; blocks.
    func storedBody(for key: String) -> StoredBody?

    /// What another answer for `key` is stored under; slots count from 0 to ``ResponseMetadata/alternateLimit``.
    static func alternateKey(of key: String, _ slot: Int) -> String
}

/// A body as a ``ResponseStore`` has it, with what lies beside it.
package struct StoredBody: Sendable {
    package let data: Data
    package let metadata: Data?
    /// Somebody else's, to be kept as it is.
    package let extendedData: Data?
    /// When the store forgets it; `nil` for never.
    package let expires: Date?

    package init(data: Data, metadata: Data? = nil, extendedData: Data? = nil, expires: Date? = nil) {
        self.data = data
        self.metadata = metadata
        self.extendedData = extendedData
        self.expires = expires
    }
}

/// What has to happen in a store to keep a new answer.
package struct ResponsePlacement: Sendable {
    /// The metadata of the new answer, which goes under the key itself.
    package var metadata: ResponseMetadata
    /// What was the latest answer until now, and still is one: it goes under this key first.
    package var displaced: (body: StoredBody, key: String)?
    /// Keys whose answers the new one replaces.
    package var removed: [String] = []
}

extension ResponseStore {
    /// Makes room for an answer to a request with `requestHeaders`: those that would answer it too are out of date, the
    /// others stay beside it, the eight latest. Blocks.
    package func placement(
        of response: StoredResponse, for key: String, requestHeaders: [HTTPField]
    ) -> ResponsePlacement {
        guard let latest = storedMetadata(for: key).flatMap(ResponseMetadata.init(encoded:)) else {
            return ResponsePlacement(metadata: ResponseMetadata(response: response))
        }
        var placement = ResponsePlacement(metadata: ResponseMetadata(response: response))
        var kept: [(slot: Int, date: Date)] = []
        for slot in latest.alternates {
            let other = Self.alternateKey(of: key, slot)
            guard let metadata = storedMetadata(for: other).flatMap(ResponseMetadata.init(encoded:)),
                response.leavesRoom(for: metadata.response, requestHeaders)
            else {
                placement.removed.append(other)
                continue
            }
            kept.append((slot, metadata.response.responseTime))
        }
        if response.leavesRoom(for: latest.response, requestHeaders), let body = storedBody(for: key) {
            if kept.count == ResponseMetadata.alternateLimit,
                let oldest = kept.indices.min(by: { kept[$0].date < kept[$1].date })
            {
                kept.remove(at: oldest)
            }
            let free = (0..<ResponseMetadata.alternateLimit).first { slot in !kept.contains { $0.slot == slot } } ?? 0
            let place = Self.alternateKey(of: key, free)
            // The others are listed with the new latest one.
            let metadata = ResponseMetadata(response: latest.response).encoded
            placement.displaced = (
                StoredBody(
                    data: body.data, metadata: metadata, extendedData: body.extendedData, expires: body.expires), place
            )
            placement.removed.removeAll { $0 == place }
            kept.append((free, latest.response.responseTime))
        }
        placement.metadata.alternates = kept.map(\.slot).sorted()
        return placement
    }
}

extension StoredResponse {
    /// Whether `other` still answers some request that this one does not: those are told apart by Vary alone.
    ///
    /// - Parameter requestHeaders: of the request that this one answers.
    fileprivate func leavesRoom(for other: StoredResponse, _ requestHeaders: [HTTPField]) -> Bool {
        !varyNames.isEmpty && !other.varyNames.contains("*") && !other.matches(requestHeaders)
    }
}
