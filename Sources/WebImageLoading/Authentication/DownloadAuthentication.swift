internal import FoundationEssentials
internal import WebImageCore

/// What a load shows to servers and proxies, and what it does when they refuse it. Decides only: who asks the user, and who
/// sends anything, is elsewhere.
///
///     401 ─► one in the storage for origin and realm? ─yes─► again with it
///                   │ no
///            handler, and asked less often than allowed? ─yes─► asked ─► again with its answer
///                   │ no
///            the load fails with 401
struct DownloadAuthentication {
    enum Step: Equatable {
        case retry
        case ask(AuthenticationChallenge)
        case giveUp
    }

    /// What one party, the server or the proxy, is shown.
    private struct Party {
        var origin: HTTPOrigin?
        var credential: Credential?
        var method = TransferAccess.Authentication.negotiated
        var scheme: AuthenticationChallenge.Scheme?
        var realm: String?
        var hasTriedStored = false
        var failureCount = 0
    }

    private let storage: CredentialStorage
    private let usesStorage: Bool
    private let askLimit: Int
    private var askCount = 0
    private var server = Party()
    private var proxy = Party()

    /// - Parameter credential: the request's own or the downloader's, for the origin the request names.
    init(
        _ credential: Credential?, usesStorage: Bool, storage: CredentialStorage,
        configuration: ImageDownloader.Configuration
    ) {
        self.storage = storage
        self.usesStorage = usesStorage
        askLimit = configuration.authenticationHandler == nil ? 0 : configuration.maximumAuthenticationAttempts
        server.credential = credential
    }

    /// Fills in what the next exchange shows.
    ///
    /// - Parameter hasOwnHeader: whether an `Authorization` header was set by hand, which then is what the server sees.
    mutating func begin(
        _ origin: HTTPOrigin, path: String, hasOwnHeader: Bool, proxy server: ProxyServer?, access: inout TransferAccess
    ) {
        enter(origin)
        if self.server.credential == nil, usesStorage, !hasOwnHeader {
            self.server.credential = storage.credential(toSendUnaskedTo: origin, path: path)
        }
        if self.server.method != .digest, storage.takesBasic(origin) { self.server.method = .basic }
        access.credential = hasOwnHeader ? nil : self.server.credential
        access.authentication = self.server.method

        let proxyOrigin = server.flatMap { HTTPOrigin($0.url) }
        if proxy.origin != proxyOrigin || proxy.credential == nil {
            proxy = Party(origin: proxyOrigin, credential: server?.credential, failureCount: proxy.failureCount)
        }
        // SOCKS has no challenges.
        if server != nil, proxyOrigin.map(storage.takesBasic) ?? true { proxy.method = .basic }
        access.proxy = server
        access.proxyCredential = proxy.credential
        access.proxyAuthentication = proxy.method
    }

    /// Another origin sees nothing of what this one got. It stays forgotten, also when a later hop leads back.
    private mutating func enter(_ origin: HTTPOrigin) {
        if let last = server.origin, last != origin { server = Party() }
        server.origin = origin
    }

    /// Draws the consequences of a 401.
    mutating func serverRefused(_ head: TransferHead, url: URL) -> Step {
        guard let origin = server.origin else { return .giveUp }
        let challenge = HTTPChallenge.parse(head.values("www-authenticate")).preferred
        var party = server
        defer { server = party }
        return refused(&party, challenge, url: url, host: origin.host, port: origin.port, isProxy: false)
    }

    /// Draws the consequences of a 407.
    mutating func proxyRefused(_ head: TransferHead, by proxyServer: ProxyServer, url: URL) -> Step {
        let challenge = HTTPChallenge.parse(head.values("proxy-authenticate")).preferred
        return proxyRefused(challenge, by: proxyServer, url: url)
    }

    /// As above, where only the scheme is known.
    mutating func proxyRefused(
        _ challenge: (scheme: AuthenticationChallenge.Scheme, realm: String?)?, by server: ProxyServer, url: URL
    ) -> Step {
        var party = proxy
        defer { proxy = party }
        return refused(&party, challenge, url: url, host: server.host, port: server.port, isProxy: true)
    }

    private mutating func refused(
        _ party: inout Party, _ challenge: (scheme: AuthenticationChallenge.Scheme, realm: String?)?, url: URL,
        host: String, port: Int, isProxy: Bool
    ) -> Step {
        if let origin = party.origin, party.method == .basic, party.credential != nil, challenge?.scheme == .digest {
            // It took Basic before.
            storage.noteBasic(false, for: origin)
            party.method = .digest
            return .retry
        }
        if let credential = party.credential {
            party.failureCount += 1
            if let origin = party.origin {
                storage.remove(credential, for: origin)
                storage.noteBasic(false, for: origin)
            }
        }
        guard let challenge else { return .giveUp }
        (party.scheme, party.realm) = (challenge.scheme, challenge.realm)
        party.method = challenge.scheme == .digest ? .digest : .basic
        if usesStorage, !party.hasTriedStored, let origin = party.origin,
            let stored = storage.credential(for: origin, realm: challenge.realm), stored != party.credential
        {
            party.hasTriedStored = true
            party.credential = stored
            return .retry
        }
        guard askCount < askLimit else { return .giveUp }
        askCount += 1
        return .ask(
            AuthenticationChallenge(
                url: url, host: host, port: port, isProxy: isProxy, scheme: challenge.scheme, realm: challenge.realm,
                previousFailureCount: party.failureCount))
    }

    /// Takes the answer to a challenge.
    mutating func answer(_ credential: Credential, to challenge: AuthenticationChallenge) {
        if challenge.isProxy { proxy.credential = credential } else { server.credential = credential }
    }

    /// Remembers what worked: `head` is neither 401 nor 407.
    func accepted(_ head: TransferHead, path: String) {
        accepted(server, head.answered("www-authenticate"), path: path)
        accepted(proxy, head.answered("proxy-authenticate"), path: "/")
    }

    private func accepted(_ party: Party, _ answeredFields: [String], path: String) {
        guard let origin = party.origin, let credential = party.credential else { return }
        let answered = HTTPChallenge.parse(answeredFields).preferred
        guard let scheme = answered?.scheme ?? party.scheme else { return }
        if scheme == .basic { storage.noteBasic(true, for: origin) }
        if usesStorage {
            storage.insert(credential, for: origin, realm: answered?.realm ?? party.realm, scheme: scheme, path: path)
        }
    }
}

extension TransferHead {
    /// The values of all fields with that name, in lower case.
    func values(_ name: String) -> [String] { fields.filter { $0.name.lowercased() == name }.map(\.value) }

    fileprivate func answered(_ name: String) -> [String] {
        answeredFields.filter { $0.name.lowercased() == name }.map(\.value)
    }
}
