/// How much of a body has arrived.
struct LoadProgress: Sendable, Equatable {
    /// Bytes so far.
    var received: Int64
    /// Bytes in all, where known.
    var expected: Int64?
}

/// Progress on its way to one reader: the beginning, then only the newest.
///
/// A reader always sees (0, expected) first, also one that joined late, and never falls behind: what it has not read yet
/// is replaced.
struct ProgressMailbox {
    private var newestReceived: Int64?
    private var waiting: [LoadProgress] = []

    /// Adds news; `true` when nothing was waiting, so that the reader must be woken.
    mutating func put(_ progress: LoadProgress) -> Bool {
        // A late joiner's welcome may cross newer news on another thread.
        guard progress.received >= newestReceived ?? 0 else { return false }
        let wakesReader = waiting.isEmpty
        if newestReceived == nil {
            waiting.append(LoadProgress(received: 0, expected: progress.expected))
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
