/// How urgent a load is, compared with the others that wait for the same slot, thread or disk.
///
/// It orders queues; it never interrupts work that has started. Work that several requests share runs at the highest
/// priority among them.
public enum LoadPriority: Int, Sendable, Comparable, CaseIterable, Codable {
    /// Work nobody waits for yet.
    case veryLow
    /// Prefetching, pictures outside the visible part of a list.
    case low
    /// What a request has unless it says otherwise.
    case normal
    /// Pictures on screen.
    case high
    /// Pictures the user asked for just now.
    case veryHigh

    /// Compares by urgency.
    public static func < (first: LoadPriority, second: LoadPriority) -> Bool { first.rawValue < second.rawValue }
}
