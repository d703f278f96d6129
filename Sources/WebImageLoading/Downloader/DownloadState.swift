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
    }

    enum Conclusion {
        case redirected(Hop)
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
    private let configuration: ImageDownloader.Configuration
    private var redirectCount = 0
    private var body = Body.awaited
    private var receivedByteCount: Int64 = 0

    init(_ request: LoaderRequest, configuration: ImageDownloader.Configuration) throws(WebImageError) {
        guard HTTPOrigin.isHTTP(request.url) else {
            throw .unsupportedScheme(request.url.scheme ?? "", url: request.url)
        }
        guard let origin = HTTPOrigin(request.url) else { throw .invalidURL(request.url.absoluteString) }
        let headers = try RequestHeaders(defaults: configuration.headers, own: request.headers)
        hop = Hop(url: request.url, origin: origin, headers: headers)
        self.configuration = configuration
    }

    /// Takes the head; the response to report, if this is the hop that brings the picture.
    mutating func receive(_ head: TransferHead) -> (response: LoaderResponse?, disposition: TransferDisposition) {
        if let location = Self.redirectLocation(head) {
            body = .discarded(follow(location))
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
    func conclude(_ end: TransferEnd) -> Conclusion {
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
        case (.failed(let code, let message), _):
            return .finished(.failure(.transport(code: code, message: message, url: url)))
        }
    }

    /// Goes on to the next hop.
    mutating func begin(_ next: Hop) {
        hop = next
        redirectCount += 1
        body = .awaited
        receivedByteCount = 0
    }

    private static func redirectLocation(_ head: TransferHead) -> String? {
        [301, 302, 303, 307, 308].contains(head.statusCode) ? head.value("location") : nil
    }

    private func follow(_ location: String) -> Conclusion {
        guard redirectCount < configuration.maximumRedirects else {
            return .finished(.failure(.tooManyRedirects(limit: configuration.maximumRedirects, url: hop.url)))
        }
        guard let target = URL(string: location, relativeTo: hop.url)?.absoluteURL else {
            return .finished(.failure(.invalidURL(location)))
        }
        guard HTTPOrigin.isHTTP(target) else {
            return .finished(.failure(.unsupportedScheme(target.scheme ?? "", url: target)))
        }
        guard let origin = HTTPOrigin(target) else { return .finished(.failure(.invalidURL(location))) }
        var next = Hop(url: target, origin: origin, headers: hop.headers)
        // Once dropped they stay away, also when a later hop leads back.
        if origin != hop.origin { next.headers.removeFieldsPrivateToOrigin() }
        return .redirected(next)
    }
}
