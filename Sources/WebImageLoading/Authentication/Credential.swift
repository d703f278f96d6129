package import FoundationEssentials

/// What a server or proxy is shown to be let in. Its description hides the secret, so that it does not reach a log.
public struct Credential: Sendable, Hashable {
    enum Secret: Hashable {
        case password(username: String, password: String)
        case bearerToken(String)
    }

    let secret: Secret

    /// For Basic and Digest authentication.
    ///
    /// It is sent once the server has asked for it, by Digest where the server offers that. After Basic has worked with a
    /// server, later requests of the same downloader to its origin carry it at once, which saves them a round trip.
    public init(username: String, password: String) {
        secret = .password(username: username, password: password)
    }

    /// For Bearer authentication (RFC 6750): sent at once, as an `Authorization` header.
    public static func bearerToken(_ token: String) -> Credential { Credential(secret: .bearerToken(token)) }

    private init(secret: Secret) { self.secret = secret }

    /// The name, unless it is a token.
    public var username: String? {
        if case .password(let username, _) = secret { username } else { nil }
    }

    /// Different for different credentials. It contains the secret: only its hash may be stored.
    package var identity: String {
        switch secret {
        case .password(let username, let password): "password:\(username.utf8.count):\(username):\(password)"
        case .bearerToken(let token): "bearer:\(token)"
        }
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The user name, or that it is a token; never the secret.
    public var description: String {
        username.map { "Credential(\($0), password hidden)" } ?? "Credential(hidden token)"
    }

    /// As ``description``.
    public var debugDescription: String { description }

    /// Empty, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension URL {
    /// The URL without `user:password@`, and what stood there. Only the first goes on the wire, into errors and cache
    /// keys.
    package var separatedFromUserInfo: (url: URL, credential: Credential?) {
        guard user() != nil || password() != nil else { return (self, nil) }
        let text = absoluteString
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return (self, nil) }
        let start = text.index(colon, offsetBy: 3)
        let end = text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        guard let at = text[start..<end].lastIndex(of: "@"),
            let bare = URL(string: String(text[..<start]) + String(text[text.index(after: at)...]))
        else { return (self, nil) }
        let credential = Credential(
            username: user(percentEncoded: false) ?? "", password: password(percentEncoded: false) ?? "")
        return (bare, credential)
    }
}
