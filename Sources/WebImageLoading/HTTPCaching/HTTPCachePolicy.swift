package import FoundationEssentials

/// What a private cache may do with requests and answers: RFC 9111 and RFC 5861, as functions of what is asked, what is stored
/// and what time it is.
///
/// ```
///  request ─► decide ──► serve                         fresh, or stale where that is allowed
///                   ├──► serve, and revalidate          stale-while-revalidate
///                   ├──► revalidate ─► 304 ─► freshen   the stored body is good
///                   │              ├─► 5xx, no answer ─► serve if stale-if-error allows
///                   │              └─► anything else ─► store
///                   ├──► load ─► store, if it may be stored
///                   └──► fail                           only-if-cached, and nothing that would do
/// ```
package enum HTTPCachePolicy {
    /// Statuses whose answers may be kept without the server's saying so (RFC 9110, 15.1), without those of partial content.
    package static let heuristicallyCacheableStatuses: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// A request as the cache sees it.
    package struct Request: Sendable {
        package var method: String
        /// All fields that would be sent, those that the loader adds included: Vary may name any of them.
        package var headers: [HTTPField]

        package init(method: String = "GET", headers: [HTTPField] = []) {
            self.method = method
            self.headers = headers
        }

        /// What the request wants of caches. The old `Pragma: no-cache` counts where nothing newer is said.
        package var cacheControl: CacheControl {
            let control = CacheControl(headers)
            guard control.isEmpty,
                headers.elements(ofFieldNamed: "Pragma").contains(where: { $0.lowercased() == "no-cache" })
            else { return control }
            return CacheControl([HTTPField(name: "Cache-Control", value: "no-cache")])
        }

        /// Whether it asks for a part, or sets conditions of its own: such a request goes past the cache.
        package var isConditionalOrPartial: Bool {
            headers.contains {
                HTTPField.conditionNames.contains($0.name.lowercased()) || $0.name.lowercased() == "range"
            }
        }
    }

    /// What to do with a request. `index` is the place among the stored answers.
    package enum Decision: Sendable, Equatable {
        /// Answer with what is stored.
        case serve(index: Int, because: Reason)
        /// Answer with what is stored, and ask the server whether it is still good.
        case serveAndRevalidate(index: Int, Revalidation, because: Reason)
        /// Ask the server whether what is stored is still good.
        case revalidate(index: Int, Revalidation, because: Reason)
        /// Ask the server as if nothing were stored.
        case load(because: Reason)
        /// Fail: the request allows no server.
        case fail(because: Reason)
    }

    /// A question whether something stored is still good.
    package struct Revalidation: Sendable, Equatable {
        /// The fields to send: If-None-Match, If-Modified-Since.
        package var conditions: [HTTPField]
        /// Whether what is stored is the answer when the server can't give one, by stale-if-error.
        package var mayServeOnError: Bool

        package init(conditions: [HTTPField], mayServeOnError: Bool) {
            self.conditions = conditions
            self.mayServeOnError = mayServeOnError
        }
    }

    /// Why; ``description`` has the words.
    package enum Reason: Sendable, Equatable {
        case fresh(age: Double, lifetime: Double, source: Freshness.Source)
        case stale(age: Double, lifetime: Double, source: Freshness.Source)
        case staleAllowed(seconds: Double, by: String)
        case nothingStored
        case differs(field: String)
        case methodIsNotCached(String)
        case conditionalRequest
        case requestWantsValidation
        case requestWantsYounger(age: Double, maxAge: Double)
        case requestWantsFresherFor(seconds: Double)
        case responseWantsValidation
        case redirectWantsValidation
        case invalidated
        case clockWentBack
        /// Nothing is known about how it was answered, or it is kept although the rules do not let it answer again.
        case notReusable
        /// The policy asks for no more than that something is stored.
        case storedIsGoodEnough
        /// The policy asks the server each time.
        case policyWantsServer
        /// The policy asks the server each time, but the server has said that it will not change.
        case immutable
        case statusIsNoPicture(Int)
        case bodyWasNotKept
    }

    /// What to do with a request, given the answers that are stored for its URL.
    package static func decide(_ request: Request, stored: [StoredResponse], now: Date) -> Decision {
        let wishes = request.cacheControl
        func miss(_ reason: Reason) -> Decision {
            wishes.has(.onlyIfCached) ? .fail(because: reason) : .load(because: reason)
        }
        guard ["GET", "HEAD"].contains(request.method) else { return miss(.methodIsNotCached(request.method)) }
        guard !request.isConditionalOrPartial else { return miss(.conditionalRequest) }
        guard let index = selectedIndex(for: request, among: stored) else {
            let difference = stored.lazy.compactMap { $0.firstDifference(from: request.headers) }.first
            return miss(difference.map(Reason.differs) ?? .nothingStored)
        }
        let response = stored[index]
        let freshness = Freshness(of: response, now: now)
        switch usability(of: response, freshness, wishes) {
        case .usable(let reason):
            return .serve(index: index, because: reason)
        case .usableMeanwhile(let reason) where !wishes.has(.onlyIfCached):
            return .serveAndRevalidate(
                index: index, revalidation(of: response, freshness, wishes), because: reason)
        case .usableMeanwhile(let reason):
            return .serve(index: index, because: reason)
        case .unusable(let reason):
            if wishes.has(.onlyIfCached) { return .fail(because: reason) }
            // Without anything to ask by, the whole answer has to come.
            return .revalidate(index: index, revalidation(of: response, freshness, wishes), because: reason)
        }
    }

    /// When ``decide(_:stored:now:)`` serves `response` as fresh to a GET without fields that mean something to caches; `nil`
    /// for never, and where Vary makes it depend on the request.
    package static func freshPeriod(of response: StoredResponse) -> Range<Date>? {
        let (time, freshness) = (response.responseTime, Freshness(of: response, now: response.responseTime))
        guard response.varyNames.isEmpty, freshness.isFresh,
            case .usable = usability(of: response, freshness, CacheControl([]))
        else { return nil }
        return time.addingTimeInterval(-Freshness.clockTolerance)..<time.addingTimeInterval(-freshness.staleness)
    }

    /// 4.1: the most recent of those that Vary lets answer.
    private static func selectedIndex(for request: Request, among stored: [StoredResponse]) -> Int? {
        stored.indices.filter { stored[$0].matches(request.headers) }
            .max { (stored[$0].date, stored[$0].responseTime) < (stored[$1].date, stored[$1].responseTime) }
    }

    private enum Usability {
        case usable(Reason)
        case usableMeanwhile(Reason)
        case unusable(Reason)
    }

    /// 4, 4.2.4, 5.2.1 and RFC 5861, 3.
    private static func usability(
        of response: StoredResponse, _ freshness: Freshness, _ wishes: CacheControl
    ) -> Usability {
        let control = response.cacheControl
        if response.isInvalidated { return .unusable(.invalidated) }
        // With field names it only forbids to pass those fields on; see `StoredResponse.headers(servedAt:)`.
        if control.has(.noCache), control.fieldNames(of: .noCache).isEmpty {
            return .unusable(.responseWantsValidation)
        }
        if response.redirectsWantValidation { return .unusable(.redirectWantsValidation) }
        if wishes.has(.noCache) { return .unusable(.requestWantsValidation) }
        if freshness.clockWentBack { return .unusable(.clockWentBack) }
        if let maxAge = wishes.seconds(.maxAge)?.value, freshness.age > maxAge {
            return .unusable(.requestWantsYounger(age: freshness.age, maxAge: maxAge))
        }
        if let minFresh = wishes.seconds(.minFresh)?.value, -freshness.staleness < minFresh {
            return .unusable(.requestWantsFresherFor(seconds: minFresh))
        }
        let (age, lifetime) = (freshness.age, freshness.lifetime)
        if freshness.isFresh { return .usable(.fresh(age: age, lifetime: lifetime, source: freshness.source)) }

        let stale = Reason.stale(age: age, lifetime: lifetime, source: freshness.source)
        guard !control.has(.mustRevalidate) else { return .unusable(stale) }
        switch wishes.seconds(.maxStale) {
        case .missing: return .usable(.staleAllowed(seconds: freshness.staleness, by: "max-stale"))
        case .seconds(let limit) where freshness.staleness <= limit:
            return .usable(.staleAllowed(seconds: freshness.staleness, by: "max-stale"))
        default: break
        }
        if let window = control.seconds(.staleWhileRevalidate)?.value, freshness.staleness <= window {
            return .usableMeanwhile(.staleAllowed(seconds: freshness.staleness, by: "stale-while-revalidate"))
        }
        return .unusable(stale)
    }

    /// The question whether a stored answer is still good, whether or not it has to be asked.
    package static func revalidation(of response: StoredResponse, for request: Request, now: Date) -> Revalidation {
        revalidation(of: response, Freshness(of: response, now: now), request.cacheControl)
    }

    /// 4.3.1: both conditions where there are both, for servers that know only one.
    private static func revalidation(
        of response: StoredResponse, _ freshness: Freshness, _ wishes: CacheControl
    ) -> Revalidation {
        var conditions: [HTTPField] = []
        if let tag = response.entityTag {
            conditions.append(HTTPField(name: "If-None-Match", value: tag.description))
        }
        if let date = response.headers.values(named: "Last-Modified").first, response.lastModified != nil {
            conditions.append(HTTPField(name: "If-Modified-Since", value: date))
        }
        return Revalidation(
            conditions: conditions, mayServeOnError: mayServeOnError(response, freshness, wishes))
    }

    /// RFC 5861, 4: by the answer's word or by the request's; never against `must-revalidate` and `no-cache`.
    private static func mayServeOnError(
        _ response: StoredResponse, _ freshness: Freshness, _ wishes: CacheControl
    ) -> Bool {
        let control = response.cacheControl
        guard !response.isInvalidated, !freshness.clockWentBack, !control.has(.mustRevalidate), !wishes.has(.noCache),
            !control.has(.noCache) || !control.fieldNames(of: .noCache).isEmpty
        else { return false }
        if freshness.isFresh { return true }
        let window = [control, wishes].compactMap { $0.seconds(.staleIfError)?.value }.max()
        return window.map { freshness.staleness <= $0 } ?? false
    }
}

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

