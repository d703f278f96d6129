public import FoundationEssentials
public import WebImageCore

/// One try at getting a picture's bytes from a loader.
///
/// The last of a load that is under way may still wait or run: then it has neither duration nor error.
public struct LoadAttempt: Sendable, Equatable {
    /// Counts from 1, over all URLs of the request.
    public var number: Int
    /// What it asks for: the request's URL, or one of its alternatives.
    public var url: URL
    /// What it waits for, or has waited for, before it begins.
    public var wait = Wait.none
    /// How long it took, without the wait; `nil` until it has ended.
    public var duration: Duration?
    /// Why it failed; `nil` if it has not.
    public var error: WebImageError?

    /// Describes an attempt that is about to begin.
    public init(number: Int, url: URL, wait: Wait = .none) {
        self.number = number
        self.url = url
        self.wait = wait
    }

    /// What an attempt waits for.
    public enum Wait: Sendable, Hashable {
        /// Nothing.
        case none
        /// The time that ``RetryPolicy`` has chosen.
        case backoff(Duration)
        /// The time that the server has asked for, and some more at random.
        case retryAfter(Duration)
        /// A network; how long that took, once there is one.
        case connectivity(Duration?)
    }
}

extension [LoadAttempt] {
    /// Whether the last, and not the first, is about to begin.
    var isAtStartOfAnother: Bool { count > 1 && last?.duration == nil }
}
