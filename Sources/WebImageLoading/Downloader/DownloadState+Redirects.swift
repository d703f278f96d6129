internal import FoundationEssentials
internal import WebImageCore

extension DownloadState {
    /// Judges a redirect.
    mutating func follow(_ location: String, status: Int, decision: RedirectDecision) -> Conclusion {
        do throws(WebImageError) {
            return .redirected(try nextHop(location, status: status, decision: decision))
        } catch {
            return .finished(.failure(error))
        }
    }

    /// What to ask the policy's closure; `nil` for an answer that is no redirect, or one that is not followed in any case.
    func proposedRedirect(_ head: TransferHead) -> Redirect? {
        guard let location = head.redirectLocation, let target = try? target(of: location) else { return nil }
        return Redirect(
            source: hop.url, target: target.url, statusCode: head.statusCode, previousCount: redirects.count)
    }

    private func target(of location: String) throws(WebImageError) -> (url: URL, origin: HTTPOrigin) {
        let limit = configuration.maximumRedirects
        guard redirects.count < limit else { throw .tooManyRedirects(limit: limit, url: hop.url) }
        guard let target = URL(string: location, relativeTo: hop.url)?.absoluteURL else { throw .invalidURL(location) }
        // A server has no say in who we log in as elsewhere.
        let url = target.separatedFromUserInfo.url
        return (url, try judge(url))
    }

    private mutating func nextHop(
        _ location: String, status: Int, decision: RedirectDecision
    ) throws(WebImageError) -> Hop {
        var (url, origin) = try target(of: location)
        switch decision {
        case .follow: break
        case .deny: throw .redirectDenied(from: hop.url, to: url, reason: .denied)
        case .rewrite(let other):
            url = other.separatedFromUserInfo.url
            origin = try judge(url)
        }
        var next = Hop(url: url, origin: origin, headers: hop.headers, method: hop.method, content: hop.content)
        if Self.becomesGet(hop.method, after: status) {
            (next.method, next.content) = (.get, nil)
            next.headers.removeFieldsOfBody()
        }
        // Once dropped they stay away, also when a later hop leads back.
        if origin != hop.origin { next.headers.removeFieldsPrivateToOrigin(keepingBody: next.content != nil) }
        let proxy = try surroundings.proxies.server(for: url)
        if proxy != hop.access.proxy { next.headers.remove(RequestHeaders.proxyName) }
        return try enter(next)
    }

    /// RFC 9110, 15.4: "see other" is to be fetched, and since nobody else repeats a POST after 301 and 302, servers count on
    /// that.
    private static func becomesGet(_ method: LoaderRequest.Method, after status: Int) -> Bool {
        switch status {
        case 303: method != .head
        case 301, 302: method == .post
        default: false
        }
    }

    private func judge(_ target: URL) throws(WebImageError) -> HTTPOrigin {
        guard HTTPOrigin.isHTTP(target) else { throw .unsupportedScheme(target.scheme ?? "", url: target) }
        guard let origin = HTTPOrigin(target) else { throw .invalidURL(target.absoluteString) }
        let isDowngrade = hop.origin.scheme == "https" && origin.scheme == "http"
        guard !isDowngrade || configuration.redirectPolicy.allowsDowngrade else {
            throw .redirectDenied(from: hop.url, to: target, reason: .downgrade)
        }
        return origin
    }
}
