/// What a manager has done since it was created, and what is in progress; see ``WebImageManager/counters``.
public struct WebImageCounters: Sendable, Hashable, Codable {
    /// Requested loads.
    public var requests = 0
    /// Loads that memory answered.
    public var memoryHits = 0
    /// Loads whose image or bytes came from the disk.
    public var diskHits = 0
    /// Loads whose bytes came from a loader.
    public var loads = 0
    /// Loads whose image was made from a larger one in memory. They do not count as ``memoryHits``.
    public var reusedVariants = 0
    /// Failed loads.
    public var failures = 0
    /// Cancelled loads. Each load that has ended counts as one of these, as a failure, or under the origin of its image.
    public var cancellations = 0
    /// Previews of files that had not arrived completely.
    public var previews = 0

    /// Loads in progress now.
    public var running = 0
    /// Loads that wait now, because the manager is suspended.
    public var suspended = 0
    /// Images being made now. Joined loads count once.
    public var picturesUnderWay = 0
    /// Files being read or loaded now.
    public var filesUnderWay = 0
    /// Pieces of work that wait for a decoding thread now, of all managers.
    public var decodingQueueDepth = 0
    /// Bytes in memory that wait to be decoded now.
    public var undecodedByteCount = 0

    /// Creates counters that are all 0.
    public init() {}

    /// The fraction of successful loads that needed no loader; `nil` before the first.
    public var hitRate: Double? {
        let hits = memoryHits + diskHits + reusedVariants
        return hits + loads == 0 ? nil : Double(hits) / Double(hits + loads)
    }
}
