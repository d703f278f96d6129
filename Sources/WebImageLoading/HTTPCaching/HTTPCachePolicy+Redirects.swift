package import FoundationEssentials

extension HTTPCachePolicy {
    /// What the redirects that led to an answer mean for keeping it under the URL that was asked for: each of them is an
    /// answer with a lifetime of its own (RFC 9110, 15.4; RFC 9111, 3 and 4.2).
    package struct RedirectRule: Sendable, Equatable {
        /// For how many seconds after the answer the shortest-lived of them is good; `nil` for no limit.
        package var lifetime: Double?
        /// Whether one of them is to be confirmed each time.
        package var wantsValidation = false

        /// Permanent redirects without a word on caching set no limit; others without are good for this once.
        package init(_ redirects: [(statusCode: Int, headers: [HTTPField])], requestTime: Date, responseTime: Date) {
            for redirect in redirects {
                let hop = StoredResponse(
                    statusCode: redirect.statusCode, headers: redirect.headers, requestHeaders: [],
                    requestTime: requestTime, responseTime: responseTime)
                let control = hop.cacheControl
                if control.has(.noStore) || control.has(.noCache) { wantsValidation = true }
                let freshness = Freshness(of: hop, now: responseTime)
                let saysNothing = freshness.source == .none || freshness.source == .heuristic
                if saysNothing, Self.permanentStatuses.contains(redirect.statusCode) { continue }
                let rest = min(max(0, saysNothing ? 0 : -freshness.staleness), Self.longestLifetime)
                lifetime = min(lifetime ?? .infinity, rest)
            }
        }

        private static let permanentStatuses: Set = [301, 308]

        /// 68 years, as with `max-age`: a date may be farther away than what is written down can tell.
        private static let longestLifetime = Double(Int32.max)
    }
}

extension StoredResponse {
    /// Notes the redirects that led to it.
    package mutating func apply(_ rule: HTTPCachePolicy.RedirectRule) {
        redirectLifetime = rule.lifetime
        redirectsWantValidation = rule.wantsValidation
    }
}
