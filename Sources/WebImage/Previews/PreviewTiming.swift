import Dispatch

/// When the next preview is due: an interval after the last, and longer where one takes long to make.
struct PreviewTiming: Sendable {
    /// The least time between the beginnings of two.
    let interval: Duration
    /// What time it is; tests have their own.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Calls back after a while, on any thread.
    var call: @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void = { delay, body in
        let (seconds, attoseconds) = delay.components
        // A preview that is an hour away never comes.
        let milliseconds = Int(min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds + 1), execute: body)
    }

    /// Of a processor's time, previews take a fifth at the most.
    static let costFactor = 4

    /// - Parameter isBlurred: these come half as often: a blur costs as much as a decode, and hides the difference.
    func next(begun: ContinuousClock.Instant, ended: ContinuousClock.Instant, isBlurred: Bool)
        -> ContinuousClock.Instant
    {
        let due = begun + (isBlurred ? interval * 2 : interval)
        return max(due, Self.earliest(begun: begun, ended: ended))
    }

    /// As far as the cost goes, which an attempt has that shows nothing as well.
    static func earliest(begun: ContinuousClock.Instant, ended: ContinuousClock.Instant) -> ContinuousClock.Instant {
        ended + (ended - begun) * costFactor
    }
}
