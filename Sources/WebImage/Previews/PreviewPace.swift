/// Lets one piece of work on previews run at a time, and none before it is due.
struct PreviewPace {
    private var isBusy = false
    private var due: ContinuousClock.Instant?
    private var isWaiting = false

    /// How long it is until the next: zero for the caller to begin it, else for the caller to wait, and then to say so
    /// (``endWait()``). `nil` while another is busy with it, or waits.
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

    /// - Parameter due: when the next may begin; `nil` leaves it.
    mutating func end(due: ContinuousClock.Instant?) {
        isBusy = false
        if let due { self.due = due }
    }
}
