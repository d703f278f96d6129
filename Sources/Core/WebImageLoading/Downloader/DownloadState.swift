internal import FoundationEssentials
internal import WebImageCore

/// The state of a load. It checks heads, counts bytes and follows redirects. It has no side effects, so that each rule
/// can be tested without a server. Not thread-safe: ``Download`` has the lock.
final class DownloadState {
    /// One exchange of a load with a server.
    struct Hop {
        var url: URL
        var origin: HTTPOrigin
        var headers: RequestHeaders
        var method = LoaderRequest.Method.get
        var content: Data?
        var access = TransferAccess()
    }

    indirect enum Conclusion {
        case redirected(Hop)
        /// The same request again, with another credential.
        case retried(Hop)
        case challenged(AuthenticationChallenge, refusal: WebImageError)
        case finished(Result<Void, WebImageError>)

        var isFinished: Bool {
            if case .finished = self { true } else { false }
        }
    }

    /// The use of the body of the current hop.
    private enum Body {
        case awaited
        case wanted(expected: Int64?)
        /// The body of a redirect or an error. It is read so that the connection can be reused, unless it is long.
        case discarded(Conclusion)
        case refused(WebImageError)
    }

    /// Bodies of redirects and errors are small; beyond this limit a new connection is cheaper.
    static let discardedByteLimit = 64 << 10

    private(set) var hop: Hop
    let request: LoaderRequest
    let environment: DownloadEnvironment
    private var authentication: DownloadAuthentication
    var record: DownloadRecord
    private(set) var redirects: [LoaderResponse.Redirection] = []
    /// The head of the current hop, if it is a redirect.
    private var redirection: LoaderResponse.Redirection?
    /// The head of the current hop, if it is refused.
    private(set) var refusedResponse: LoaderResponse?
    /// Whether a response without bytes is an error.
    private var needsBody = true
    /// Whether the body has a content coding. The transport decodes it, so that its length is only known on the wire.
    private var isCoded = false
    private var body = Body.awaited
    /// In the current hop, wanted or not.
    private var receivedByteCount: Int64 = 0
    /// The bytes passed to the caller.
    private(set) var wantedByteCount: Int64 = 0

    /// - Parameter request: with all of its headers; see ``ImageDownloader/Configuration/prepared(_:)``.
    init(
        _ request: LoaderRequest, environment: DownloadEnvironment, record: DownloadRecord = DownloadRecord()
    ) throws(WebImageError) {
        let (url, ownCredential) = request.url.separatedFromUserInfo
        guard HTTPOrigin.isHTTP(url) else {
            throw .invalidRequest(reason: .unsupportedScheme(url.scheme ?? ""), url: url)
        }
        guard let origin = HTTPOrigin(url) else { throw .invalidURL(url.absoluteString) }
        let headers = try RequestHeaders(request.headers, of: url)
        let credential = request.credential ?? ownCredential ?? environment.configuration.addedCredential(to: request)
        guard credential?.isSendable ?? true else {
            throw .invalidRequest(reason: .invalidHeader(name: "Authorization"), url: url)
        }
        guard request.body == nil || !request.method.forbidsBody else {
            throw .invalidRequest(reason: .unsupportedMethod(request.method.name, hasBody: true), url: url)
        }
        hop = Hop(url: url, origin: origin, headers: headers, method: request.method, content: request.body)
        self.request = request
        self.environment = environment
        self.record = record
        // Unchecked servers must not get credentials that checked ones accepted, and the reverse.
        let storage = request.allowsInvalidCertificates ? CredentialStorage() : environment.credentials
        authentication = DownloadAuthentication(
            credential, usesStorage: request.usesCredentialStorage, storage: storage,
            hasHandler: environment.configuration.authenticationHandler != nil)
        hop = try enter(hop)
    }

    /// Returns whether the body has an unrequested transfer coding. libcurl decodes several on top of each other, each
    /// of which can expand a byte to a thousand. The load then ends before the first byte.
    func refusesTransferCoding(of head: TransferHead) -> Bool {
        guard let coding = head.transferCodings.first(where: { $0 != "chunked" }) else { return false }
        body = .refused(.invalidResponse(reason: .contentCoding(coding), url: hop.url))
        return true
    }

