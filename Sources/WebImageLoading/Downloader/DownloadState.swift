internal import FoundationEssentials
internal import WebImageCore

/// What becomes of a load: judges heads, counts bytes and follows redirects. Pure, so that each rule can be tested
/// without a server.
struct DownloadState {
    /// A load's next exchange with a server.
    struct Hop {
        var url: URL
        var origin: HTTPOrigin
        var headers: RequestHeaders
        var access = TransferAccess()
    }

    enum Conclusion {
        case redirected(Hop)
        /// The same request once more, with another credential.
        case retried(Hop)
        case challenged(AuthenticationChallenge, refusal: WebImageError)
        case finished(Result<Void, WebImageError>)
    }

    /// What the body of the hop under way is good for.
    private enum Body {
        case awaited
        case wanted(expected: Int64?)
        /// Of a redirect or an error: read so that the connection can be used again, unless it is long.
        case discarded(Conclusion)
        case refused(WebImageError)
    }

    /// Pages that go with redirects and errors are small; beyond this a new connection is cheaper.
    static let discardedByteLimit = 64 << 10

    private(set) var hop: Hop
    let request: LoaderRequest
    let configuration: ImageDownloader.Configuration
    let surroundings: DownloadSurroundings
    var authentication: DownloadAuthentication
    private(set) var redirectCount = 0
    private var body = Body.awaited
    private var receivedByteCount: Int64 = 0

    init(
        _ request: LoaderRequest, configuration: ImageDownloader.Configuration,
        surroundings: DownloadSurroundings? = nil
    ) throws(WebImageError) {
        let (url, ownCredential) = request.url.separatedFromUserInfo
        guard HTTPOrigin.isHTTP(url) else { throw .unsupportedScheme(url.scheme ?? "", url: url) }
        guard let origin = HTTPOrigin(url) else { throw .invalidURL(url.absoluteString) }
        let headers = try RequestHeaders(defaults: configuration.headers, own: request.headers)
        let credential = request.credential ?? ownCredential ?? configuration.credential
        guard credential?.isSendable ?? true else { throw .invalidHeader(name: "Authorization") }
        hop = Hop(url: url, origin: origin, headers: headers)
        self.request = request
        self.configuration = configuration
        self.surroundings = surroundings ?? DownloadSurroundings(configuration)
        authentication = DownloadAuthentication(
            credential, usesStorage: request.usesCredentialStorage, storage: self.surroundings.credentials,
            configuration: configuration)
        hop = try enter(url, origin, headers: headers)
    }

    /// Takes the head; the response to report, if this is the hop that brings the picture.
    mutating func receive(_ head: TransferHead) -> (response: LoaderResponse?, disposition: TransferDisposition) {
        if let conclusion = refusedConclusion(head) {
            body = .discarded(conclusion)
            return (nil, .proceed)
        }
        if let location = Self.redirectLocation(head) {
            body = .discarded(follow(location, status: head.statusCode))
            return (nil, .proceed)
        }
        guard 200..<300 ~= head.statusCode else {
            body = .discarded(.finished(.failure(.httpStatus(code: head.statusCode, url: hop.url))))
            return (nil, .proceed)
        }
        let response = LoaderResponse(
            url: hop.url, statusCode: head.statusCode, headers: head.fields, expectedByteCount: head.contentLength)
        let limit = configuration.maximumResponseByteCount
        if let length = head.contentLength, length > limit {
            body = .refused(.responseTooLarge(byteCount: length, limit: limit, url: hop.url))
            return (response, .stop)
        }
        body = .wanted(expected: head.contentLength)
        return (response, .proceed)
    }

    /// Counts a piece of the body; whether to pass it on.
    mutating func receive(_ bytes: Data) -> (isWanted: Bool, disposition: TransferDisposition) {
        receivedByteCount += Int64(bytes.count)
        guard case .wanted = body else {
            return (false, receivedByteCount > Self.discardedByteLimit ? .stop : .proceed)
        }
        let limit = configuration.maximumResponseByteCount
        guard receivedByteCount <= limit else {
            body = .refused(.responseTooLarge(byteCount: receivedByteCount, limit: limit, url: hop.url))
            return (false, .stop)
        }
        return (true, .proceed)
    }

    /// Draws the conclusion from a hop that has ended.
    mutating func conclude(_ end: TransferEnd) -> Conclusion {
        let url = hop.url
        switch (end, body) {
        case (.cancelled, _):
            return .finished(.failure(.cancelled))
        case (_, .refused(let error)):
            return .finished(.failure(error))
        case (_, .discarded(let conclusion)):
            return conclusion
        case (.complete, .wanted(let expected?)) where expected != receivedByteCount,
            (.cut, .wanted(let expected?)):
            return .finished(.failure(.truncated(expected: expected, received: receivedByteCount, url: url)))
        case (.cut, _):
            return .finished(.failure(.truncated(expected: nil, received: receivedByteCount, url: url)))
        case (.complete, _), (.stopped, _):
            return .finished(receivedByteCount > 0 ? .success(()) : .failure(.emptyBody(url: url)))
        case (.connectTimedOut, _):
            return .finished(.failure(.timedOut(seconds: configuration.connectTimeout.inSeconds, url: url)))
        case (.idleTimedOut, _):
            return .finished(.failure(.timedOut(seconds: configuration.idleTimeout.inSeconds, url: url)))
        case (.untrusted(let reason), _):
            return .finished(.failure(.certificate(reason: reason, url: url)))
        case (.blocked(let cause), _):
            return .finished(.failure(.blocked(url: url, cause: cause)))
        case (.proxyRefused(let scheme), _):
            return refusedConclusion(byProxy: scheme)
        case (.failed(let code, let message), _):
            return .finished(.failure(.transport(code: code, message: message, url: url)))
        }
    }

    /// Goes on to the next hop.
    mutating func begin(_ next: Hop) {
        redirectCount += 1
        beginAgain(next)
    }

    /// Goes on to the same hop once more.
    mutating func beginAgain(_ next: Hop) {
        hop = next
        body = .awaited
        receivedByteCount = 0
    }

    private static func redirectLocation(_ head: TransferHead) -> String? {
        [301, 302, 303, 307, 308].contains(head.statusCode) ? head.value("location") : nil
    }
}
