/// The urgency of a load, compared with others that wait for the same slot, thread or disk.
///
/// Priorities order queues; they never interrupt work that has started. Work shared by several requests runs at the
/// highest priority among them.
public enum LoadPriority: Int, Sendable, Comparable, CaseIterable, Codable {
    /// Work whose result is not needed yet.
    case veryLow
    /// Prefetching, and images outside the visible part of a list.
    case low
    /// The default.
    case normal
    /// Images on screen.
    case high
    /// Images that the user has just asked for.
    case veryHigh

    /// Compares the urgency.
    public static func < (first: LoadPriority, second: LoadPriority) -> Bool { first.rawValue < second.rawValue }
}
