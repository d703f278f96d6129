internal import FoundationEssentials
internal import WebImageCore

/// Decides which credentials a load sends to servers and proxies, and what to do when they are refused.
///
///     401 ─► a stored credential for origin and realm? ─yes─► again with it
///                   │ no
///            a handler, called less often than allowed? ─yes─► call it ─► again with its credential
///                   │ no
///            the load fails with 401
struct DownloadAuthentication {
    enum Step: Equatable {
        case retry
        case callHandler(AuthenticationChallenge)
        case fail
    }

    /// The authentication with the server or with the proxy.
    private struct Party {
        var origin: HTTPOrigin?
        var credential: Credential?
        var method = TransferAccess.Authentication.negotiated
        var scheme: AuthenticationScheme?
        var realm: String?
        var hasTriedStored = false
        var failureCount = 0
    }

    private let storage: CredentialStorage
    private let usesStorage: Bool
    private let callLimit: Int
    private var callCount = 0
    private var server = Party()
    private var proxy = Party()

    /// - Parameter credential: the request's or the downloader's, for the request's origin.
    init(
        _ credential: Credential?, usesStorage: Bool, storage: CredentialStorage, hasHandler: Bool
    ) {
        self.storage = storage
        self.usesStorage = usesStorage
        callLimit = hasHandler ? 3 : 0
        server.credential = credential
    }

