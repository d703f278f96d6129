public import FoundationEssentials

/// Which redirects are followed. Only those to http and https ever are, and
/// ``ImageDownloader/Configuration/maximumRedirects`` of them.
public struct RedirectPolicy: Sendable {
    /// Whether https may lead to http, where anybody on the way can read and change the answer; `false` by default.
    public var allowsDowngrade = false
    /// Asked about each redirect that is otherwise allowed; `nil`, the default, follows them all. It is called on the
    /// network thread and must return soon.
    public var decide: (@Sendable (Redirect) -> RedirectDecision)?

    /// Makes a policy.
    public init(allowsDowngrade: Bool = false, decide: (@Sendable (Redirect) -> RedirectDecision)? = nil) {
        self.allowsDowngrade = allowsDowngrade
        self.decide = decide
    }
}

/// A redirect about to be followed.
public struct Redirect: Sendable, Hashable {
    /// The URL that answered with it.
    public var source: URL
    /// Where it leads.
    public var target: URL
    /// 301, 302, 303, 307 or 308. After a 303, and after a 301 or 302 to a POST, the next request is a GET without body; else
    /// it is what the last was (RFC 9110, 15.4).
    public var statusCode: Int
    /// How many were followed before it.
    public var previousCount: Int
}

/// What becomes of a redirect.
public enum RedirectDecision: Sendable, Hashable {
    /// It is followed.
    case follow
    /// This URL is loaded in place of its target; it is judged as the target was.
    case rewrite(URL)
    /// The load fails with ``WebImageError/redirectDenied(from:to:reason:)``.
    case deny
}
