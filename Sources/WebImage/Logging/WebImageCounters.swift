/// What a manager has done since it was created, and what is in progress; see ``WebImageManager/counters``.
package struct WebImageCounters: Sendable, Hashable {
    /// Requested loads.
    package var requests = 0
    /// Loads that memory answered.
    package var memoryHits = 0
    /// Loads whose image or bytes came from the disk.
    package var diskHits = 0
    /// Loads whose bytes came from a loader.
    package var loads = 0
    /// Loads whose image was made from a larger one in memory. They do not count as ``memoryHits``.
    package var reusedVariants = 0
    /// Failed loads.
    package var failures = 0
    /// Cancelled loads. Each load that has ended counts as one of these, as a failure, or under the origin of its image.
    package var cancellations = 0
    /// Previews of files that had not arrived completely.
    package var previews = 0

    /// Loads in progress now.
    package var running = 0
    /// Loads that wait now, because the manager is suspended.
    package var suspended = 0
    /// Images being made now. Joined loads count once.
    package var imagesInProgress = 0
    /// Files being read or loaded now.
    package var filesInProgress = 0
    /// Pieces of work that wait for a decoding thread now, of all managers.
    package var decodingQueueDepth = 0
    /// Bytes in memory that wait to be decoded now.
    package var undecodedByteCount = 0

    /// The fraction of successful loads that needed no loader; `nil` before the first.
    package var hitRate: Double? {
        let hits = memoryHits + diskHits + reusedVariants
        return hits + loads == 0 ? nil : Double(hits) / Double(hits + loads)
    }
}
