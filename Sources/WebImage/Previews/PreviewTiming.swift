import Dispatch

/// When the next preview is due: an interval after the last, or later if previews take long to make.
struct PreviewTiming: Sendable {
    /// The minimum time between the starts of two previews.
    let interval: Duration
    /// The current time. Tests set it.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Calls `body` after a delay, on any thread.
    var call: @Sendable (_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Void = { delay, body in
        let (seconds, attoseconds) = delay.components
        // A preview that is due in an hour never comes.
        let milliseconds = Int(min(seconds, 3600) * 1000 + attoseconds / 1_000_000_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds + 1), execute: body)
    }

    /// Previews take at most a fifth of a processor's time.
    static let costFactor = 4

    /// - Parameter isBlurred: whether previews are blurred. They then come half as often, because a blur costs as much as a
    ///   decode and hides the difference.
    func next(begun: ContinuousClock.Instant, ended: ContinuousClock.Instant, isBlurred: Bool)
        -> ContinuousClock.Instant
    {
        let due = begun + (isBlurred ? interval * 2 : interval)
        return max(due, Self.earliest(begun: begun, ended: ended))
    }

    /// Returns the earliest start by cost alone, which an attempt without a preview has as well.
    static func earliest(begun: ContinuousClock.Instant, ended: ContinuousClock.Instant) -> ContinuousClock.Instant {
        ended + (ended - begun) * costFactor
    }
}
