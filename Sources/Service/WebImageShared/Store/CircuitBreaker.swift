internal import WebImageCore

/// Stops requests to a store that fails or is slow.
///
///     closed ── failures in a row ──► open ── pause ──► one probe ─┬─ success ──► closed
///                                       ▲                         └─ failure ──┐
///                                       └──────────── twice the pause ─────────┘
struct CircuitBreaker {
    /// How many failures in a row open it.
    static let failureLimit = 5
    static let firstPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(60)

    private var failureCount = 0
    private var pause = Self.firstPause
    /// When the next probe may start; `nil` while it is closed.
    private(set) var reopening: Duration?
    private var isProbing = false
    private(set) var openingCount = 0

    var isOpen: Bool { reopening != nil }

    /// Whether no request may start now, not even a probe.
    func isPausing(at now: Duration) -> Bool { reopening.map { now < $0 || isProbing } ?? false }

    /// Whether a request may start now.
    mutating func admits(at now: Duration) -> Bool {
        guard let reopening else { return true }
        guard now >= reopening, !isProbing else { return false }
        isProbing = true
        return true
    }

    mutating func succeed() {
        (failureCount, pause, reopening, isProbing) = (0, Self.firstPause, nil, false)
    }

    mutating func fail(at now: Duration) {
        failureCount += 1
        if isProbing {
            isProbing = false
            pause = min(pause * 2, Self.longestPause)
            reopening = now + pause
        } else if reopening == nil, failureCount >= Self.failureLimit {
            openingCount += 1
            reopening = now + pause
        }
    }

    /// Called for a cancelled request, which says nothing about the store.
    mutating func forget() { isProbing = false }
}
