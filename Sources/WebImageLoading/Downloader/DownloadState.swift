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
        var method = LoaderRequest.Method.get
        var content: Data?
        var access = TransferAccess()
    }

    enum Conclusion {
        case redirected(Hop)
        /// The same request once more, with another credential.
        case retried(Hop)
        case challenged(AuthenticationChallenge, refusal: WebImageError)
        case finished(Result<Void, WebImageError>)

        var isFinished: Bool {
            if case .finished = self { true } else { false }
        }
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
    private(set) var redirects: [LoaderResponse.Redirection] = []
    /// The head of the hop under way, if it is a redirect.
    private var redirection: LoaderResponse.Redirection?
    /// The head of the hop under way, if it is refused.
    private(set) var refusedResponse: LoaderResponse?
    /// Whether an answer without bytes is no answer.
    private var needsBody = true
    /// The body comes in a content coding, which the transport undoes: its length is known on the wire alone.
    private var isCoded = false
    private var body = Body.awaited
    /// Of the hop under way, wanted or not.
    private var receivedByteCount: Int64 = 0
    /// What was passed on to the caller.
    private(set) var wantedByteCount: Int64 = 0

    /// - Parameter request: with all of its headers; see ``ImageDownloader/Configuration/prepared(_:)``.
    init(
        _ request: LoaderRequest, configuration: ImageDownloader.Configuration,
        surroundings: DownloadSurroundings? = nil
    ) throws(WebImageError) {
        let (url, ownCredential) = request.url.separatedFromUserInfo
        guard HTTPOrigin.isHTTP(url) else { throw .unsupportedScheme(url.scheme ?? "", url: url) }
        guard let origin = HTTPOrigin(url) else { throw .invalidURL(url.absoluteString) }
        let headers = try RequestHeaders(request.headers)
        let credential = request.credential ?? ownCredential ?? configuration.addedCredential(to: request)
        guard credential?.isSendable ?? true else { throw .invalidHeader(name: "Authorization") }
        guard request.body == nil || !request.method.forbidsBody else {
            throw .unsupportedMethod(request.method.rawValue, hasBody: true, url: url)
        }
        hop = Hop(url: url, origin: origin, headers: headers, method: request.method, content: request.body)
        self.request = request
        self.configuration = configuration
        self.surroundings = surroundings ?? DownloadSurroundings(configuration)
        // Who was not checked learns nothing that was learned from those who were, and the other way round.
        let storage = request.allowsInvalidCertificates ? CredentialStorage() : self.surroundings.credentials
        authentication = DownloadAuthentication(
            credential, usesStorage: request.usesCredentialStorage, storage: storage, configuration: configuration)
        hop = try enter(hop)
    }

    /// Whether the body comes in a transfer coding that nobody asked for: libcurl undoes several over one another, each of
    /// which may make a thousand bytes out of one. The load then ends before the first.
    mutating func refusesTransferCoding(of head: TransferHead) -> Bool {
        guard let coding = head.transferCodings.first(where: { $0 != "chunked" }) else { return false }
        body = .refused(.unsupportedContentCoding(coding, url: hop.url))
        return true
    }

    /// Whether the head is a refusal that another credential may turn into a picture.
    mutating func answersRefusal(_ head: TransferHead) -> Bool {
        guard let conclusion = refusedConclusion(head) else { return false }
        body = .discarded(conclusion)
        refusedResponse = response(to: head)
        return true
    }

    /// Takes the head; the response to report, if this is the hop that brings the picture.
    ///
    /// - Parameters:
    ///   - modified: what a hook has made of it; the length and the coding of the body stay as they came.
    ///   - redirectDecision: what becomes of its redirect, if it is one; see ``proposedRedirect(_:)``.
    mutating func receive(
        _ head: TransferHead, modified: LoaderResponse? = nil, redirectDecision: RedirectDecision = .follow
    ) -> (response: LoaderResponse?, disposition: TransferDisposition) {
        if let location = head.redirectLocation {
            redirection = LoaderResponse.Redirection(
                url: hop.url, statusCode: head.statusCode, headers: head.fields)
            body = .discarded(follow(location, status: head.statusCode, decision: redirectDecision))
            return (nil, .proceed)
        }
        isCoded = !head.contentCodings.isEmpty
        var response = response(to: head)
        if let modified { (response.statusCode, response.headers) = (modified.statusCode, modified.headers) }
        let judged = TransferHead(statusCode: response.statusCode ?? 0, fields: response.headers)
        if let refusal = refusal(of: judged, codings: head.contentCodings) {
            body = .discarded(.finished(.failure(refusal)))
            refusedResponse = response
            return (nil, .proceed)
        }
        needsBody = !request.acceptsAnyAnswer && hop.method != .head && !isConfirmation(head)
        guard hasBody(head) else {
            body = .wanted(expected: nil)
            return (response, .proceed)
        }
        let limit = configuration.maximumResponseByteCount
        if let length = head.contentLength, length > limit {
            body = .refused(.responseTooLarge(byteCount: length, limit: limit, url: hop.url))
            return (response, .stop)
        }
        body = .wanted(expected: head.contentLength)
        return (response, .proceed)
    }

    /// Why an answer is not taken; `nil` when it is.
    private func refusal(of head: TransferHead, codings: [String]) -> WebImageError? {
        // A part that nobody asked for would pass for the whole.
        if head.statusCode == 206, !hop.headers.contains("range") { return .httpStatus(code: 206, url: hop.url) }
        if !request.acceptsAnyAnswer, !isConfirmation(head), let refusal = configuration.refusal(of: head, url: hop.url)
        {
            return refusal
        }
        return configuration.refusal(ofCodings: codings, accepted: hop.headers.acceptsContentCoding, url: hop.url)
    }

    /// Whether the head answers a condition of the request: nothing has changed.
    private func isConfirmation(_ head: TransferHead) -> Bool {
        head.statusCode == 304 && [.get, .head].contains(hop.method) && hop.headers.areConditional
    }

    /// Whether anything comes after the head; where nothing may, its length is that of something else (RFC 9110, 8.6).
    private func hasBody(_ head: TransferHead) -> Bool {
        hop.method != .head && head.statusCode != 204 && head.statusCode != 304
    }

    /// What an answer that is no redirect looks like to the caller.
    func response(to head: TransferHead) -> LoaderResponse {
        let hasLength = head.contentCodings.isEmpty && head.statusCode != 304
        return LoaderResponse(
            url: hop.url, statusCode: head.statusCode, headers: head.fields,
            expectedByteCount: hasLength ? head.contentLength : nil, redirects: redirects)
    }

    /// Ends the load with `error`, whatever the server still sends.
    mutating func refuse(with error: WebImageError) { body = .discarded(.finished(.failure(error))) }

    /// Whether bytes that arrive now go to the caller.
    var wantsBody: Bool {
        if case .wanted = body { return true }
        return false
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
        wantedByteCount += Int64(bytes.count)
        return (true, .proceed)
    }

    /// Draws the conclusion from a hop that has ended.
    ///
    /// - Parameter wireByteCount: the length of the body as it came, where the transport knows it.
    mutating func conclude(_ end: TransferEnd, wireByteCount: Int64? = nil) -> Conclusion {
        let url = hop.url
        let receivedByteCount = isCoded ? wireByteCount ?? receivedByteCount : receivedByteCount
        switch (end, body) {
        case (.cancelled, _):
            return .finished(.failure(.cancelled))
        case (_, .refused(let error)):
            return .finished(.failure(error))
        case (.timedOut(.total), .discarded(let conclusion)) where !conclusion.isFinished:
            return .finished(.failure(timeout(.total)))
        case (_, .discarded(let conclusion)):
            return conclusion
        case (.complete, .wanted(let expected?)) where expected != receivedByteCount,
            (.cut, .wanted(let expected?)):
            return .finished(.failure(.truncated(expected: expected, received: receivedByteCount, url: url)))
        case (.cut, _):
            return .finished(.failure(.truncated(expected: nil, received: receivedByteCount, url: url)))
        case (.complete, _), (.stopped, _):
            let isWhole = self.receivedByteCount > 0 || !needsBody
            return .finished(isWhole ? .success(()) : .failure(.emptyBody(url: url)))
        case (.connectTimedOut, _):
            let seconds = configuration.connectTimeout.inSeconds
            return .finished(.failure(.timedOut(reason: .connecting, seconds: seconds, url: url)))
        case (.timedOut(let limit), _):
            return .finished(.failure(timeout(limit)))
        case (.malformedURL, _):
            return .finished(.failure(.invalidURL(url.absoluteString)))
        case (.headTooLong(let limit), _):
            return .finished(.failure(.headersTooLarge(limit: limit, url: url)))
        case (.transferCodingRefused(let coding), _):
            return .finished(.failure(.unsupportedContentCoding(coding, url: url)))
        case (.tooManyInformationalResponses(let limit), _):
            return .finished(.failure(.tooManyInformationalResponses(limit: limit, url: url)))
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
        if let redirection { redirects.append(redirection) }
        beginAgain(next)
    }

    /// Goes on to the same hop once more.
    mutating func beginAgain(_ next: Hop) {
        hop = next
        body = .awaited
        receivedByteCount = 0
        isCoded = false
        (redirection, refusedResponse) = (nil, nil)
    }
}
