package import FoundationEssentials

extension HTTPCachePolicy {
    /// The result of a ``Revalidation``.
    package enum ValidationResult: Sendable, Equatable {
        /// The stored response is valid, with these updated metadata.
        case confirmed(StoredResponse)
        /// The server's response replaces the stored one.
        case replaced
        /// The server failed, and the stored response may be served.
        case usableDespiteError
        /// The 304 is about another response than the stored one: load again without conditions.
        case unconfirmed
    }

    /// RFC 9111, 4.3.3 and 4.3.4; RFC 5861, 4.
    ///
    /// - Parameters:
    ///   - statusCode: of the response; `nil` without one.
    ///   - headers: of the response.
    package static func validate(
        _ stored: StoredResponse, _ revalidation: Revalidation, statusCode: Int?, headers: [HTTPField],
        requestTime: Date, responseTime: Date
    ) -> ValidationResult {
        switch statusCode {
        case 304:
            guard confirms(headers, stored) else { return .unconfirmed }
            return .confirmed(
                stored.freshened(by: headers, requestTime: requestTime, responseTime: responseTime))
        case nil, 500, 502, 503, 504:
            return revalidation.mayServeOnError ? .usableDespiteError : .replaced
        default:
            return .replaced
        }
    }

    /// 4.3.4: a 304 with a validator is about the stored response with the same one; without, about the only one in the request.
    private static func confirms(_ headers: [HTTPField], _ stored: StoredResponse) -> Bool {
        if let tag = headers.values(named: "ETag").first.flatMap(EntityTag.init) {
            guard let own = stored.entityTag else { return false }
            return tag.isWeak ? tag.matchesWeakly(own) : tag.matchesStrongly(own)
        }
        if let date = headers.values(named: "Last-Modified").first, let own = stored.lastModified {
            return HTTPDate.parse(date, now: stored.responseTime) == own
        }
        return true
    }

    /// 4.3.5: applies the response to a HEAD request.
    ///
    /// - Returns: the updated metadata; `nil` if the response does not concern the stored one.
    package static func updated(
        _ stored: StoredResponse, byHeadWithStatus statusCode: Int, headers: [HTTPField], requestTime: Date,
        responseTime: Date
    ) -> StoredResponse? {
        guard statusCode == 200, stored.statusCode == 200 else { return nil }
        func agrees(_ name: String) -> Bool {
            guard let value = headers.combinedValue(named: name) else { return true }
            return stored.headers.combinedValue(named: name) == value
        }
        if ["ETag", "Last-Modified", "Content-Length"].allSatisfy(agrees) {
            return stored.freshened(by: headers, requestTime: requestTime, responseTime: responseTime)
        }
        var stale = stored
        stale.isInvalidated = true
        return stale
    }
}

extension StoredResponse {
    /// Returns the metadata updated with the fields (RFC 9111, 3.2) and the times of a response that confirms it.
    fileprivate func freshened(by fields: [HTTPField], requestTime: Date, responseTime: Date) -> StoredResponse {
        var result = self
        let updates = fields.withoutConnectionFields.filter { !Self.bodyFields.contains($0.name.lowercased()) }
        for name in Set(updates.map { $0.name.lowercased() }) { result.headers.remove(named: name) }
        // The new response has no Age, so that the old one no longer applies.
        result.headers.remove(named: "Age")
        // A server without a clock: the old date would make the confirmed response look old (RFC 9110, 6.6.1).
        result.headers.remove(named: "Date")
        result.headers += updates
        result.requestTime = requestTime
        result.responseTime = responseTime
        result.isInvalidated = false
        return result
    }

    /// These fields belong to the stored body. A response without a body does not change them.
    private static let bodyFields: Set = ["content-length", "content-encoding", "content-type", "content-range"]
}

/// An ETag, which identifies a representation of a resource (RFC 9110, 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// With its quotation marks, and without the `W/`.
    package let opaqueTag: String
    /// Whether representations with the same tag may differ in bytes, though not in meaning.
    package let isWeak: Bool

    /// `nil` for an invalid tag.
    package init?(_ text: String) {
        var text = text.trimmingHTTPSpace[...]
        isWeak = text.hasPrefix("W/")
        if isWeak { text = text.dropFirst(2) }
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        // Between the quotation marks: visible characters, except another mark.
        guard text.dropFirst().dropLast().utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 })
        else { return nil }
        opaqueTag = String(text)
    }

    /// The form in header fields.
    package var description: String { (isWeak ? "W/" : "") + opaqueTag }

    /// Returns whether both identify the same bytes: neither is weak.
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && self == other }

    /// Returns whether both identify the same content.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
