public import WebImageCore

/// Decides whether a load that failed is tried again, and when.
///
/// Requests for the same bytes share a transfer only if their strategies are equal.
public protocol RetryStrategy: Sendable, Hashable {
    /// Returns how long to wait before the next attempt at the same URL; `nil` if the load has failed.
    ///
    /// May be called on any thread, also under a lock: it must return soon.
    func delay(after failure: RetryFailure) -> Duration?

    /// No attempt starts later than this after the first one, alternative URLs included; `nil`, the default, is no limit.
    var timeLimit: Duration? { get }
}

extension RetryStrategy {
    /// `nil`: no limit.
    public var timeLimit: Duration? { nil }
}

/// A failed attempt, for a ``RetryStrategy``.
public struct RetryFailure: Sendable {
    /// How many attempts at this URL have been made, counted from 1.
    public var attemptCount: Int
    /// Why the last one failed.
    public var error: WebImageError
    /// The method of the request. Repeating one that is not idempotent may do harm.
    public var method: LoaderRequest.Method
    /// How long the server asked clients to wait (Retry-After); `nil` if it did not.
    public var retryAfter: Duration?
    /// The time since the first attempt at any URL started.
    public var elapsed: Duration
    /// A random number from 0 to 1, for jitter.
    public var random: Double

    /// Creates a failure.
    public init(
        attemptCount: Int, error: WebImageError, method: LoaderRequest.Method = .get, retryAfter: Duration? = nil,
        elapsed: Duration = .zero, random: Double = 1
    ) {
        self.attemptCount = attemptCount
        self.error = error
        self.method = method
        self.retryAfter = retryAfter
        self.elapsed = elapsed
        self.random = random
    }
}

/// Tries again after transient failures, with exponential backoff and full jitter.
///
///     attempt ── fails ──► transient? attempts left? time left? ──► wait, random × backoff ──► attempt
///                                                                   at least Retry-After
///
/// Only errors that are transient (``WebImageCore/WebImageError/isTransient``) and idempotent methods
/// (``LoaderRequest/Method/isIdempotent``) are tried again.
public struct RetryPolicy: RetryStrategy {
    /// The largest number of attempts for one URL, including the first; 1 never tries again.
    public var maximumAttempts: Int
    /// The longest wait after the first attempt; 0.5 s by default.
    public var initialBackoff: Duration = .milliseconds(500)
    /// The factor by which the longest wait grows with each attempt; 2 by default.
    public var backoffFactor = 2.0
    /// The limit of the longest wait; 30 s by default.
    public var maximumBackoff: Duration = .seconds(30)
    /// The longest Retry-After that is respected; 60 s by default. After a longer one there is no further attempt, because an
    /// earlier one would add to the server's load.
    public var maximumRetryAfter: Duration = .seconds(60)
    /// No attempt starts later than this after the first one, alternative URLs included; no limit by default.
    public var timeLimit: Duration?

    /// Creates a policy.
    public init(maximumAttempts: Int) { self.maximumAttempts = maximumAttempts }

    /// Returns the wait; see ``RetryStrategy/delay(after:)``.
    public func delay(after failure: RetryFailure) -> Duration? {
        guard failure.attemptCount < maximumAttempts, failure.method.isIdempotent, failure.error.isTransient else {
            return nil
        }
        if let retryAfter = failure.retryAfter, retryAfter > maximumRetryAfter { return nil }
        // In addition to Retry-After, which other clients have received, too.
        let jitter = backoff(afterAttempt: failure.attemptCount) * min(1, max(0, failure.random))
        let delay = max(.zero, failure.retryAfter ?? .zero) + jitter
        if let timeLimit, failure.elapsed + delay >= timeLimit { return nil }
        return delay
    }
}

extension RetryStrategy where Self == RetryPolicy {
    /// One attempt; the default, since a program may have its own retry logic.
    public static var none: RetryPolicy { RetryPolicy(maximumAttempts: 1) }
    /// Up to four attempts, at most 0.5, 1 and 2 seconds apart, or as far as Retry-After says.
    public static var standard: RetryPolicy { RetryPolicy(maximumAttempts: 4) }
}

extension RetryPolicy {
    /// Returns the longest wait after the attempt with that number.
    package func backoff(afterAttempt number: Int) -> Duration {
        guard initialBackoff > .zero, maximumBackoff > .zero else { return .zero }
        var backoff = min(initialBackoff, maximumBackoff)
        // In steps, because a power may be infinite; 64 are enough for any reasonable factor.
        for _ in 1..<max(1, min(number, 64)) where backoff < maximumBackoff {
            let next = backoff.inExactSeconds * max(1, backoffFactor)
            backoff = next < maximumBackoff.inExactSeconds ? .seconds(next) : maximumBackoff
        }
        return backoff
    }
}
