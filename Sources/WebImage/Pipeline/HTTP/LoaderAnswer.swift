import FoundationEssentials
import WebImageCore
import WebImageLoading

/// The head and the body from a loader, or its error.
struct LoaderAnswer: Sendable {
    /// The head, also of a response that was refused for its status; `nil` without one.
    var head: LoaderResponse?
    var body: Result<Data, WebImageError>
    var metrics: LoaderMetrics?
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

    /// The status of a complete response; `nil` if there is none, or only a part of one.
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

    /// Returns the metadata of the response to store; `nil` from a loader without HTTP.
    ///
    /// - Parameter rules: the rules of its request.
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
    func storageObstacle(to response: StoredResponse) -> HTTPCachePolicy.StorageObstacle? {
        if usesCookieJar, response.varyNames.contains("cookie") { return .variesByAnything }
        // A HEAD can confirm the stored response to a GET.
        var request = request
        if request.method == "HEAD" { request.method = "GET" }
        let storability = HTTPCachePolicy.storability(
            of: request, statusCode: response.statusCode, headers: response.headers)
        if case .notStorable(let obstacle) = storability { return obstacle }
        return nil
    }
}