extension HTTPCachePolicy {
    /// The URLs of which nothing stored is good any more after an answer to a method that changes things (RFC 9111, 4.4): the
    /// request's own, and those of the same origin that the answer points to.
    package static func urlsInvalidated(
        byMethod method: String, of url: URL, statusCode: Int, headers: [HTTPField]
    ) -> [URL] {
        guard !safeMethods.contains(method), (200..<400).contains(statusCode) else { return [] }
        let others = ["Location", "Content-Location"]
            .compactMap { headers.values(named: $0).first }
            .compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            .filter { HTTPOrigin($0) == HTTPOrigin(url) && $0 != url }
        return [url] + others
    }

    /// RFC 9110, 9.2.1.
    private static let safeMethods: Set = ["GET", "HEAD", "OPTIONS", "TRACE"]
}

/// The words that `--explain` and traces use.
extension HTTPCachePolicy.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .fresh(let age, let lifetime, let source):
            "fresh: \(whole(age)) s old, good for \(whole(lifetime)) s (\(source.rawValue))"
        case .stale(_, _, .none): "stale: the server does not say how long it is good"
        case .stale(let age, let lifetime, let source):
            "stale: \(whole(age)) s old, was good for \(whole(lifetime)) s (\(source.rawValue))"
        case .staleAllowed(let seconds, let rule): "stale for \(whole(seconds)) s, which \(rule) allows"
        case .nothingStored: "nothing is stored"
        case .differs("*"): "the stored answer varies by things that can't be compared (Vary: *)"
        case .differs(let field): "the stored answer was for another value of \(field) (Vary)"
        case .methodIsNotCached(let method): "\(method) requests are not answered from a cache"
        case .conditionalRequest: "the request sets conditions of its own, or asks for a part"
        case .requestWantsValidation: "the request wants it confirmed (no-cache)"
        case .requestWantsYounger(let age, let maxAge):
            "\(whole(age)) s old, and the request wants at most \(whole(maxAge)) s (max-age)"
        case .requestWantsFresherFor(let seconds): "not fresh for another \(whole(seconds)) s (min-fresh)"
        case .responseWantsValidation: "the server wants it confirmed each time (no-cache)"
        case .redirectWantsValidation: "a redirect on the way to it wants it confirmed each time"
        case .notReusable: "what is stored may not answer again by the rules of HTTP"
        case .storedIsGoodEnough: "what is stored is good, whatever its age"
        case .policyWantsServer: "the policy asks the server each time"
        case .immutable: "the server has said that it will not change (immutable)"
        case .statusIsNoPicture(let code): "what is stored is an answer with status \(code)"
        case .bodyWasNotKept: "its body was not kept"
        case .invalidated: "something has shown that it may have changed"
        case .clockWentBack: "this machine's clock was set back, so that its age can't be told"
        }
    }

    private func whole(_ seconds: Double) -> Int { Int(seconds.rounded()) }
}

extension HTTPCachePolicy.StorageObstacle: CustomStringConvertible {
    package var description: String {
        switch self {
        case .method(let method): "answers to \(method) are not stored"
        case .requestNoStore: "the request forbids it (no-store)"
        case .responseNoStore: "the server forbids it (no-store)"
        case .status(let code): "answers with status \(code) are not stored"
        case .variesByAnything: "it varies by things that can't be compared (Vary: *)"
        case .noLifetime(let code):
            "the server does not say how long it is good, and for status \(code) that can't be guessed"
        case .conditionalRequest: "the request set conditions of its own, or asked for a part"
        }
    }
}
