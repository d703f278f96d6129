internal import FoundationEssentials
internal import WebImageCore

/// What the loads of a downloader share besides its configuration.
struct DownloadEnvironment {
    let proxies: ProxyRules
    let credentials: CredentialStorage
    private let pinnedPublicKeys: PublicKeyPins
    /// By ``HTTPOrigin/host``.
    private let hostAddresses: [String: [String]]

    init(
        _ configuration: ImageDownloader.Configuration, proxies: ProxyRules? = nil,
        credentials: CredentialStorage = CredentialStorage()
    ) {
        self.proxies = proxies ?? ProxyRules(configuration.proxy)
        self.credentials = credentials
        pinnedPublicKeys = PublicKeyPins(configuration.pinnedPublicKeys)
        let addresses = configuration.hostAddresses.map { (HostPattern.normalized($0.key), $0.value) }
        hostAddresses = Dictionary(addresses, uniquingKeysWith: +)
    }

    func pins(for origin: HTTPOrigin) -> [String] { pinnedPublicKeys.pins(for: origin.host) }

    func addresses(of origin: HTTPOrigin) -> [String] { hostAddresses[origin.host] ?? [] }
}

extension DownloadState {
    /// Checks the next URL, and sets the credentials, proxy and trust of its exchange.
    ///
    /// - Parameter hop: its URL has no `user:password@`.
    mutating func enter(_ hop: Hop) throws(WebImageError) -> Hop {
        let (url, origin, headers) = (hop.url, hop.origin, hop.headers)
        let policy = configuration.addressPolicy
        if let cause = policy.objection(to: url) { throw .blocked(reason: cause, url: url) }
        let proxy = try environment.proxies.server(for: url)
        if let proxy, let cause = policy.objection(to: url, through: proxy) { throw .blocked(reason: cause, url: url) }

        var hop = hop
        hop.access = TransferAccess()
        hop.access.usesCookies = request.handlesCookies && !request.allowsInvalidCertificates
        hop.access.allowsInvalidCertificates = request.allowsInvalidCertificates
        hop.access.pinnedPublicKeys = environment.pins(for: origin)
        hop.access.addresses = environment.addresses(of: origin)
        authentication.begin(
            origin, path: url.path(), hasOwnHeader: headers.contains("authorization"), proxy: proxy,
            access: &hop.access)
        hop.access.proxyHeaders = headers.fields.filter { $0.name.lowercased() == RequestHeaders.proxyName }
        if case .bearerToken(let token) = hop.access.proxyCredential?.secret, hop.access.proxyHeaders.isEmpty {
            // libcurl supports tokens for servers only.
            hop.access.proxyHeaders = [HTTPField(name: "Proxy-Authorization", value: "Bearer " + token)]
        }
        if !hop.access.proxyHeaders.isEmpty { hop.access.proxyCredential = nil }
        return hop
    }

    /// Returns what follows from a 401 or 407; `nil` when it is handled like any other status.
    mutating func refusedConclusion(_ head: TransferHead) -> Conclusion? {
        let step: DownloadAuthentication.Step
        if head.statusCode == 401 {
            step = authentication.serverRefused(head, url: hop.url)
        } else if head.statusCode == 407, let proxy = proxyThatAnswers {
            step = authentication.proxyRefused(head, by: proxy, url: hop.url)
        } else {
            if head.statusCode < 500, head.statusCode != 407 { authentication.accepted(head, path: hop.url.path()) }
            return nil
        }
        return step == .giveUp ? nil : conclusion(of: step, status: head.statusCode)
    }

    /// The proxy, if it can respond itself. Through a tunnel or SOCKS every response is the server's, and a server must not get the
    /// proxy's credential by asking for it.
    private var proxyThatAnswers: ProxyServer? {
        guard hop.origin.scheme == "http", let proxy = hop.access.proxy else { return nil }
        return HTTPOrigin.isHTTP(proxy.url) ? proxy : nil
    }

    /// Returns what follows from a proxy's refusal to connect.
    mutating func refusedConclusion(byProxy scheme: AuthenticationChallenge.Scheme) -> Conclusion {
        guard let proxy = hop.access.proxy else { return .finished(.failure(.httpStatus(code: 407, url: hop.url))) }
        return conclusion(of: authentication.proxyRefused((scheme, nil), by: proxy, url: hop.url), status: 407)
    }

    private mutating func conclusion(of step: DownloadAuthentication.Step, status: Int) -> Conclusion {
        let refusal = WebImageError.httpStatus(code: status, url: hop.url)
        switch step {
        case .giveUp: return .finished(.failure(refusal))
        case .ask(let challenge): return .challenged(challenge, refusal: refusal)
        case .retry: return retried(headers: hop.headers)
        }
    }

    /// Takes the handler's answer to a challenge; returns the same request again, or the end.
    mutating func answer(
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

    private mutating func retried(headers: RequestHeaders) -> Conclusion {
        do throws(WebImageError) {
            var next = hop
            next.headers = headers
            return .retried(try enter(next))
        } catch {
            return .finished(.failure(error))
        }
    }
}

extension Credential {
    /// A line break could begin another header, and libcurl's strings end at a NUL.
    var isSendable: Bool {
        let text = identity
        return !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }
}
