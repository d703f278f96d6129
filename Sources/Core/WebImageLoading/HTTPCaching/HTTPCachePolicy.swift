package import FoundationEssentials

/// The rules of a private cache for requests and responses: RFC 9111 and RFC 5861, as functions of the request, the
/// stored responses and the time.
///
/// ```
///  request ─► decide ──► serve                         fresh, or stale where that is allowed
///                   ├──► serve, and revalidate          stale-while-revalidate
///                   ├──► revalidate ─► 304 ─► freshen   the stored body is valid
///                   │              ├─► 5xx, no response ─► serve if stale-if-error allows
///                   │              └─► anything else ─► store
///                   ├──► load ─► store, if it may be stored
///                   └──► fail                           only-if-cached, and nothing usable
/// ```
package enum HTTPCachePolicy {
    /// The statuses that may be stored without explicit freshness (RFC 9110, 15.1), except partial content.
    static let heuristicallyCacheableStatuses: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// A request as the cache sees it.
    package struct Request: Sendable {
        package var method: String
        /// All fields that would be sent, including those that the loader adds: Vary may name any of them.
        package var headers: [HTTPHeader]

        package init(method: String = "GET", headers: [HTTPHeader] = []) {
            self.method = method
            self.headers = headers
        }

        /// The request's directives. The old `Pragma: no-cache` counts if there is no Cache-Control.
        var cacheControl: CacheControl {
            let control = CacheControl(headers)
            guard control.isEmpty,
                headers.elements(ofFieldNamed: "Pragma").contains(where: { $0.lowercased() == "no-cache" })
            else { return control }
            return CacheControl([HTTPHeader(name: "Cache-Control", value: "no-cache")])
        }

        /// Whether it has a range or conditions: such a request bypasses the cache.
        package var isConditionalOrPartial: Bool {
            headers.contains {
                HTTPHeader.conditionNames.contains($0.name.lowercased()) || $0.isNamed("range")
            }
        }
    }

    /// A decision about a request. `index` is that of the stored response.
    package enum Decision: Sendable, Equatable {
        /// Serve the stored response.
        case serve(index: Int, because: Reason)
        /// Serve the stored response, and revalidate it with the server.
        case serveAndRevalidate(index: Int, Revalidation, because: Reason)
        /// Revalidate the stored response with the server.
        case revalidate(index: Int, Revalidation, because: Reason)
        /// Load from the server, as if nothing were stored.
        case load(because: Reason)
        /// Fail: the request forbids the network.
        case fail(because: Reason)
    }

    /// A revalidation of a stored response.
    package struct Revalidation: Sendable, Equatable {
        /// The fields to send: If-None-Match, If-Modified-Since.
        package var conditions: [HTTPHeader]
        /// Whether what is stored is the response when the server cannot give one, by stale-if-error.
        package var mayServeOnError: Bool

        package init(conditions: [HTTPHeader], mayServeOnError: Bool) {
            self.conditions = conditions
            self.mayServeOnError = mayServeOnError
        }
    }

    /// The reason of a decision; ``description`` is its text.
    package enum Reason: Sendable, Equatable {
        case fresh(age: Double, lifetime: Double, source: CachedResponse.LifetimeSource)
        case stale(age: Double, lifetime: Double, source: CachedResponse.LifetimeSource)
        case staleAllowed(seconds: Double, by: String)
        case nothingStored
        case differs(field: String)
        case methodIsNotCached(String)
        case conditionalRequest
        case requestRequiresValidation
        case requestRequiresYounger(age: Double, maxAge: Double)
        case requestRequiresFresherFor(seconds: Double)
        case responseRequiresValidation
        case redirectRequiresValidation
        case invalidated
        case clockWentBack
        /// Its HTTP metadata are missing, or it is stored although HTTP forbids its reuse.
        case notReusable
        /// The policy accepts any stored response.
        case storedIsGoodEnough
        /// The policy contacts the server each time.
        case policyRequiresServer
        /// The policy contacts the server each time, but the response is `immutable`.
        case immutable
        case statusIsNoImage(Int)
        case bodyWasNotKept
    }

    /// Decides about a request, given the responses that are stored for its URL.
    package static func decide(_ request: Request, stored: [CachedResponse], now: Date) -> Decision {
        let requestControl = request.cacheControl
        func miss(_ reason: Reason) -> Decision {
            requestControl.has(.onlyIfCached) ? .fail(because: reason) : .load(because: reason)
        }
        guard ["GET", "HEAD"].contains(request.method) else { return miss(.methodIsNotCached(request.method)) }
        guard !request.isConditionalOrPartial else { return miss(.conditionalRequest) }
        guard let index = selectedIndex(for: request, among: stored) else {
            let difference = stored.lazy.compactMap { $0.firstDifference(from: request.headers) }.first
            return miss(difference.map(Reason.differs) ?? .nothingStored)
        }
        let response = stored[index]
        let freshness = Freshness(of: response, now: now)
        switch usability(of: response, freshness, requestControl) {
        case .usable(let reason):
            return .serve(index: index, because: reason)
        case .usableMeanwhile(let reason) where !requestControl.has(.onlyIfCached):
            return .serveAndRevalidate(
                index: index, revalidation(of: response, freshness, requestControl), because: reason)
        case .usableMeanwhile(let reason):
            return .serve(index: index, because: reason)
        case .unusable(let reason):
            if requestControl.has(.onlyIfCached) { return .fail(because: reason) }
            // Without conditions, the whole response is loaded.
            return .revalidate(index: index, revalidation(of: response, freshness, requestControl), because: reason)
        }
    }

    /// When ``decide(_:stored:now:)`` serves `response` as fresh to a GET without fields that mean something to caches;
    /// `nil` for never, and where Vary makes it depend on the request.
    package static func freshPeriod(of response: CachedResponse) -> Range<Date>? {
        let (time, freshness) = (response.responseTime, Freshness(of: response, now: response.responseTime))
        guard response.varyingFieldNames.isEmpty, freshness.isFresh,
            case .usable = usability(of: response, freshness, CacheControl([]))
        else { return nil }
        return time.addingTimeInterval(-Freshness.clockTolerance)..<time.addingTimeInterval(-freshness.staleness)
    }

    /// 4.1: the most recent of those that Vary lets answer.
    private static func selectedIndex(for request: Request, among stored: [CachedResponse]) -> Int? {
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
        of response: CachedResponse, _ freshness: Freshness, _ requestControl: CacheControl
    ) -> Usability {
        let control = response.cacheControl
        if response.isInvalidated { return .unusable(.invalidated) }
        // With field names it only forbids to pass those fields on; see `CachedResponse.headers(servedAt:)`.
        if control.has(.noCache), control.fieldNames(of: .noCache).isEmpty {
            return .unusable(.responseRequiresValidation)
        }
        if response.redirectsRequireValidation { return .unusable(.redirectRequiresValidation) }
        if requestControl.has(.noCache) { return .unusable(.requestRequiresValidation) }
        if freshness.clockWentBack { return .unusable(.clockWentBack) }
        if let maxAge = requestControl.seconds(.maxAge)?.value, freshness.age > maxAge {
            return .unusable(.requestRequiresYounger(age: freshness.age, maxAge: maxAge))
        }
        if let minFresh = requestControl.seconds(.minFresh)?.value, -freshness.staleness < minFresh {
            return .unusable(.requestRequiresFresherFor(seconds: minFresh))
        }
        let (age, lifetime) = (freshness.age, freshness.lifetime)
        if freshness.isFresh { return .usable(.fresh(age: age, lifetime: lifetime, source: freshness.source)) }

        let stale = Reason.stale(age: age, lifetime: lifetime, source: freshness.source)
        guard !control.has(.mustRevalidate) else { return .unusable(stale) }
        switch requestControl.seconds(.maxStale) {
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

    /// Returns the revalidation of a stored response, whether or not it is due.
    package static func revalidation(of response: CachedResponse, for request: Request, now: Date) -> Revalidation {
        revalidation(of: response, Freshness(of: response, now: now), request.cacheControl)
    }

    /// 4.3.1: both conditions if possible, for servers that support only one.
    private static func revalidation(
        of response: CachedResponse, _ freshness: Freshness, _ requestControl: CacheControl
    ) -> Revalidation {
        var conditions: [HTTPHeader] = []
        if let tag = response.entityTag {
            conditions.append(HTTPHeader(name: "If-None-Match", value: tag))
        }
        if let date = response.headers.values(named: "Last-Modified").first, response.lastModified != nil {
            conditions.append(HTTPHeader(name: "If-Modified-Since", value: date))
        }
        return Revalidation(
            conditions: conditions, mayServeOnError: mayServeOnError(response, freshness, requestControl))
    }

    /// RFC 5861, 4: by the response's word or by the request's; never against `must-revalidate` and `no-cache`.
    private static func mayServeOnError(
        _ response: CachedResponse, _ freshness: Freshness, _ requestControl: CacheControl
    ) -> Bool {
        let control = response.cacheControl
        guard !response.isInvalidated, !freshness.clockWentBack, !control.has(.mustRevalidate),
            !requestControl.has(.noCache),
            !control.has(.noCache) || !control.fieldNames(of: .noCache).isEmpty
        else { return false }
        if freshness.isFresh { return true }
        let window = [control, requestControl].compactMap { $0.seconds(.staleIfError)?.value }.max()
        return window.map { freshness.staleness <= $0 } ?? false
    }
}

extension HTTPCachePolicy {
    /// Whether a response may be stored, and if not, why.
    package enum Storability: Sendable, Equatable {
        case storable
        case notStorable(StorageObstacle)
    }

    /// Why a response may not be stored; ``description`` is its text.
    package enum StorageObstacle: Sendable, Equatable {
        case method(String)
        case requestNoStore
        case responseNoStore
        /// The response is for one user, and the cache for several.
        case responsePrivate
        /// An informational response, a part, or one whose meaning is not known here although that matters.
        case status(Int)
        case variesByAnything
        /// The server declares no lifetime, and the status has no default.
        case noLifetime(status: Int)
        case conditionalRequest
    }

    /// RFC 9111, 3.
    ///
    /// - Parameter headers: of the response.
    package static func storability(
        of request: Request, statusCode: Int, headers: [HTTPHeader]
    ) -> Storability {
        let control = CacheControl(headers)
        guard request.method == "GET" else { return .notStorable(.method(request.method)) }
        // Before the reasons that only HTTP cares about, so that the secret ones are reported first.
        guard !request.cacheControl.has(.noStore) else { return .notStorable(.requestNoStore) }
        // `must-understand` overrides `no-store` for a supported status (5.2.2.3).
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

    /// The statuses whose caching rules are supported.
    private static let understoodStatuses: Set = [
        200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504,
    ]
}

extension HTTPCachePolicy {
    /// The effect of redirects on keeping the response that they led to under the requested URL: each of them is
    /// an answer with a lifetime of its own (RFC 9110, 15.4; RFC 9111, 3 and 4.2).
    package struct RedirectRule: Sendable, Equatable {
        /// For how many seconds after the response the shortest-lived of them is good; `nil` for no limit.
        var lifetime: Double?
        /// Whether one of them is to be confirmed each time.
        var requiresValidation = false

        /// Permanent redirects without a word on caching set no limit; others without are good for this once.
        package init(_ redirects: [(statusCode: Int, headers: [HTTPHeader])], requestTime: Date, responseTime: Date) {
            for redirect in redirects {
                let hop = CachedResponse(
                    statusCode: redirect.statusCode, headers: redirect.headers, requestHeaders: [],
                    requestTime: requestTime, responseTime: responseTime)
                let control = hop.cacheControl
                if control.has(.noStore) || control.has(.noCache) { requiresValidation = true }
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

extension HTTPCachePolicy.RedirectRule {
    /// Notes the redirects in the response that they led to.
    package func apply(to response: inout CachedResponse) {
        response.redirectLifetime = lifetime
        response.redirectsRequireValidation = requiresValidation
    }
}

extension HTTPCachePolicy {
    /// The URLs of which nothing stored is good any more after a response to a method that changes things (RFC 9111,
    /// 4.4): the request's own, and those of the same origin that the response points to.
    package static func urlsInvalidated(
        byMethod method: String, of url: URL, statusCode: Int, headers: [HTTPHeader]
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

/// The texts of `--explain` and traces.
extension HTTPCachePolicy.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .fresh(let age, let lifetime, let source):
            "fresh: \(whole(age)) s old, good for \(whole(lifetime)) s (\(source.name))"
        case .stale(_, _, .none): "stale: the server does not say how long it is good"
        case .stale(let age, let lifetime, let source):
            "stale: \(whole(age)) s old, was good for \(whole(lifetime)) s (\(source.name))"
        case .staleAllowed(let seconds, let rule): "stale for \(whole(seconds)) s, which \(rule) allows"
        case .nothingStored: "nothing is stored"
        case .differs("*"): "the stored response varies by things that cannot be compared (Vary: *)"
        case .differs(let field): "the stored response was for another value of \(field) (Vary)"
        case .methodIsNotCached(let method): "\(method) requests are not served from a cache"
        case .conditionalRequest: "the request has conditions or a range"
        case .requestRequiresValidation: "the request requires revalidation (no-cache)"
        case .requestRequiresYounger(let age, let maxAge):
            "\(whole(age)) s old, and the request accepts at most \(whole(maxAge)) s (max-age)"
        case .requestRequiresFresherFor(let seconds): "not fresh for another \(whole(seconds)) s (min-fresh)"
        case .responseRequiresValidation: "the response requires revalidation each time (no-cache)"
        case .redirectRequiresValidation: "a redirect to it requires revalidation each time"
        case .notReusable: "HTTP does not allow the stored response to be reused"
        case .storedIsGoodEnough: "the cached copy is used regardless of age"
        case .policyRequiresServer: "the policy contacts the server each time"
        case .immutable: "the response does not change (immutable)"
        case .statusIsNoImage(let code): "what is stored is a response with status \(code)"
        case .bodyWasNotKept: "its body was not stored"
        case .invalidated: "it may have changed (invalidated)"
        case .clockWentBack: "its age is unknown, since this machine's clock was set back"
        }
    }

    private func whole(_ seconds: Double) -> Int { Int(seconds.rounded()) }
}

extension CachedResponse.LifetimeSource {
    fileprivate var name: String {
        switch self {
        case .maxAge: "max-age"
        case .expires: "Expires"
        case .heuristic: "heuristic"
        case .redirect: "redirect"
        case .none: "none"
        }
    }
}

extension HTTPCachePolicy.StorageObstacle: CustomStringConvertible {
    package var description: String {
        switch self {
        case .method(let method): "responses to \(method) are not stored"
        case .requestNoStore: "the request forbids it (no-store)"
        case .responseNoStore: "the server forbids it (no-store)"
        case .responsePrivate: "it is for one user (private)"
        case .status(let code): "responses with status \(code) are not stored"
        case .variesByAnything: "it varies by things that cannot be compared (Vary: *)"
        case .noLifetime(let code):
            "the server declares no lifetime, and status \(code) has no default"
        case .conditionalRequest: "the request had conditions or a range"
        }
    }
}

extension HTTPCachePolicy {
    /// The result of a ``Revalidation``.
    package enum ValidationResult: Sendable, Equatable {
        /// The stored response is valid, with these updated metadata.
        case confirmed(CachedResponse)
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
        _ stored: CachedResponse, _ revalidation: Revalidation, statusCode: Int?, headers: [HTTPHeader],
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

    /// 4.3.4: a 304 with a validator is about the stored response with the same one; without, about the only one in the
    /// request.
    private static func confirms(_ headers: [HTTPHeader], _ stored: CachedResponse) -> Bool {
        if let tag = headers.entityTag {
            guard let own = stored.headers.entityTag else { return false }
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
        _ stored: CachedResponse, byHeadWithStatus statusCode: Int, headers: [HTTPHeader], requestTime: Date,
        responseTime: Date
    ) -> CachedResponse? {
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

extension CachedResponse {
    /// Returns the metadata updated with the fields (RFC 9111, 3.2) and the times of a response that confirms it.
    fileprivate func freshened(by fields: [HTTPHeader], requestTime: Date, responseTime: Date) -> CachedResponse {
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

extension [HTTPHeader] {
    /// The validator of a response; `nil` without a valid one.
    var entityTag: EntityTag? { values(named: "ETag").first.flatMap(EntityTag.init) }
}

/// An ETag, which identifies a representation of a resource (RFC 9110, 8.8.3).
struct EntityTag: Equatable, Sendable {
    /// With its quotation marks, and without the `W/`.
    let opaqueTag: String
    /// Whether representations with the same tag may differ in bytes, though not in meaning.
    let isWeak: Bool

    /// `nil` for an invalid tag.
    init?(_ text: String) {
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
    var description: String { (isWeak ? "W/" : "") + opaqueTag }

    /// Returns whether both identify the same bytes: neither is weak.
    func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && self == other }

    /// Returns whether both identify the same content.
    func matchesWeakly(_ other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