    /// Returns whether the head is a refusal that another credential may resolve.
    func answersRefusal(_ head: TransferHead) -> Bool {
        guard let conclusion = refusedConclusion(head) else { return false }
        body = .discarded(conclusion)
        refusedResponse = response(to: head)
        return true
    }

    /// Takes the head; returns the response to report if this is the last hop.
    ///
    /// - Parameters:
    ///   - modified: the head as a hook has changed it; the length and the coding of the body stay.
    ///   - redirectDecision: what to do with a redirect; see ``proposedRedirect(_:)``.
    func receive(
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
        let limit = environment.configuration.maximumResponseByteCount
        if let length = head.contentLength, length > limit {
            body = .refused(.invalidResponse(reason: .bodyTooLong(byteCount: length, limit: limit), url: hop.url))
            return (response, .stop)
        }
        body = .wanted(expected: head.contentLength)
        return (response, .proceed)
    }

    /// Returns why a response is refused; `nil` when it is accepted.
    private func refusal(of head: TransferHead, codings: [String]) -> WebImageError? {
        // An unrequested part would pass for the whole.
        if head.statusCode == 206, !hop.headers.contains("range") { return .httpStatus(code: 206, url: hop.url) }
        if !request.acceptsAnyAnswer, !isConfirmation(head),
            let refusal = environment.configuration.refusal(of: head, url: hop.url)
        {
            return refusal
        }
        return environment.configuration.refusal(
            ofCodings: codings, accepted: hop.headers.acceptsContentCoding, url: hop.url)
    }

    /// Whether the head responds to a condition of the request: nothing has changed.
    private func isConfirmation(_ head: TransferHead) -> Bool {
        head.statusCode == 304 && [.get, .head].contains(hop.method) && hop.headers.areConditional
    }

    /// Whether a body follows the head. If none may, the head's length is that of another response (RFC 9110, 8.6).
    private func hasBody(_ head: TransferHead) -> Bool {
        hop.method != .head && head.statusCode != 204 && head.statusCode != 304
    }

    /// Returns the response to report for a head.
    func response(to head: TransferHead) -> LoaderResponse {
        let hasLength = head.contentCodings.isEmpty && head.statusCode != 304
        var response = LoaderResponse(
            url: hop.url, statusCode: head.statusCode, headers: head.fields,
            expectedByteCount: hasLength ? head.contentLength : nil)
        response.redirects = redirects
        return response
    }

    /// Ends the load with `error`. What the server still sends is discarded.
    func refuse(with error: WebImageError) { body = .discarded(.finished(.failure(error))) }

    /// Whether bytes that arrive now go to the caller.
    var acceptsBody: Bool {
        if case .wanted = body { return true }
        return false
    }

    /// Counts a piece of the body; returns whether to pass it on.
    func receive(_ bytes: Data) -> (isWanted: Bool, disposition: TransferDisposition) {
        receivedByteCount += Int64(bytes.count)
        guard case .wanted = body else {
            return (false, receivedByteCount > Self.discardedByteLimit ? .stop : .proceed)
        }
        let limit = environment.configuration.maximumResponseByteCount
        guard receivedByteCount <= limit else {
            body = .refused(
                .invalidResponse(reason: .bodyTooLong(byteCount: receivedByteCount, limit: limit), url: hop.url))
            return (false, .stop)
        }
        wantedByteCount += Int64(bytes.count)
        return (true, .proceed)
    }

