/// The time limits of one exchange.
package struct TransferLimits: Sendable {
    package enum Kind: Sendable {
        case idle, rate, total
    }

    /// How long nothing may go either way on a connection.
    package var idle: Duration = .seconds(15)
    /// How long the exchange may take; `nil` for no limit.
    package var total: Duration?
    /// The fewest bytes a second, on average over ``rateWindow``; 0 for no limit.
    package var bytesPerSecond = 0
    package var rateWindow: Duration = .seconds(60)

    package init() {}
}

/// The clocks of one exchange, in milliseconds. They stand still while the receiver holds the exchange back.
///
///     start        connection          first byte                          end
///       ├─ total ──────────────────────────────────────────────────────────►
///                     ├─ idle ─►├─ idle ─► anew with each byte
///                                          ├─ window ─►├─ window ─►
///
/// A window begins with a byte, so that silence is the idle limit's matter alone.
struct TransferClock {
    private let limits: TransferLimits
    /// When it was last brought up to date, on the monotonic clock. All other times count from the start, without holds.
    private var lastUpdate: Int64
    private(set) var elapsed: Int64 = 0
    /// `nil` until a connection is there.
    private var lastActivity: Int64?
    private var windowStart: Int64?
    /// The number of bytes at the end of the last window, and of those sent when the idle limit was last reached.
    private var lastByteCount: Int64 = 0
    private var lastSentByteCount: Int64 = 0

    init(_ limits: TransferLimits, now: Int64) {
        self.limits = limits
        lastUpdate = now
    }

    /// Counts the time since the last call.
    ///
    /// - Parameter isHeld: whether the receiver takes nothing; none of that time counts.
    mutating func advance(to now: Int64, isHeld: Bool = false) {
        if !isHeld { elapsed += now - lastUpdate }
        lastUpdate = now
    }

    /// - Parameter isHeld: as for ``advance(to:isHeld:)``.
    mutating func noteConnection(at now: Int64, isHeld: Bool = false) {
        advance(to: now, isHeld: isHeld)
        lastActivity = elapsed
    }

    /// Bytes have come or gone.
    ///
    /// - Parameter isHeld: as for ``advance(to:isHeld:)``.
    mutating func noteActivity(at now: Int64, isHeld: Bool = false) {
        noteConnection(at: now, isHeld: isHeld)
        if windowStart == nil { windowStart = elapsed }
    }

    /// The receiver takes bytes again: the server gets its time to begin anew.
    mutating func noteResumption(at now: Int64) {
        advance(to: now, isHeld: true)
        windowStart = nil
        if lastActivity != nil { lastActivity = elapsed }
    }

    /// When the next limit may be reached, on the monotonic clock, unless something happens before; `nil` for never.
    var deadline: Int64? {
        [idleDeadline, totalDeadline, windowEnd].compactMap(\.self).min().map { lastUpdate + $0 - elapsed }
    }

    /// The limit that has been reached; `nil` for none.
    ///
    /// - Parameters:
    ///   - sent, received: how many bytes have gone and come; asked only if a limit may have been reached.
    mutating func exceededLimit(sent: () -> Int64, received: () -> Int64) -> TransferLimits.Kind? {
        if let totalDeadline, totalDeadline <= elapsed { return .total }
        if let windowEnd, windowEnd <= elapsed {
            let byteCount = sent() + received()
            // libcurl counts anew when it repeats a request by itself.
            let difference = byteCount < lastByteCount ? byteCount : byteCount - lastByteCount
            lastByteCount = byteCount
            windowStart = nil
            if difference < leastByteCount { return .rate }
        }
        if let idleDeadline, idleDeadline <= elapsed {
            // libcurl does not tell when bytes go out, only how many have.
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
