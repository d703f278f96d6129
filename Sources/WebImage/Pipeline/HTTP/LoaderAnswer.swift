import FoundationEssentials
import WebImageCore
import WebImageLoading

/// What a loader has brought, head and body, or why not.
struct LoaderAnswer: Sendable {
    /// The head, also of an answer that was refused for its status; `nil` where none came.
    var head: LoaderResponse?
    var body: Result<Data, WebImageError>
    var metrics: LoaderMetrics?
    var isRefused = false
    var isInFile = false
    /// Whether it came from another URL than the request's own: what its server says of it holds for that one.
    var isFromAlternative = false
    /// Whether it is worth a copy in the disk cache.
    var isCacheable = true
    /// When the request went out.
    var requestTime: Date
    /// When the head came.
    var responseTime: Date
    /// The URL of the last attempt, without user information.
    var url: URL

    /// The status of an answer that is all there; `nil` where there is none, or only a part.
    var statusCode: Int? {
        if case .failure = body, !isRefused { return nil }
        return head?.statusCode
    }

    /// Whether it says that what the conditions of the request named is still good.
    var isConfirmation: Bool { statusCode == 304 }

    /// Whether the server is to blame that there is no answer, or nobody could reach it.
    var isServerTrouble: Bool {
        guard case .failure(let error) = body else { return Self.troubleStatuses.contains(head?.statusCode ?? 0) }
        return switch error {
        case .transport, .timedOut, .truncated, .emptyBody, .offline: true
        case .httpStatus(let code, _): Self.troubleStatuses.contains(code)
        default: false
        }
    }

    /// RFC 5861, 4.
    private static let troubleStatuses: Set = [500, 502, 503, 504]

    /// What is to be remembered of it; `nil` for a loader without HTTP.
    ///
    /// - Parameter rules: of the request that it answers.
    func record(under rules: AnswerRules) -> StoredResponse? {
        guard let head, let statusCode = head.statusCode else { return nil }
        var response = StoredResponse(
            statusCode: statusCode, headers: head.headers, requestHeaders: rules.request.headers,
            requestTime: requestTime, responseTime: responseTime)
        response.apply(redirectRule)
        response.finalURL = finalURL
        response.isReusable = !isFromAlternative && rules.storageObstacle(to: response) == nil
        return response
    }

    /// Where it came from in the end; `nil` without redirects.
    var finalURL: String? { head.flatMap { $0.redirects.isEmpty ? nil : $0.url.absoluteString } }

    /// What the redirects on the way to it mean.
    var redirectRule: HTTPCachePolicy.RedirectRule {
        HTTPCachePolicy.RedirectRule(
            head?.redirects.map { ($0.statusCode, $0.headers) } ?? [], requestTime: requestTime,
            responseTime: responseTime)
    }
}

extension AnswerRules {
    /// Why an answer may not answer again by the rules of HTTP; `nil` where it may.
    func storageObstacle(to response: StoredResponse) -> HTTPCachePolicy.StorageObstacle? {
        if usesCookieJar, response.varyNames.contains("cookie") { return .variesByAnything }
        // A HEAD may confirm what a GET has stored.
        var request = request
        if request.method == "HEAD" { request.method = "GET" }
        let storability = HTTPCachePolicy.storability(
            of: request, statusCode: response.statusCode, headers: response.headers)
        if case .notStorable(let obstacle) = storability { return obstacle }
        return nil
    }
}
