extension HTTPCachePolicy {
    /// Whether an answer may be kept, and if not, why.
    package enum Storability: Sendable, Equatable {
        case storable
        case notStorable(StorageObstacle)
    }

    /// What forbids to keep an answer; ``description`` has the words.
    package enum StorageObstacle: Sendable, Equatable {
        case method(String)
        case requestNoStore
        case responseNoStore
        /// An interim answer, a part, or one whose meaning is not known here although that matters.
        case status(Int)
        case variesByAnything
        /// Neither does the server say how long it is good, nor can that be guessed for its status.
        case noLifetime(status: Int)
        case conditionalRequest
    }

    /// RFC 9111, 3.
    ///
    /// - Parameter headers: of the answer.
    package static func storability(
        of request: Request, statusCode: Int, headers: [HTTPField]
    ) -> Storability {
        let control = CacheControl(headers)
        guard request.method == "GET" else { return .notStorable(.method(request.method)) }
        // Before all that only the rules of HTTP mind: what must not be written down is named as such, whatever else it is.
        guard !request.cacheControl.has(.noStore) else { return .notStorable(.requestNoStore) }
        // Where the status is known, `must-understand` lifts what `no-store` tells those who do not know it (5.2.2.3).
        let isUnderstood = control.has(.mustUnderstand) && understoodStatuses.contains(statusCode)
        guard isUnderstood || !control.has(.noStore) else { return .notStorable(.responseNoStore) }
        guard !request.isConditionalOrPartial else { return .notStorable(.conditionalRequest) }
        guard statusCode >= 200, statusCode != 206, statusCode != 304 else { return .notStorable(.status(statusCode)) }
        guard isUnderstood || !control.has(.mustUnderstand) else { return .notStorable(.status(statusCode)) }
        guard !headers.elements(ofFieldNamed: "Vary").contains("*") else { return .notStorable(.variesByAnything) }
        let saysSo =
            control.has(.isPublic) || control.has(.isPrivate) || control.has(.maxAge)
            || headers.combinedValue(named: "Expires") != nil
        guard saysSo || heuristicallyCacheableStatuses.contains(statusCode) else {
            return .notStorable(.noLifetime(status: statusCode))
        }
        return .storable
    }

    /// Statuses whose rules for caches are kept here.
    private static let understoodStatuses: Set = [
        200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504,
    ]
}