    /// Sets the credentials of the next exchange.
    ///
    /// - Parameter hasOwnHeader: whether the request has an `Authorization` header, which takes precedence.
    mutating func begin(
        _ origin: HTTPOrigin, path: String, hasOwnHeader: Bool, proxy server: ProxyServer?, access: inout TransferAccess
    ) {
        enter(origin)
        if self.server.credential == nil, usesStorage, !hasOwnHeader {
            self.server.credential = storage.credential(toSendPreemptivelyTo: origin, path: path)
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

    /// Another origin gets nothing of this one's. It stays so when a later hop leads back.
    private mutating func enter(_ origin: HTTPOrigin) {
        if let last = server.origin, last != origin { server = Party() }
        server.origin = origin
    }

    /// Returns what follows from a 401.
    mutating func serverRefused(_ head: TransferHead, url: URL) -> Step {
        guard let origin = server.origin else { return .fail }
        let challenge = HTTPChallenge.parse(head.values("www-authenticate")).preferred
        var party = server
        defer { server = party }
        return refused(&party, challenge, url: url, host: origin.host, port: origin.port, isProxy: false)
    }

    /// Returns what follows from a 407.
    mutating func proxyRefused(_ head: TransferHead, by proxyServer: ProxyServer, url: URL) -> Step {
        let challenge = HTTPChallenge.parse(head.values("proxy-authenticate")).preferred
        return proxyRefused(challenge, by: proxyServer, url: url)
    }

    /// Like the method above, where only the scheme is known.
    mutating func proxyRefused(
        _ challenge: (scheme: AuthenticationScheme, realm: String?)?, by server: ProxyServer, url: URL
    ) -> Step {
        var party = proxy
        defer { proxy = party }
        return refused(&party, challenge, url: url, host: server.host, port: server.port, isProxy: true)
    }

    private mutating func refused(
        _ party: inout Party, _ challenge: (scheme: AuthenticationScheme, realm: String?)?, url: URL,
        host: String, port: Int, isProxy: Bool
    ) -> Step {
        if let origin = party.origin, party.method == .basic, party.credential != nil, challenge?.scheme == .digest {
            // It accepted Basic before.
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
        guard let challenge else { return .fail }
        (party.scheme, party.realm) = (challenge.scheme, challenge.realm)
        party.method = challenge.scheme == .digest ? .digest : .basic
        if usesStorage, !party.hasTriedStored, let origin = party.origin,
            let stored = storage.credential(for: origin, realm: challenge.realm), stored != party.credential
        {
            party.hasTriedStored = true
            party.credential = stored
            return .retry
        }
        guard callCount < callLimit else { return .fail }
        callCount += 1
        return .callHandler(
            AuthenticationChallenge(
                url: url, host: host, port: port, isProxy: isProxy, scheme: challenge.scheme.rawValue,
                realm: challenge.realm,
                previousFailureCount: party.failureCount))
    }

    /// Takes the handler's credential for a challenge.
    mutating func answer(_ credential: Credential, to challenge: AuthenticationChallenge) {
        if challenge.isProxy { proxy.credential = credential } else { server.credential = credential }
    }

    /// Stores the credentials that worked: `head` is neither 401 nor 407.
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
    func values(_ name: String) -> [String] { fields.filter { $0.isNamed(name) }.map(\.value) }

    fileprivate func answered(_ name: String) -> [String] {
        answeredFields.filter { $0.isNamed(name) }.map(\.value)
    }
}

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110 §11.6.1).
struct HTTPChallenge: Equatable {
    /// In lower case, such as `basic`.
    var scheme: String
    var realm: String?

    /// Returns all challenges of all fields. A field may contain several, separated by commas as their parameters are.
    static func parse(_ values: [String]) -> [HTTPChallenge] {
        values.flatMap { value -> [HTTPChallenge] in
            var reader = Reader(text: Array(value.utf8))
            var challenges: [HTTPChallenge] = []
            while let item = reader.nextItem() {
                switch item {
                case .scheme(let name): challenges.append(HTTPChallenge(scheme: name, realm: nil))
                case .parameter("realm", let value) where !challenges.isEmpty:
                    let last = challenges.count - 1
                    if challenges[last].realm == nil { challenges[last].realm = value }
                case .parameter: break
                }
            }
            return challenges
        }
    }

    private enum Item {
        case scheme(String)
        case parameter(name: String, value: String)
    }

    private struct Reader {
        let text: [UInt8]
        var position = 0

        mutating func nextItem() -> Item? {
            while true {
                skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
                guard position < text.count else { return nil }
                let name = take { !Self.isSpace($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
                let end = position
                skip(Self.isSpace)
                guard position < text.count, text[position] == UInt8(ascii: "=") else {
                    position = end
                    if name.isEmpty { return nil }
                    return .scheme(name.lowercased())
                }
                skip { $0 == UInt8(ascii: "=") || Self.isSpace($0) }
                return .parameter(name: name.lowercased(), value: takeValue())
            }
        }

        private mutating func takeValue() -> String {
            guard position < text.count, text[position] == UInt8(ascii: "\"") else {
                return take { !Self.isSpace($0) && $0 != UInt8(ascii: ",") }
            }
            position += 1
            var value: [UInt8] = []
            while position < text.count, text[position] != UInt8(ascii: "\"") {
                if text[position] == UInt8(ascii: "\\"), position + 1 < text.count { position += 1 }
                value.append(text[position])
                position += 1
            }
            position += 1
            return String(decoding: value, as: UTF8.self)
        }

        private mutating func take(while isTaken: (UInt8) -> Bool) -> String {
            let start = position
            skip(isTaken)
            return String(decoding: text[start..<position], as: UTF8.self)
        }

        private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
            while position < text.count, isSkipped(text[position]) { position += 1 }
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    }
}

extension [HTTPChallenge] {
    /// The challenge to answer. Digest takes precedence over Basic, since it does not reveal the password.
    var preferred: (scheme: AuthenticationScheme, realm: String?)? {
        for scheme in [AuthenticationScheme.digest, .basic, .bearer] {
            if let challenge = first(where: { $0.scheme == scheme.rawValue }) { return (scheme, challenge.realm) }
        }
        return nil
    }
}

/// The credentials that have worked for requests with ``LoaderRequest/usesCredentialStorage``, by origin and realm. In
/// memory only.
///
/// A stored credential is tried when a server rejects a request. Below a path where one has worked, it is sent without
/// a challenge (RFC 7617 §2.2).
final class CredentialStorage: Sendable {
    private struct Space {
        var credential: Credential
        var scheme: AuthenticationScheme
        var directory: String
    }

    private struct State {
        var spaces: [HTTPOrigin: [String: Space]] = [:]
        /// Where Basic has worked, for requests with their own credential.
        var basicOrigins: Set<HTTPOrigin> = []
    }

    private let state = Lock(State())

    init() {}

    func removeAll() { state.withLock { $0 = State() } }

    func removeCredentials(for url: URL) {
        guard let origin = HTTPOrigin(url) else { return }
        state.withLock { state in
            state.spaces[origin] = nil
            state.basicOrigins.remove(origin)
        }
    }

    var count: Int { state.withLock { $0.spaces.values.reduce(0) { $0 + $1.count } } }

    func credential(for origin: HTTPOrigin, realm: String?) -> Credential? {
        state.withLock { $0.spaces[origin]?[realm ?? ""]?.credential }
    }

    /// Returns the credential to send preemptively: one that has worked at or above the directory of `path`.
    func credential(toSendPreemptivelyTo origin: HTTPOrigin, path: String) -> Credential? {
        state.withLock { state in
            let spaces = state.spaces[origin]?.values.filter { path.hasPrefix($0.directory) } ?? []
            return spaces.max { $0.directory.utf8.count < $1.directory.utf8.count }?.credential
        }
    }

    func insert(
        _ credential: Credential, for origin: HTTPOrigin, realm: String?, scheme: AuthenticationScheme,
        path: String
    ) {
        let directory = String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
        state.withLock { state in
            // A server can name any number of realms.
            guard (state.spaces[origin]?.count ?? 0) < Self.realmLimit, state.spaces.count < Self.originLimit else {
                return
            }
            state.spaces[origin, default: [:]][realm ?? ""] = Space(
                credential: credential, scheme: scheme, directory: directory)
        }
    }

    func remove(_ credential: Credential, for origin: HTTPOrigin) {
        state.withLock { state in
            state.spaces[origin] = state.spaces[origin]?.filter { $0.value.credential != credential }
            if state.spaces[origin]?.isEmpty == true { state.spaces[origin] = nil }
        }
    }

    func takesBasic(_ origin: HTTPOrigin) -> Bool { state.withLock { $0.basicOrigins.contains(origin) } }

    func noteBasic(_ worked: Bool, for origin: HTTPOrigin) {
        state.withLock { state in
            if !worked {
                state.basicOrigins.remove(origin)
            } else if state.basicOrigins.count < Self.originLimit {
                state.basicOrigins.insert(origin)
            }
        }
    }

    private static let realmLimit = 64
    private static let originLimit = 1024
}
