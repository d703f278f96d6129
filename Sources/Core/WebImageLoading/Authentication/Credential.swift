public import FoundationEssentials

/// A credential for a server or proxy. Its description hides the secret, so that it does not reach a log.
///
/// ```swift
/// var request = WebImageRequest(url)
/// request.credential = Credential(username: "ada", password: "secret")
/// ```
public struct Credential: Sendable, Hashable {
    enum Kind: Hashable, CustomStringConvertible, CustomReflectable {
        case password(username: String, password: String)
        case bearerToken(String)

        var description: String {
            switch self {
            case .password(let username, _): "\(username), password hidden"
            case .bearerToken: "hidden token"
            }
        }

        /// Empty, so that `dump` shows no secret.
        var customMirror: Mirror { Mirror(self, children: []) }
    }

    let kind: Kind

    /// For Basic and Digest authentication.
    ///
    /// It is sent once the server requires it, by Digest if the server offers that. After Basic has worked with a
    /// server, later requests of the same downloader to its origin send it at once, which saves a round trip.
    public init(username: String, password: String) {
        kind = .password(username: username, password: password)
    }

    /// For Bearer authentication (RFC 6750). It is sent at once, as an `Authorization` header.
    public static func bearerToken(_ token: String) -> Credential { Credential(kind: .bearerToken(token)) }

    private init(kind: Kind) { self.kind = kind }

    /// The user name; `nil` for a token.
    var username: String? {
        if case .password(let username, _) = kind { username } else { nil }
    }

    /// A text unique to the credential. It contains the secret: only its hash may be stored.
    var identity: String {
        switch kind {
        case .password(let username, let password): "password:\(username.utf8.count):\(username):\(password)"
        case .bearerToken(let token): "bearer:\(token)"
        }
    }
}

extension URL {
    /// The URL without `user:password@`, and the credential in it. Only the URL goes on the wire, into errors and cache
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

extension Credential {
    /// A line break could begin another header, and libcurl's strings end at a NUL.
    var isSendable: Bool {
        let text = identity
        return !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    }
}

/// A request for a credential by a server (401) or proxy (407).
public struct AuthenticationChallenge: Sendable, Equatable {
    /// The URL that was refused, after redirects.
    public var url: URL
    /// The host of the server or proxy.
    public var host: String
    /// The port of the server or proxy.
    public var port: Int
    /// Whether the challenge is from a proxy, not from the server.
    public var isProxy: Bool
    /// The best scheme that is offered: `digest`, else `basic`, else `bearer`. With `basic`, only TLS hides the
    /// password.
    public var scheme: String
    /// The server's name for the protected area; `nil` for none.
    public var realm: String?
    /// The number of credentials refused for this load so far.
    public var previousFailureCount: Int
}

enum AuthenticationAnswer {
    case credential(Credential)
    case decline
    case cancel
}

/// How a credential is sent: name and password in the clear (RFC 7617), a proof that the client knows the password
/// (RFC 7616), or a token (RFC 6750).
package enum AuthenticationScheme: String, Sendable {
    case basic, digest, bearer
}

/// A text unique to a credential. It contains the secret: only its hash may be stored.
package func secretText(of credential: Credential) -> String { credential.identity }
