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
