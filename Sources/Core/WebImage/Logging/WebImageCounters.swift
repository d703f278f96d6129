import WebImageCore

/// The counts of a manager's work since it was created, and of loads in progress; see ``WebImageManager/counters``.
public struct WebImageCounters: Sendable, Hashable {
    /// The name of the manager's cache (``ImageCache/Configuration/name``).
    public package(set) var cacheName: String?
    /// Requested loads.
    public package(set) var requests = 0
    /// Loads that memory answered.
    public package(set) var memoryHits = 0
    /// Loads whose image or bytes came from the disk.
    public package(set) var diskHits = 0
    /// Loads whose bytes came from a loader.
    public package(set) var loads = 0
    /// Loads whose image was made from a larger one in memory. They do not count as ``memoryHits``.
    public package(set) var reusedVariants = 0
    /// Failed loads.
    public package(set) var failures = 0
    /// Cancelled loads. Each load that has ended counts as one of these, as a failure, or under the origin of its
    /// image.
    public package(set) var cancellations = 0
    /// Previews of files that had not arrived completely.
    public package(set) var previews = 0

    /// Loads in progress now.
    public package(set) var running = 0
    /// Loads that wait now, because the manager is suspended.
    public package(set) var suspended = 0
    /// Images being made now. Joined loads count once.
    public package(set) var imagesInProgress = 0
    /// Files being read or loaded now.
    public package(set) var filesInProgress = 0
    /// Pieces of work that wait for a decoding thread now, of all managers.
    public package(set) var decodingQueueDepth = 0
    /// Bytes in memory that wait to be decoded now.
    public package(set) var undecodedByteCount = 0

    /// The fraction of successful loads that needed no loader; `nil` before the first.
    public var hitRate: Double? {
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
            }
        }
    }
}
