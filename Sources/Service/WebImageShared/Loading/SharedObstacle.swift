internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// The rules for a cache that several users share (RFC 9111, 3.5, 5.2.2.7).
extension HTTPCachePolicy {
    /// Why a shared cache neither stores a response nor looks one up; ``description`` is its text.
    enum SharedObstacle: Sendable, Equatable {
        /// Not a plain GET for the whole.
        case request
        /// The request has a user's credential or cookies.
        case personalRequest
        /// The request has a header field that may be a credential, or select other content.
        case headerField(name: String)
        /// The response is for one user.
        case isPrivate
        /// The response sets a cookie.
        case setsCookie
        /// The response has a status other than 200.
        case status(Int)
        case notStorable(StorageObstacle)
    }

    /// Returns why a request is not for a shared cache, neither to look up nor to store; `nil` if it may be.
    ///
    /// Responses to requests with `Authorization` could be shared if the server says so (3.5), but are not here: nothing
    /// of one user is ever shared. Nor can servers be relied on to say `private` or `Vary` for fields of their own, such
    /// as `X-Api-Key`, so any field that is not known to be harmless excludes the request.
    static func sharedObstacle(to request: LoaderRequest, headersSent: [HTTPHeader]) -> SharedObstacle? {
        let names = Set(headersSent.map { $0.name.lowercased() })
        guard request.method == .get, request.body == nil, !names.contains("range"), !request.acceptsAnyAnswer else {
            return .request
        }
        let isPersonal =
            request.credential != nil || request.usesCredentialStorage || request.handlesCookies
            || request.allowsInvalidCertificates || request.url.user() != nil || request.url.password() != nil
            || !names.isDisjoint(with: ["authorization", "cookie", "proxy-authorization"])
        guard !isPersonal else { return .personalRequest }
        let doubtful = headersSent.first { !request.harmlessHeaders.contains($0.name) }
        return doubtful.map { .headerField(name: $0.name) }
    }

    /// Returns why a response is not for a shared cache; `nil` if it may be stored.
    static func sharedObstacle(
        toStoring statusCode: Int?, headers: [HTTPHeader], requestHeaders: [HTTPHeader]
    ) -> SharedObstacle? {
        guard let statusCode, statusCode == 200 else { return .status(statusCode ?? 0) }
        if headers.contains(where: { $0.isNamed("set-cookie") }) { return .setsCookie }
        if CacheControl(headers).has(.isPrivate) { return .isPrivate }
        // A condition is about a response that the client has; what comes instead is whole.
        let request = Request(
            headers: requestHeaders.filter { !HTTPHeader.conditionNames.contains($0.name.lowercased()) })
        switch storability(of: request, statusCode: statusCode, headers: headers) {
        case .storable: return nil
        case .notStorable(let obstacle): return .notStorable(obstacle)
        }
    }
}

extension HTTPCachePolicy.SharedObstacle: CustomStringConvertible {
    /// The reason as a text for traces.
    var description: String {
        switch self {
        case .request: "it is no plain GET for a whole image"
        case .personalRequest: "it has a credential or cookies"
        case .headerField(let name): "the header \(name) may be a credential; see harmlessHeaders"
        case .isPrivate: "the response is private"
        case .setsCookie: "the response sets a cookie"
        case .status(let status): "the status is \(status)"
        case .notStorable(let obstacle): "\(obstacle)"
        }
    }
}
