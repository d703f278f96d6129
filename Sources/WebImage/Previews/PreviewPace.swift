/// Lets one piece of work on previews run at a time, and none before it is due.
struct PreviewPace {
    private var isBusy = false
    private var due: ContinuousClock.Instant?
    private var isWaiting = false

    /// Returns the time until the next preview. If it is zero, the caller starts the preview. Otherwise the caller waits, and
    /// then calls ``endWait()``. `nil` if a preview is being made, or a caller waits already.
    mutating func next(at now: ContinuousClock.Instant) -> Duration? {
        guard !isBusy else { return nil }
        if let due, due > now {
            defer { isWaiting = true }
            return isWaiting ? nil : due - now
        }
        isBusy = true
        return .zero
    }

    mutating func endWait() { isWaiting = false }

    /// - Parameter due: when the next preview may start; `nil` leaves that unchanged.
    mutating func end(due: ContinuousClock.Instant?) {
        isBusy = false
        if let due { self.due = due }
    }
}
