internal import WebImageCore

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

    /// The total duration of the transfers that have ended.
    package var usedTime: Duration { state.withLock { $0.usedTime } }

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
    /// Returns the request with a history. The loader that created it adds its time to the metrics of the last transfer.
    package func withHistory() -> (LoaderRequest, isNew: Bool) {
        if history != nil { return (self, false) }
        var request = self
        request.history = LoadHistory()
        return (request, true)
    }
}
