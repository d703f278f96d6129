public import FoundationEssentials

/// A server's or proxy's demand for a credential: its 401 or 407.
public struct AuthenticationChallenge: Sendable, Hashable {
    /// How a credential is shown.
    public enum Scheme: String, Sendable, Hashable, Codable {
        /// Name and password in the clear (RFC 7617): only TLS hides them.
        case basic
        /// A proof that the client knows the password (RFC 7616).
        case digest
        /// A token (RFC 6750).
        case bearer
    }

    /// What was to be loaded, of the hop that was refused.
    public var url: URL
    /// Who asks: the server's host, or the proxy's.
    public var host: String
    /// Its port.
    public var port: Int
    /// Whether it is the proxy that asks.
    public var isProxy: Bool
    /// The best scheme it offers: Digest before Basic before Bearer.
    public var scheme: Scheme
    /// What the credential is good for, in the server's words; `nil` where it does not say.
    public var realm: String?
    /// How many credentials it has refused for this load so far.
    public var previousFailureCount: Int

    /// What to do about it.
    public enum Answer: Sendable, Hashable {
        /// Tries again with this one.
        case credential(Credential)
        /// Goes without: the load fails with ``WebImageError/httpStatus(code:url:)``, 401 or 407.
        case decline
        /// The load ends with ``WebImageError/cancelled``.
        case cancel
    }
}

/// Finds a credential for a challenge, for example by asking the user.
///
/// It runs in a task of its own, however long it takes; the load has no connection meanwhile. Cancelling the load cancels
/// the task.
public typealias AuthenticationHandler =
    @Sendable (AuthenticationChallenge) async -> AuthenticationChallenge.Answer
