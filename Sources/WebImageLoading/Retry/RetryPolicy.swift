package import WebImageCore

/// Whether a load that failed is tried again, how often, and after how long.
///
///     attempt ── fails ──► transient? attempts left? time left? ──► wait, random × backoff ──► attempt
///                                                                   at least Retry-After
///
/// Only what may succeed a little later is tried again, see ``WebImageCore/WebImageError/isTransient``, and only methods that
/// do no harm when they are done twice, see ``LoaderRequest/Method/isIdempotent``.
public struct RetryPolicy: Sendable, Hashable {
    /// The most attempts for one URL, the first one included; 1 tries nothing again. At least 1.
    public var maximumAttempts: Int
    /// The longest wait after the first attempt; 0.5 s.
    public var initialBackoff: Duration = .milliseconds(500)
    /// By how much the longest wait grows with each attempt; 2.
    public var backoffFactor = 2.0
    /// What the longest wait grows to; 30 s.
    public var maximumBackoff: Duration = .seconds(30)
    /// The longest that a server may ask to be left alone (Retry-After); 60 s. One that asks for more is not asked again: to
    /// come earlier than told would make its trouble worse.
    public var maximumRetryAfter: Duration = .seconds(60)
    /// No attempt begins later than this after the first one began, alternative URLs included; `nil`, the default, sets no
    /// limit.
    public var timeLimit: Duration?

    /// Makes a policy of so many attempts.
    public init(maximumAttempts: Int) { self.maximumAttempts = maximumAttempts }

    /// One attempt: the default of the library, since a program may have reasons of its own to try again.
    public static let none = RetryPolicy(maximumAttempts: 1)
    /// Up to four attempts: half a second, one and two seconds apart at most, and a minute where the server wants it.
    public static let standard = RetryPolicy(maximumAttempts: 4)
}

extension RetryPolicy {
    /// How long to wait before the next attempt at the same URL; `nil` when there is to be none.
    ///
    /// - Parameters:
    ///   - number: how many attempts at this URL have been made, counted from 1.
    ///   - retryAfter: how long the server has asked to be left alone.
    ///   - elapsed: since the first attempt began, at whatever URL.
    ///   - random: from 0 to 1. All of the backoff is random ("full jitter"): many clients that failed together come back
    ///     one by one.
    package func delay(
        afterAttempt number: Int, _ error: WebImageError, method: LoaderRequest.Method, retryAfter: Duration?,
        elapsed: Duration, random: Double
    ) -> Duration? {
        guard number < maximumAttempts, method.isIdempotent, error.isTransient else { return nil }
        if let retryAfter, retryAfter > maximumRetryAfter { return nil }
        // On top of what the server wants: it has told others the same time.
        let delay = max(.zero, retryAfter ?? .zero) + backoff(afterAttempt: number) * min(1, max(0, random))
        if let timeLimit, elapsed + delay >= timeLimit { return nil }
        return delay
    }

    /// The longest wait after the attempt of that number.
    package func backoff(afterAttempt number: Int) -> Duration {
        guard initialBackoff > .zero, maximumBackoff > .zero else { return .zero }
        var backoff = min(initialBackoff, maximumBackoff)
        // One by one: a power may be infinite, and so many steps are enough for any factor worth naming.
        for _ in 1..<max(1, min(number, 64)) where backoff < maximumBackoff {
            let next = backoff.inExactSeconds * max(1, backoffFactor)
            backoff = next < maximumBackoff.inExactSeconds ? .seconds(next) : maximumBackoff
        }
        return backoff
    }
}
