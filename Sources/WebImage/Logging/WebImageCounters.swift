import WebImageCore

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
    /// Cancelled loads. Each load that has ended counts as one of these, as a failure, or under the origin of its
    /// image.
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

/// The counters that the pipelines of a manager share.
final class PipelineCounters: Sendable {
    private let counts = Lock(WebImageCounters())

    var current: WebImageCounters { counts.withLock { $0 } }

    func change(_ body: (inout WebImageCounters) -> Void) { counts.withLock { body(&$0) } }
}

extension WebImageCounters {
    /// Counts a result as it is delivered. If a cancellation came first, that is the result.
    mutating func count(_ result: Result<WebImageResponse, WebImageError>) {
        switch result {
        case .failure(.cancelled): cancellations += 1
        case .failure: failures += 1
        case .success(let response):
            switch response.origin {
            case .memoryCache where response.isReduced: reusedVariants += 1
            case .memoryCache, .memoryCacheFast: memoryHits += 1
            case .diskCache: diskHits += 1
            case .remote: loads += 1
            case .none: break
            }
        }
    }
}
