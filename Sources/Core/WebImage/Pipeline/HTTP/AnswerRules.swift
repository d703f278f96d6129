import FoundationEssentials
import WebImageCore
import WebImageLoading

/// Decides how stored responses answer a request under its ``CachePolicy``, by the rules of HTTP or by simpler ones.
///
/// Its functions return decisions of ``HTTPCachePolicy``, and change nothing. The first that needs the header fields as sent
/// calls the loader for them.
struct AnswerRules: Sendable {
    let policy: CachePolicy
    /// The request as sent, without the conditions that the cache adds.
    let sent: SentRequest
    /// Whether cookies come from a jar. It is then unknown which cookies a response was for.
    let usesCookieJar: Bool
    /// Whether the request is for an image. A stored response with an error status is not one.
    let requiresImage: Bool
    /// Whether the cache is for several users, and follows the rules of HTTP for those (RFC 9111, 5.2.2).
    let isShared: Bool

    var request: HTTPCachePolicy.Request { sent.value }

    /// Returns what to do with the stored responses.
    ///
    /// - Parameter stored: an element is `nil` if only its body is known.
    func decide(_ stored: [CachedResponse?], now: Date) -> HTTPCachePolicy.Decision {
        switch policy {
        case .cacheFirst: serveAny(stored) { .load(because: $0) }
        case .cacheOnly: serveAny(stored) { .fail(because: $0) }
        case .reload: .load(because: .policyRequiresServer)
        case .http: byHTTP(stored, request, now)
        case .refresh: refresh(stored, now)
        case .offline: offline(stored, now)
        }
    }

    /// Whether `Vary` allows the response to answer the request. Then no other stored response has to be read.
    func isForRequest(_ response: CachedResponse?) -> Bool {
        guard let response else { return true }
        return response.firstDifference(from: request.headers, ignoring: ["*"]) == nil
    }

    private func serveAny(
        _ stored: [CachedResponse?], otherwise: (HTTPCachePolicy.Reason) -> HTTPCachePolicy.Decision
    ) -> HTTPCachePolicy.Decision {
        if !requiresImage, request.isConditionalOrPartial { return otherwise(.conditionalRequest) }
        var reason = HTTPCachePolicy.Reason.nothingStored
        for (index, response) in stored.enumerated() {
            guard let obstacle = obstacle(to: response) else {
                return .serve(index: index, because: .storedIsGoodEnough)
            }
            if index == 0 { reason = obstacle }
        }
        return otherwise(reason)
    }

    /// Returns why the response cannot be used regardless of age; `nil` if it can.
    private func obstacle(to response: CachedResponse?) -> HTTPCachePolicy.Reason? {
        guard let response else { return nil }
        if requiresImage, !(200..<300).contains(response.statusCode) { return .statusIsNoImage(response.statusCode) }
        if response.lacksBody || response.isRewritten && !requiresImage { return .bodyWasNotKept }
        return response.firstDifference(from: request.headers, ignoring: usesCookieJar ? ["*", "cookie"] : ["*"])
            .map { .differs(field: $0) }
    }

    private func byHTTP(
        _ stored: [CachedResponse?], _ request: HTTPCachePolicy.Request, _ now: Date
    ) -> HTTPCachePolicy.Decision {
        let indices = stored.indices.filter { isReusable(stored[$0]) }
        let known = indices.compactMap { isShared ? stored[$0]?.forSharedCache : stored[$0] }
        let decision = HTTPCachePolicy.decide(request, stored: known, now: now)
        switch decision {
        case .serve(let index, let reason): return .serve(index: indices[index], because: reason)
        case .serveAndRevalidate(let index, let revalidation, let reason):
            return .serveAndRevalidate(index: indices[index], revalidation, because: reason)
        case .revalidate(let index, let revalidation, let reason):
            return .revalidate(index: indices[index], revalidation, because: reason)
        case .load(.nothingStored) where !stored.isEmpty: return .load(because: .notReusable)
        case .fail(.nothingStored) where !stored.isEmpty: return .fail(because: .notReusable)
        case .load, .fail: return decision
        }
    }

    private func isReusable(_ response: CachedResponse?) -> Bool {
        guard let response, response.isReusable else { return false }
        if response.isRewritten, !requiresImage { return false }
        if isShared, CacheControl(response.headers).has(.isPrivate) { return false }
        if usesCookieJar, response.varyingFieldNames.contains("cookie") { return false }
        // For an image, the head of an error is enough.
        return !response.lacksBody || requiresImage && !(200..<300).contains(response.statusCode)
    }

    /// Uses the stored response as a preview while it is revalidated.
    private func refresh(_ stored: [CachedResponse?], _ now: Date) -> HTTPCachePolicy.Decision {
        guard !request.isConditionalOrPartial else { return .load(because: .conditionalRequest) }
        guard let index = stored.indices.first(where: { obstacle(to: stored[$0]) == nil }) else {
            return .load(because: stored.first.flatMap { $0 }.flatMap(obstacle) ?? .nothingStored)
        }
        // With another method than GET, conditions would have another meaning (RFC 9110, 13.1).
        guard let response = stored[index], isReusable(response), ["GET", "HEAD"].contains(request.method) else {
            let revalidation = HTTPCachePolicy.Revalidation(conditions: [], mayServeOnError: false)
            return .serveAndRevalidate(index: index, revalidation, because: .policyRequiresServer)
        }
        if case .serve = byHTTP([response], request, now), CacheControl(response.headers).has(.immutable) {
            return .serve(index: index, because: .immutable)
        }
        var revalidation = HTTPCachePolicy.revalidation(of: response, for: request, now: now)
        // Under this policy, freshness alone does not allow it.
        revalidation.mayServeOnError = revalidation.mayServeOnError && CacheControl(response.headers).has(.staleIfError)
        return .serveAndRevalidate(index: index, revalidation, because: .policyRequiresServer)
    }

