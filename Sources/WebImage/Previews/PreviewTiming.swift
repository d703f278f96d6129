/// When the next preview is due: an interval after the last, and longer where one takes long to make.
struct PreviewTiming: Sendable {
    /// The least time between the beginnings of two.
    let interval: Duration
    /// What time it is; tests have their own.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }

    /// Of a processor's time, previews take a fifth at the most.
    static let costFactor = 4

    /// - Parameter isBlurred: these come half as often: a blur costs as much as a decode, and hides the difference.
    func next(begun: ContinuousClock.Instant, ended: ContinuousClock.Instant, isBlurred: Bool)
        -> ContinuousClock.Instant
    {
        let due = begun + (isBlurred ? interval * 2 : interval)
        return max(due, ended + (ended - begun) * Self.costFactor)
    }
}
