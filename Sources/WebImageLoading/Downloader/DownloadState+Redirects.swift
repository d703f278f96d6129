internal import FoundationEssentials
internal import WebImageCore

extension DownloadState {
    /// Judges a redirect.
    mutating func follow(_ location: String, status: Int) -> Conclusion {
        do throws(WebImageError) {
            return .redirected(try nextHop(location, status: status))
        } catch {
            return .finished(.failure(error))
        }
    }

    private mutating func nextHop(_ location: String, status: Int) throws(WebImageError) -> Hop {
        let limit = configuration.maximumRedirects
        guard redirectCount < limit else { throw .tooManyRedirects(limit: limit, url: hop.url) }
        guard let target = URL(string: location, relativeTo: hop.url)?.absoluteURL else { throw .invalidURL(location) }
        // A server has no say in who we log in as elsewhere.
        var url = target.separatedFromUserInfo.url
        var origin = try judge(url)
        let redirect = Redirect(source: hop.url, target: url, statusCode: status, previousCount: redirectCount)
        switch configuration.redirectPolicy.decide?(redirect) ?? .follow {
        case .follow: break
        case .deny: throw .redirectDenied(from: hop.url, to: url, reason: .denied)
        case .rewrite(let other):
            url = other.separatedFromUserInfo.url
            origin = try judge(url)
        }
        var headers = hop.headers
        // Once dropped they stay away, also when a later hop leads back.
        if origin != hop.origin { headers.removeFieldsPrivateToOrigin() }
        return try enter(url, origin, headers: headers)
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
