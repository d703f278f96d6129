/// What a manager has done since it was made, and what waits; see ``WebImageManager/counters``.
public struct WebImageCounters: Sendable, Hashable, Codable {
    /// Loads asked for.
    public var requests = 0
    /// Those that memory answered.
    public var memoryHits = 0
    /// Those whose picture or bytes came from the disk.
    public var diskHits = 0
    /// Those whose bytes came from a loader.
    public var loads = 0
    /// Those whose picture was made of a larger one in memory; they are no ``memoryHits``.
    public var reusedVariants = 0
    /// Those that failed.
    public var failures = 0
    /// Those that were cancelled. Each load that has ended is one of these, a failure, or a picture from one of the places above.
    public var cancellations = 0
    /// Pictures shown before their file was whole.
    public var previews = 0

    /// Loads under way, now.
    public var running = 0
    /// Loads that wait because the manager is suspended, now.
    public var suspended = 0
    /// Pictures being made, now: joined loads count once.
    public var picturesUnderWay = 0
    /// Files being read or fetched, now.
    public var filesUnderWay = 0
    /// Pieces of work that wait for a thread for decoding, of all managers, now.
    public var decodingQueueDepth = 0
    /// Bytes in memory that wait to be decoded, now.
    public var undecodedByteCount = 0

    /// Makes zeros.
    public init() {}

    /// Of all loads that have succeeded, the part that no loader was needed for; `nil` before the first.
    public var hitRate: Double? {
        let hits = memoryHits + diskHits + reusedVariants
        return hits + loads == 0 ? nil : Double(hits) / Double(hits + loads)
    }
}
