public import FoundationEssentials
public import WebImageCore

/// The state shared by the attempts of one load, so that time limits apply to all of them together.
package final class LoadHistory: Sendable {
    private struct State {
        var usedTime = Duration.zero
        var start: Duration?
        var connectivityWaitCount = 0
        var connectivityWaitDuration = Duration.zero
    }

    private let state = Lock(State())

    package init() {}

    /// Makes `request` one of the attempts of this history's load.
    package func attach(to request: inout LoaderRequest) { request.history = self }

    /// The total duration of the transfers that have ended.
    var usedTime: Duration { state.withLock { $0.usedTime } }

    /// Adds the time of a transfer that has ended.
    package func addTransfer(_ metrics: LoaderMetrics?) {
        guard let metrics else { return }
        state.withLock { $0.usedTime += metrics.activeDuration }
    }

    /// The time since the first attempt started.
    func elapsed(at now: Duration) -> Duration {
        state.withLock { state in
            let start = state.start ?? now
            state.start = start
            return now - start
        }
    }

    /// How often and how long the load has waited for a network connection.
    var connectivityWaits: (count: Int, duration: Duration) {
        state.withLock { ($0.connectivityWaitCount, $0.connectivityWaitDuration) }
    }

    func addConnectivityWait() { state.withLock { $0.connectivityWaitCount += 1 } }
    func addConnectivityWait(_ duration: Duration) { state.withLock { $0.connectivityWaitDuration += duration } }
}

extension LoadHistory: Hashable {
    /// Always `true`: the history does not distinguish requests.
    package static func == (first: LoadHistory, second: LoadHistory) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

extension LoaderRequest {
    /// Returns the request with a history, which is shared with the loader that wraps this one.
    func withHistory() -> LoaderRequest {
        var request = self
        request.history = history ?? LoadHistory()
        return request
    }
}

/// One attempt to load the bytes of an image.
///
/// The last attempt of a load in progress has neither a duration nor an error.
public struct LoadAttempt: Sendable, Equatable {
    /// The number of the attempt, starting at 1, over all URLs of the request.
    public package(set) var number: Int
    /// The request's URL, or one of its alternatives.
    public package(set) var url: URL
    /// The event that the attempt waits for, or has waited for, before it starts.
    public package(set) var wait = Wait.none
    /// The duration without the wait; `nil` until the attempt has ended.
    public package(set) var duration: Duration?
    /// The error; `nil` if the attempt has not failed.
    public package(set) var error: WebImageError?

    /// Creates an attempt, such as one to test a ``RetryStrategy`` with.
    ///
    /// - Parameters:
    ///   - number: starting at 1.
    ///   - url: the request's, or one of its alternatives.
    ///   - wait: the event that it waits for; none by default.
    ///   - duration: `nil`, the default, for one that has not ended.
    ///   - error: `nil`, the default, for one that has not failed.
    public init(
        number: Int, url: URL, wait: Wait = .none, duration: Duration? = nil, error: WebImageError? = nil
    ) {
        self.number = number
        self.url = url
        self.wait = wait
        self.duration = duration
        self.error = error
    }

    /// An event that an attempt waits for.
    public enum Wait: Sendable, Equatable {
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
