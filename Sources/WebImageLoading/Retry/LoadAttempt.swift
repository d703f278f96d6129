public import FoundationEssentials
public import WebImageCore

/// One attempt to load the bytes of an image.
///
/// The last attempt of a load in progress has neither a duration nor an error.
public struct LoadAttempt: Sendable, Equatable {
    /// The number of the attempt, starting at 1, over all URLs of the request.
    public var number: Int
    /// The request's URL, or one of its alternatives.
    public var url: URL
    /// What the attempt waits for, or has waited for, before it starts.
    public var wait = Wait.none
    /// The duration without the wait; `nil` until the attempt has ended.
    public var duration: Duration?
    /// The error; `nil` if the attempt has not failed.
    public var error: WebImageError?

    /// Creates an attempt that is about to start.
    public init(number: Int, url: URL, wait: Wait = .none) {
        self.number = number
        self.url = url
        self.wait = wait
    }

    /// What an attempt waits for.
    public enum Wait: Sendable, Hashable {
        /// Nothing.
        case none
        /// The delay that the ``RetryStrategy`` returned.
        case backoff(Duration)
        /// The delay that the ``RetryStrategy`` returned, after the server sent Retry-After.
        case retryAfter(Duration)
        /// A network connection; the duration of the wait, once there is one.
        case connectivity(Duration?)
    }
}

extension [LoadAttempt] {
    /// Whether an attempt after the first is about to start.
    package var isAtStartOfAnother: Bool { count > 1 && last?.duration == nil }
}
