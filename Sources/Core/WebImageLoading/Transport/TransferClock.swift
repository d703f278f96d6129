/// The time limits of one exchange.
package struct TransferLimits: Sendable {
    package enum Kind: Sendable {
        case idle, rate, total
    }

    /// How long a connection may be silent in both directions.
    package var idle: Duration = .seconds(15)
    /// How long the exchange may take; `nil` for no limit.
    package var total: Duration?
    /// The minimum bytes per second, on average over ``rateWindow``; 0 for no limit.
    package var bytesPerSecond = 0
    package var rateWindow: Duration = .seconds(60)

    init() {}
}

/// The clocks of one exchange, in milliseconds. They stop while the receiver pauses the exchange.
///
///     start        connection          first byte                          end
///       ├─ total ──────────────────────────────────────────────────────────►
///                     ├─ idle ─►├─ idle ─► restarts with each byte
///                                          ├─ window ─►├─ window ─►
///
/// A window starts with a byte, so that only the idle limit applies to silence.
struct TransferClock {
    private let limits: TransferLimits
    /// The last update, on the monotonic clock. All other times count from the start, without pauses.
    private var lastUpdate: Int64
    private(set) var elapsed: Int64 = 0
    /// `nil` until connected.
    private var lastActivity: Int64?
    private var windowStart: Int64?
    /// The number of bytes at the end of the last window, and of bytes sent when the idle limit was last reached.
    private var lastByteCount: Int64 = 0
    private var lastSentByteCount: Int64 = 0

    init(_ limits: TransferLimits, now: Int64) {
        self.limits = limits
        lastUpdate = now
    }

    /// Counts the time since the last call.
    ///
    /// - Parameter isHeld: whether the exchange was paused, so that the time does not count.
    mutating func advance(to now: Int64, isHeld: Bool = false) {
        if !isHeld { elapsed += now - lastUpdate }
        lastUpdate = now
    }

    /// - Parameter isHeld: as for ``advance(to:isHeld:)``.
    mutating func noteConnection(at now: Int64, isHeld: Bool = false) {
        advance(to: now, isHeld: isHeld)
        lastActivity = elapsed
    }

    /// Records that bytes were sent or received.
    ///
    /// - Parameter isHeld: as for ``advance(to:isHeld:)``.
    mutating func noteActivity(at now: Int64, isHeld: Bool = false) {
        noteConnection(at: now, isHeld: isHeld)
        if windowStart == nil { windowStart = elapsed }
    }

    /// Records that the receiver takes bytes again. The idle time and the window start again.
    mutating func noteResumption(at now: Int64) {
        advance(to: now, isHeld: true)
        windowStart = nil
        if lastActivity != nil { lastActivity = elapsed }
    }

    /// When the next limit may be reached, on the monotonic clock, without further activity; `nil` for never.
    var deadline: Int64? {
        [idleDeadline, totalDeadline, windowEnd].compactMap(\.self).min().map { lastUpdate + $0 - elapsed }
    }

    /// Returns the limit that has been reached; `nil` for none.
    ///
    /// - Parameters:
    ///   - sent, received: the number of bytes so far; called only if a limit may have been reached.
    mutating func exceededLimit(sent: () -> Int64, received: () -> Int64) -> TransferLimits.Kind? {
        if let totalDeadline, totalDeadline <= elapsed { return .total }
        if let windowEnd, windowEnd <= elapsed {
            let byteCount = sent() + received()
            // libcurl starts counting again when it repeats a request itself.
            let difference = byteCount < lastByteCount ? byteCount : byteCount - lastByteCount
            lastByteCount = byteCount
            windowStart = nil
            if difference < leastByteCount { return .rate }
        }
        if let idleDeadline, idleDeadline <= elapsed {
            // libcurl does not report when bytes are sent, only how many were.
            let sentByteCount = sent()
            guard sentByteCount > lastSentByteCount else { return .idle }
            lastSentByteCount = sentByteCount
            noteActivity(at: lastUpdate)
        }
        return nil
    }

    private var idleDeadline: Int64? { lastActivity.map { $0 + limits.idle.inMilliseconds } }
    private var totalDeadline: Int64? { limits.total?.inMilliseconds }

    private var windowEnd: Int64? {
        guard limits.bytesPerSecond > 0 else { return nil }
        return windowStart.map { $0 + limits.rateWindow.inMilliseconds }
    }

    private var leastByteCount: Int64 {
        let (count, isTooLarge) = Int64(limits.bytesPerSecond).multipliedReportingOverflow(
            by: limits.rateWindow.inMilliseconds)
        return isTooLarge ? .max : count / 1000
    }
}
