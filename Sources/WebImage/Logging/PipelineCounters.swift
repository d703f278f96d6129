import WebImageCore

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