    /// Returns what follows from the end of a hop.
    ///
    /// - Parameter wireByteCount: the length of the body on the wire, where the transport reports it.
    func conclude(_ end: TransferEnd, wireByteCount: Int64? = nil) -> Conclusion {
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
            (.interrupted, .wanted(let expected?)):
            return .finished(
                .failure(
                    .invalidResponse(reason: .truncated(expected: expected, received: receivedByteCount), url: url)))
        case (.interrupted, _):
            return .finished(
                .failure(.invalidResponse(reason: .truncated(expected: nil, received: receivedByteCount), url: url)))
        case (.complete, _), (.stopped, _):
            let isWhole = self.receivedByteCount > 0 || !needsBody
            return .finished(isWhole ? .success(()) : .failure(.invalidResponse(reason: .emptyBody, url: url)))
        case (.connectTimedOut, _):
            let limit = environment.configuration.connectTimeout
            return .finished(.failure(.timedOut(reason: .connecting, after: limit, url: url)))
        case (.timedOut(let limit), _):
            return .finished(.failure(timeout(limit)))
        case (.malformedURL, _):
            return .finished(.failure(.invalidURL(url.absoluteString)))
        case (.headTooLong(let limit), _):
            return .finished(.failure(.invalidResponse(reason: .headersTooLong(limit: limit), url: url)))
        case (.transferCodingRefused(let coding), _):
            return .finished(.failure(.invalidResponse(reason: .contentCoding(coding), url: url)))
        case (.tooManyInformationalResponses(let limit), _):
            return .finished(.failure(.invalidResponse(reason: .tooManyInformationalResponses(limit: limit), url: url)))
        case (.untrusted(let reason), _):
            return .finished(.failure(.certificate(reason: reason, url: url)))
        case (.blocked(let cause), _):
            return .finished(.failure(.blocked(reason: cause, url: url)))
        case (.proxyRefused(let scheme), _):
            return refusedConclusion(byProxy: scheme)
        case (.failed(let code, let message), _):
            return .finished(.failure(.transport(code: code, message: message, url: url)))
        }
    }

    /// Starts the next hop.
    func begin(_ next: Hop) {
        if let redirection { redirects.append(redirection) }
        beginAgain(next)
    }

    /// Repeats the current hop.
    func beginAgain(_ next: Hop) {
        hop = next
        body = .awaited
        receivedByteCount = 0
        isCoded = false
        (redirection, refusedResponse) = (nil, nil)
    }
}

/// Time limits, of the request where it has its own.
extension DownloadState {
    private var idleTimeout: Duration { request.idleTimeout ?? environment.configuration.idleTimeout }
    private var totalTimeout: Duration? { request.totalTimeout ?? environment.configuration.totalTimeout }

    /// The limits of the next exchange.
    ///
    /// - Parameter activeDuration: how long the load's exchanges have taken so far.
    func limits(after activeDuration: Duration) -> TransferLimits {
        var limits = TransferLimits()
        limits.idle = idleTimeout
        limits.total = totalTimeout.map { max(.zero, $0 - request.usedTime - activeDuration) }
        limits.bytesPerSecond = environment.configuration.minimumBytesPerSecond
        limits.rateWindow = environment.configuration.minimumRateWindow
        return limits
    }

    func timeout(_ limit: TransferLimits.Kind) -> WebImageError {
        let (reason, duration): (WebImageError.TimeoutReason, Duration) =
            switch limit {
            case .idle: (.idle, idleTimeout)
            case .rate:
                (
                    .slow(bytesPerSecond: environment.configuration.minimumBytesPerSecond),
                    environment.configuration.minimumRateWindow
                )
            case .total: (.total, totalTimeout ?? .zero)
            }
        return .timedOut(reason: reason, after: duration, url: hop.url)
    }
}

extension DownloadState {
    /// Returns what follows from a redirect.
    func follow(_ location: String, status: Int, decision: RedirectDecision) -> Conclusion {
        do throws(WebImageError) {
            return .redirected(try nextHop(location, status: status, decision: decision))
        } catch {
            return .finished(.failure(error))
        }
    }

    /// Returns the arguments of the redirect handler; `nil` for a response that is no redirect, or one that is not followed in
    /// any case.
    func proposedRedirect(_ head: TransferHead) -> (response: LoaderResponse, target: URL)? {
        guard let location = head.redirectLocation, let target = try? target(of: location) else { return nil }
        return (response(to: head), target.url)
    }

