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
        guard !request.isConditionalOrPartial else { return .notStorable(.conditionalRequest) }
        guard !request.cacheControl.has(.noStore) else { return .notStorable(.requestNoStore) }
        guard statusCode >= 200, statusCode != 206, statusCode != 304 else { return .notStorable(.status(statusCode)) }
        if control.has(.mustUnderstand) {
            // Then it counts whether the status is known, and not what `no-store` tells those who do not know (5.2.2.3).
            guard understoodStatuses.contains(statusCode) else { return .notStorable(.status(statusCode)) }
        } else if control.has(.noStore) {
            return .notStorable(.responseNoStore)
        }
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