    /// Uses stored responses of any age, unless the server forbids using them without revalidation.
    private func offline(_ stored: [CachedResponse?], _ now: Date) -> HTTPCachePolicy.Decision {
        var request = request
        request.headers.append(HTTPHeader(name: "Cache-Control", value: "only-if-cached, max-stale"))
        let decision = byHTTP(stored, request, now)
        if case .fail(.notReusable) = decision, let index = stored.firstIndex(where: { $0 == nil }) {
            // Nothing is known about this response, so nothing forbids its use.
            return .serve(index: index, because: .storedIsGoodEnough)
        }
        return decision
    }
}

/// A request as its loader sends it. The loader, which may call code of the program, is called at the first use of
/// ``value``: for a stored response that varies, for the rules of HTTP, and before the request is sent.
final class SentRequest: Sendable {
    private let make: @Sendable () -> HTTPCachePolicy.Request
    private let made = Lock<HTTPCachePolicy.Request?>(nil)

    init(_ make: @escaping @Sendable () -> HTTPCachePolicy.Request) { self.make = make }

    /// Made by the first caller.
    var value: HTTPCachePolicy.Request {
        if let known = made.withLock({ $0 }) { return known }
        let new = make()
        return made.withLock { value in
            if let known = value { return known }
            value = new
            return new
        }
    }
}

/// The head and the body from a loader, or its error.
struct LoaderAnswer: Sendable {
    /// The head, also of a response that was refused for its status; `nil` without one.
    var head: LoaderResponse?
    var body: Result<Data, WebImageError>
    var metrics: LoaderMetrics?
    /// The judgments of the body that shared caches wait for.
    var judgments: [BodyJudgment] = []
    var isRefused = false
    var isInFile = false
    /// Whether it came from another URL than the request's. Its HTTP metadata then apply to that URL.
    var isFromAlternative = false
    /// Whether the disk cache should store it.
    var isCacheable = true
    /// When the request was sent.
    var requestTime: Date
    /// When the head arrived.
    var responseTime: Date
    /// The URL of the last attempt, without user information.
    var url: URL

    /// The status of a complete response; `nil` without a response or for a partial one.
    var statusCode: Int? {
        if case .failure = body, !isRefused { return nil }
        return head?.statusCode
    }

    /// Whether the server has confirmed the stored response that the request's conditions name.
    var isConfirmation: Bool { statusCode == 304 }

    /// Whether the server failed or could not be reached.
    var isServerTrouble: Bool {
        guard case .failure(let error) = body else { return Self.troubleStatuses.contains(head?.statusCode ?? 0) }
        return switch error {
        case .transport, .timedOut, .invalidResponse(.truncated, _), .invalidResponse(.emptyBody, _): true
        case .httpStatus(let code, _): Self.troubleStatuses.contains(code)
        default: false
        }
    }

    /// RFC 5861, 4.
    private static let troubleStatuses: Set = [500, 502, 503, 504]

    /// Returns the response to store; `nil` from a loader without HTTP.
    ///
    /// - Parameter rules: the rules of its request.
    func storedResponse(under rules: AnswerRules) -> CachedResponse? {
        guard let head, let statusCode = head.statusCode else { return nil }
        var response = CachedResponse(
            statusCode: statusCode, headers: head.headers, requestHeaders: rules.request.headers,
            requestTime: requestTime, responseTime: responseTime)
        redirectRule.apply(to: &response)
        response.finalURL = finalURL
        response.isReusable = !isFromAlternative && rules.storageObstacle(to: response) == nil
        return response
    }

    /// The final URL; `nil` without redirects.
    var finalURL: String? { head.flatMap { $0.redirects.isEmpty ? nil : $0.url.absoluteString } }

    /// How the redirects affect caching.
    var redirectRule: HTTPCachePolicy.RedirectRule {
        HTTPCachePolicy.RedirectRule(
            head?.redirects.map { ($0.statusCode, $0.headers) } ?? [], requestTime: requestTime,
            responseTime: responseTime)
    }
}

extension AnswerRules {
    /// Returns why HTTP does not allow the response to be reused; `nil` if it does.
    func storageObstacle(to response: CachedResponse) -> HTTPCachePolicy.StorageObstacle? {
        if usesCookieJar, response.varyingFieldNames.contains("cookie") { return .variesByAnything }
        // A HEAD can confirm the stored response to a GET, and images of other methods are stored as if they were one.
        var request = request
        request.method = "GET"
        let storability = HTTPCachePolicy.storability(
            of: request, statusCode: response.statusCode, headers: response.headers)
        if case .notStorable(let obstacle) = storability { return obstacle }
        if isShared, CacheControl(response.headers).has(.isPrivate) { return .responsePrivate }
        return nil
    }
}

extension AnswerNote {
    init(_ answer: LoaderAnswer, conditions: [HTTPHeader]) {
        self.init(
            statusCode: answer.head?.statusCode, byteCount: answer.body.map(\.count), metrics: answer.metrics,
            conditions: conditions)
    }
}