    private func target(of location: String) throws(WebImageError) -> (url: URL, origin: HTTPOrigin) {
        let limit = environment.configuration.maximumRedirects
        guard redirects.count < limit else {
            throw .invalidResponse(reason: .tooManyRedirects(limit: limit), url: hop.url)
        }
        guard let target = URL(string: location, relativeTo: hop.url)?.absoluteURL else { throw .invalidURL(location) }
        // A server must not choose the user of another server.
        let url = target.separatedFromUserInfo.url
        return (url, try judge(url))
    }

    private func nextHop(
        _ location: String, status: Int, decision: RedirectDecision
    ) throws(WebImageError) -> Hop {
        var (url, origin) = try target(of: location)
        switch decision {
        case .follow: break
        case .deny: throw .blocked(reason: .redirect(to: url), url: hop.url)
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
        let proxy = try environment.proxies.server(for: url)
        if proxy != hop.access.proxy { next.headers.remove(RequestHeaders.proxyName) }
        return try enter(next)
    }

    /// RFC 9110, 15.4: "see other" asks for a GET. After 301 and 302 servers expect one too, since no other client
    /// repeats a POST.
    private static func becomesGet(_ method: LoaderRequest.Method, after status: Int) -> Bool {
        switch status {
        case 303: ![.get, .head].contains(method)
        case 301, 302: method == .post
        default: false
        }
    }

    private func judge(_ target: URL) throws(WebImageError) -> HTTPOrigin {
        guard HTTPOrigin.isHTTP(target) else {
            throw .invalidRequest(reason: .unsupportedScheme(target.scheme ?? ""), url: target)
        }
        guard let origin = HTTPOrigin(target) else { throw .invalidURL(target.absoluteString) }
        let isDowngrade = hop.origin.scheme == "https" && origin.scheme == "http"
        guard !isDowngrade || environment.configuration.allowsInsecureRedirects else {
            throw .blocked(reason: .insecureRedirect(to: target), url: hop.url)
        }
        return origin
    }
}

/// The treatment of a redirect.
enum RedirectDecision {
    case follow
    /// This URL is loaded instead of the target, and checked as the target was.
    case rewrite(URL)
    /// The load fails with ``WebImageError/BlockReason/redirect(to:)``.
    case deny
}

extension DownloadState {
    /// Checks the next URL, and sets the credentials, proxy and trust of its exchange.
    ///
    /// - Parameter hop: its URL has no `user:password@`.
    func enter(_ hop: Hop) throws(WebImageError) -> Hop {
        let (url, origin, headers) = (hop.url, hop.origin, hop.headers)
        let policy = environment.configuration.addressPolicy
        if let cause = policy.blockReason(for: url) { throw .blocked(reason: cause, url: url) }
        let proxy = try environment.proxies.server(for: url)
        if let proxy, let cause = policy.blockReason(for: url, through: proxy) {
            throw .blocked(reason: cause, url: url)
        }

        var hop = hop
        hop.access = TransferAccess()
        hop.access.usesCookies = request.handlesCookies && !request.allowsInvalidCertificates
        hop.access.allowsInvalidCertificates = request.allowsInvalidCertificates
        hop.access.pinnedPublicKeys = environment.pins(for: origin)
        hop.access.addresses = environment.addresses(of: origin)
        authentication.begin(
            origin, path: url.path(), hasOwnHeader: headers.contains("authorization"), proxy: proxy,
            access: &hop.access)
        hop.access.proxyHeaders = headers.fields.filter { $0.isNamed(RequestHeaders.proxyName) }
        if case .bearerToken(let token) = hop.access.proxyCredential?.kind, hop.access.proxyHeaders.isEmpty {
            // libcurl supports tokens for servers only.
            hop.access.proxyHeaders = [HTTPHeader(name: "Proxy-Authorization", value: "Bearer " + token)]
        }
        if !hop.access.proxyHeaders.isEmpty { hop.access.proxyCredential = nil }
        return hop
    }

