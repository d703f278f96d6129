/// The progress of a body.
struct LoadProgress: Sendable, Equatable {
    /// The number of bytes so far.
    var received: Int64
    /// The total number of bytes; `nil` if unknown.
    var expected: Int64?
    /// The number of the attempt at a loader, from 1. Each attempt starts at 0 bytes.
    var attempt = 1
}

/// The unread progress of one reader: the start, then only the latest.
///
/// A reader always receives (0, expected) first, even if it joined late. Unread progress is replaced, so that a slow
/// reader does not fall behind. Each attempt after the first starts again.
struct ProgressMailbox {
    private var newestReceived: Int64?
    private var attempt = 1
    private var waiting: [LoadProgress] = []

    /// Adds progress. Returns `true` if nothing was waiting, so that the reader must be woken.
    mutating func put(_ progress: LoadProgress) -> Bool {
        // The first progress for a late subscriber may arrive after newer progress from another thread.
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

    /// Removes and returns the oldest progress. At most two wait.
    mutating func take() -> LoadProgress? { waiting.isEmpty ? nil : waiting.removeFirst() }
}
