internal import CWebImageCurl
internal import FoundationEssentials
public import WebImageCore

/// Decides whether a load that failed is tried again, and when.
///
/// ```swift
/// struct OnceAfterASecond: RetryStrategy {
///     func delay(after failure: RetryFailure) -> Duration? {
///         failure.attemptCount == 1 && failure.error.isTransient ? .seconds(1) : nil
///     }
/// }
/// ```
///
/// Requests for the same bytes share a transfer only if their strategies are equal.
public protocol RetryStrategy: Sendable, Hashable {
    /// Returns how long to wait before the next attempt at the same URL; `nil` if the load has failed.
    ///
    /// May be called on any thread, also under a lock: it must return soon.
    func delay(after failure: RetryFailure) -> Duration?
}

/// A failed attempt, for a ``RetryStrategy``.
///
/// ```swift
/// struct TwiceInAMinute: RetryStrategy {
///     func delay(after failure: RetryFailure) -> Duration? {
///         failure.attemptCount < 3 && failure.elapsed < .seconds(60) ? .seconds(5) : nil
///     }
/// }
/// ```
public struct RetryFailure: Sendable {
    /// How many attempts at this URL have been made, counted from 1.
    public var attemptCount: Int
    /// Why the last one failed.
    public var error: WebImageError
    /// Whether the request's method is idempotent, like GET. Repeating any other request may do harm.
    public var isIdempotent: Bool
    /// How long the server told clients to wait (Retry-After); `nil` if it did not.
    public var retryAfter: Duration?
    /// The time since the first attempt at any URL started.
    public var elapsed: Duration
    /// A random number from 0 to 1, for jitter.
    var random: Double

    init(
        attemptCount: Int, error: WebImageError, isIdempotent: Bool = true, retryAfter: Duration? = nil,
        elapsed: Duration = .zero, random: Double = 1
    ) {
        self.attemptCount = attemptCount
        self.error = error
        self.isIdempotent = isIdempotent
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
/// The longest wait doubles with each attempt. Only requests with an idempotent method are tried again, after an error
/// that is transient (``WebImageError/isTransient``). After a Retry-After of more than 60 s there is no
/// further attempt.
///
/// ```swift
/// var request = WebImageRequest(url)
/// request.retryPolicy = RetryPolicy(maximumAttempts: 4, initialBackoff: .seconds(1))
/// ```
public struct RetryPolicy: RetryStrategy {
    /// The largest number of attempts for one URL, including the first; 1 never tries again.
    public var maximumAttempts: Int
    /// The longest wait after the first attempt.
    public var initialBackoff: Duration
    /// The factor by which the longest wait grows with each attempt; 2 by default.
    public var backoffFactor = 2.0
    /// The limit of the longest wait.
    public var maximumBackoff: Duration
    /// The longest Retry-After that is respected; 60 s by default. After a longer one there is no further attempt,
    /// because an earlier one would add to the server's load.
    public var maximumRetryAfter: Duration = .seconds(60)
    /// No attempt starts later than this after the first one, alternative URLs included.
    public var timeLimit: Duration?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maximumAttempts: the largest number of attempts for one URL, including the first; 1 never tries again.
    ///   - initialBackoff: the longest wait after the first attempt; 0.5 s by default.
    ///   - maximumBackoff: the limit of the longest wait; 30 s by default.
    ///   - timeLimit: no attempt starts later than this after the first one, alternative URLs included; no limit by
    ///     default.
    public init(
        maximumAttempts: Int, initialBackoff: Duration = .milliseconds(500), maximumBackoff: Duration = .seconds(30),
        timeLimit: Duration? = nil
    ) {
        self.maximumAttempts = maximumAttempts
        self.initialBackoff = initialBackoff
        self.maximumBackoff = maximumBackoff
        self.timeLimit = timeLimit
    }

    /// Returns the wait; see ``RetryStrategy/delay(after:)``.
    public func delay(after failure: RetryFailure) -> Duration? {
        guard failure.attemptCount < maximumAttempts, failure.isIdempotent, failure.error.isTransient else {
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
    /// Up to four attempts, at most 0.5, 1 and 2 seconds apart, plus the delay in `Retry-After`.
    public static var standard: RetryPolicy { RetryPolicy(maximumAttempts: 4) }
}

extension RetryPolicy {
    /// Returns the longest wait after the attempt with that number.
    func backoff(afterAttempt number: Int) -> Duration {
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

/// The time after which a server accepts another request (RFC 9110, 10.2.3).
enum RetryAfter {
    /// Returns the delay from the response's `Retry-After` field, in seconds or as a date; `nil` if it is missing or
    /// invalid.
    ///
    /// A date is compared with the response's `Date` field if there is one, since the server's clock may differ.
    static func delay(of response: LoaderResponse, now: Date) -> Duration? {
        guard let text = response.headerValue("Retry-After") else { return nil }
        if text[...].isDecimal { return .seconds(text[...].decimalNumber ?? .max / 1000) }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let sent = response.headerValue("Date").flatMap { HTTPDate.parse($0, now: now) } ?? now
        return .seconds(max(0, date.timeIntervalSince(sent)))
    }
}

extension WebImageError {
    /// Whether repeating the load later may succeed: the connection failed or was lost, the server did not respond or
    /// sent too little, or it reported a temporary problem (408, 429, 500, 502, 503, 504).
    ///
    /// Errors of trust and policy are not transient, nor are responses that the server would repeat, such as 404 or
    /// 501. The total time limit is not transient either, since it applies to all attempts together.
    public var isTransient: Bool {
        switch self {
        case .httpStatus(let code, _): [408, 429, 500, 502, 503, 504].contains(code)
        // The time for further attempts is used up.
        case .timedOut(.total, _, _): false
        case .timedOut, .invalidResponse(.truncated, _): true
        case .transport(let code, _, _): Self.transientCodes.contains(code)
        default: false
        }
    }

    /// Whether the cause may be a missing network, since no server responded.
    var mayBeOffline: Bool {
        switch self {
        case .timedOut(.connecting, _, _), .timedOut(.idle, _, _), .invalidResponse(.truncated, _): true
        case .transport: isTransient
        default: false
        }
    }

    /// Whether another URL may succeed. Problems of the request itself, or of this machine, would recur.
    var concernsURL: Bool {
        switch self {
        case .timedOut(.total, _, _): false
        case .cancelled, .outOfResources: false
        case .invalidRequest(.invalidHeader, _), .invalidRequest(.unsupportedMethod, _): false
        default: true
        }
    }

    /// libcurl's codes for failed lookups, connections and streams. There is no separate code for a reset during the
    /// TLS handshake. Certificate errors have another code and are never passed here.
    private static let transientCodes: Set = Set(
        [
            CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_HTTP2,
            CURLE_PARTIAL_FILE, CURLE_OPERATION_TIMEDOUT, CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR,
            CURLE_RECV_ERROR, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR,
        ].map { Int($0.rawValue) })
}