    /// Returns what follows from a 401 or 407; `nil` when it is handled like any other status.
    func refusedConclusion(_ head: TransferHead) -> Conclusion? {
        let step: DownloadAuthentication.Step
        if head.statusCode == 401 {
            step = authentication.serverRefused(head, url: hop.url)
        } else if head.statusCode == 407, let proxy = proxyThatAnswers {
            step = authentication.proxyRefused(head, by: proxy, url: hop.url)
        } else {
            if head.statusCode < 500, head.statusCode != 407 { authentication.accepted(head, path: hop.url.path()) }
            return nil
        }
        return step == .fail ? nil : conclusion(of: step, status: head.statusCode)
    }

    /// The proxy, if it can respond itself. Through a tunnel or SOCKS every response is the server's, and a server must
    /// not get the proxy's credential by asking for it.
    private var proxyThatAnswers: ProxyServer? {
        guard hop.origin.scheme == "http", let proxy = hop.access.proxy else { return nil }
        return HTTPOrigin.isHTTP(proxy.url) ? proxy : nil
    }

    /// Returns what follows from a proxy's refusal to connect.
    func refusedConclusion(byProxy scheme: AuthenticationScheme) -> Conclusion {
        guard let proxy = hop.access.proxy else { return .finished(.failure(.httpStatus(code: 407, url: hop.url))) }
        return conclusion(of: authentication.proxyRefused((scheme, nil), by: proxy, url: hop.url), status: 407)
    }

    private func conclusion(of step: DownloadAuthentication.Step, status: Int) -> Conclusion {
        let refusal = WebImageError.httpStatus(code: status, url: hop.url)
        switch step {
        case .fail: return .finished(.failure(refusal))
        case .callHandler(let challenge): return .challenged(challenge, refusal: refusal)
        case .retry: return retried(headers: hop.headers)
        }
    }

    /// Takes the handler's answer to a challenge; returns the same request again, or the end.
    func answer(
        _ answer: AuthenticationAnswer, to challenge: AuthenticationChallenge, refusal: WebImageError
    ) -> Conclusion {
        switch answer {
        case .cancel: return .finished(.failure(.cancelled))
        case .decline: return .finished(.failure(refusal))
        case .credential(let credential):
            let name = challenge.isProxy ? RequestHeaders.proxyName : "authorization"
            guard credential.isSendable else {
                return .finished(.failure(.invalidRequest(reason: .invalidHeader(name: name), url: hop.url)))
            }
            authentication.answer(credential, to: challenge)
            var headers = hop.headers
            headers.remove(name)
            return retried(headers: headers)
        }
    }

    private func retried(headers: RequestHeaders) -> Conclusion {
        do throws(WebImageError) {
            var next = hop
            next.headers = headers
            return .retried(try enter(next))
        } catch {
            return .finished(.failure(error))
        }
    }
}

/// The objects that the loads of a downloader share.
final class DownloadEnvironment: Sendable {
    let configuration: ImageDownloader.Configuration
    let proxies: ProxyRules
    let credentials: CredentialStorage
    private let pinnedPublicKeys: PublicKeyPins
    /// By ``HTTPOrigin/host``.
    private let hostAddresses: [String: [String]]

    init(
        _ configuration: ImageDownloader.Configuration, proxies: ProxyRules? = nil,
        credentials: CredentialStorage = CredentialStorage()
    ) {
        self.configuration = configuration
        self.proxies = proxies ?? ProxyRules(configuration.proxy)
        self.credentials = credentials
        pinnedPublicKeys = PublicKeyPins(configuration.pinnedPublicKeys)
        let addresses = configuration.hostAddresses.map { (HostPattern.normalized($0.key), $0.value) }
        hostAddresses = Dictionary(addresses, uniquingKeysWith: +)
    }

    func pins(for origin: HTTPOrigin) -> [String] { pinnedPublicKeys.pins(for: origin.host) }

    func addresses(of origin: HTTPOrigin) -> [String] { hostAddresses[origin.host] ?? [] }
}
