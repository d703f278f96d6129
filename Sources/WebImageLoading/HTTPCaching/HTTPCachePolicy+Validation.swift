package import FoundationEssentials

extension HTTPCachePolicy {
    /// What an answer to a ``Revalidation`` means for what is stored.
    package enum ValidationResult: Sendable, Equatable {
        /// It is still good: its metadata as they are now.
        case confirmed(StoredResponse)
        /// The server has something else, or nothing: its answer counts.
        case replaced
        /// The server has trouble, and what is stored may stand in.
        case usableDespiteError
        /// A 304 that speaks of something else than what is stored: ask again without conditions.
        case unconfirmed
    }

    /// RFC 9111, 4.3.3 and 4.3.4; RFC 5861, 4.
    ///
    /// - Parameters:
    ///   - statusCode: of the answer; `nil` where none came.
    ///   - headers: of the answer.
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

    /// 4.3.4: a 304 with a validator is about what has that one too; one without is about the only one that was asked for.
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

    /// 4.3.5: what a HEAD tells of what is stored.
    ///
    /// - Returns: the metadata as they are now; `nil` where the answer says nothing about it.
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
    /// With the fields of an answer that confirms it in place of its own of the same names (RFC 9111, 3.2), and the times of
    /// that answer.
    fileprivate func freshened(by fields: [HTTPField], requestTime: Date, responseTime: Date) -> StoredResponse {
        var result = self
        let updates = fields.withoutConnectionFields.filter { !Self.bodyFields.contains($0.name.lowercased()) }
        for name in Set(updates.map { $0.name.lowercased() }) { result.headers.remove(named: name) }
        // An Age that is not repeated told of a way the new answer did not take.
        result.headers.remove(named: "Age")
        // A server without a clock: its old date would make what it has just confirmed look old (RFC 9110, 6.6.1).
        result.headers.remove(named: "Date")
        result.headers += updates
        result.requestTime = requestTime
        result.responseTime = responseTime
        result.isInvalidated = false
        return result
    }

    /// They belong to the stored body, whatever an answer without one says.
    private static let bodyFields: Set = ["content-length", "content-encoding", "content-type", "content-range"]
}

/// What tells one representation of a resource from the next: an ETag (RFC 9110, 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// With its quotation marks, and without the `W/`.
    package let opaqueTag: String
    /// Whether two with the same tag may differ in bytes, though not in meaning.
    package let isWeak: Bool

    /// `nil` for text that is no entity tag.
    package init?(_ text: String) {
        var text = text.trimmingHTTPSpace[...]
        isWeak = text.hasPrefix("W/")
        if isWeak { text = text.dropFirst(2) }
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        // Between the marks: anything that shows, but no further mark.
        guard text.dropFirst().dropLast().utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 })
        else { return nil }
        opaqueTag = String(text)
    }

    /// As it is sent.
    package var description: String { (isWeak ? "W/" : "") + opaqueTag }

    /// Whether both stand for the same bytes: neither is weak.
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && self == other }

    /// Whether both stand for the same content.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
