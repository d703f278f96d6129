/// How much of a body has arrived.
struct LoadProgress: Sendable, Equatable {
    /// Bytes so far.
    var received: Int64
    /// Bytes in all, where known.
    var expected: Int64?
    /// Which attempt at a loader brings them; a new one begins at 0.
    var attempt = 1
}

/// Progress on its way to one reader: the beginning, then only the newest.
///
/// A reader always sees (0, expected) first, also one that joined late, and never falls behind: what it has not read yet
/// is replaced. Each attempt after the first begins anew.
struct ProgressMailbox {
    private var newestReceived: Int64?
    private var attempt = 1
    private var waiting: [LoadProgress] = []

    /// Adds news; `true` when nothing was waiting, so that the reader must be woken.
    mutating func put(_ progress: LoadProgress) -> Bool {
        // A late joiner's welcome may cross newer news on another thread.
        guard progress.attempt >= attempt else { return false }
        let wakesReader = waiting.isEmpty
        if progress.attempt > attempt {
            attempt = progress.attempt
            (newestReceived, waiting) = (nil, [])
        }
        guard progress.received >= newestReceived ?? 0 else { return false }
        if newestReceived == nil {
            waiting.append(LoadProgress(received: 0, expected: progress.expected, attempt: attempt))
            if progress.received > 0 { waiting.append(progress) }
        } else if let last = waiting.last, last.received > 0 {
            waiting[waiting.count - 1] = progress
        } else {
            waiting.append(progress)
        }
        newestReceived = progress.received
        return wakesReader
    }

    /// Takes the oldest news; there are never more than two.
    mutating func take() -> LoadProgress? { waiting.isEmpty ? nil : waiting.removeFirst() }
}
