import FoundationEssentials
import WebImageGTK

/// A load that has ended, for the inspector and the statistics.
struct LoadRecord: Sendable {
    let url: URL
    /// When the load started and ended.
    let start, date: Date
    let policy: CachePolicy
    let cacheKey: ImageCacheKey
    let origin: ImageOrigin
    let error: WebImageError?
    let metrics: LoaderMetrics?
    let attempts: [LoadAttempt]
    /// The size of the image that was delivered, in pixels.
    let size: PixelSize?
    let format: ImageFormat?
    /// The size of the file in bytes; 0 for images from memory.
    let byteCount: Int
    /// What has happened. The operation itself would hold its image.
    private let reader: LoadTraceReader

    init(_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) {
        (url, date) = (operation.request.url, Date())
        (policy, cacheKey) = (operation.request.cachePolicy, operation.cacheKey)
        (reader, attempts) = (operation.traceReader, operation.attempts)
        start = date - operation.elapsedSeconds
        switch result {
        case .success(let response):
            (origin, error) = (response.origin, nil)
            metrics = response.metrics
            (size, format) = (
                response.info?.size ?? response.image.pixels.size, response.info?.format ?? response.image.format
            )
            byteCount = response.data?.count ?? 0
        case .failure(let error):
            (origin, self.error, metrics, size, format, byteCount) = (.none, error, nil, nil, nil, 0)
        }
    }

    /// What happened, stage by stage.
    var trace: LoadTrace { reader.trace }

    /// The transfers from servers, also of a failed load.
    var transfers: [LoadTransfer] { reader.transfers }

    /// The time in seconds that was spent in a stage.
    func duration(of stage: LoadTrace.Stage) -> Double {
        reader.duration(of: stage)
    }

    /// The tier that answered, in a word.
    var originName: String {
        switch origin {
        case .none: "none"
        case .memoryCacheFast, .memoryCache: "memory"
        case .diskCache: "disk"
        case .remote: url.isFileURL ? "file" : "network"
        }
    }
}

/// The loads that have ended lately, newest last. Cancelled loads are left out.
@MainActor final class LoadLog {
    /// Adds records from any thread.
    let writer = Writer()
    /// Called once for each group of changes, on the main thread.
    private var observers: [@MainActor () -> Void] = []

    init() { writer.onChange.withLock { $0 = { [weak self] in self?.notify() } } }

    /// The oldest records are dropped beyond this number.
    nonisolated static let limit = 2_000

    func observe(_ body: @escaping @MainActor () -> Void) { observers.append(body) }

    /// All records, oldest first.
    var records: [LoadRecord] { writer.records.withLock { $0 } }

    /// Returns the newest record of a URL.
    func record(of url: URL) -> LoadRecord? { writer.records.withLock { $0.last { $0.url == url } } }

    private func notify() { for observer in observers { observer() } }

    final class Writer: Sendable {
        fileprivate let records = LockBox<[LoadRecord]>([])
        fileprivate let onChange = LockBox<(@MainActor () -> Void)?>(nil)
        private let isNotifying = LockBox(false)

        func note(_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) {
            if case .failure(.cancelled) = result { return }
            // Such a request only reads the header of a cached file.
            if operation.request.cachePolicy == .cacheOnly, operation.request.options.contains(.ignoreDecoding) {
                return
            }
            let record = LoadRecord(operation, result)
            records.withLock { records in
                records.append(record)
                // In steps, so that a full log costs nothing per load.
                if records.count > LoadLog.limit + 256 { records.removeFirst(records.count - LoadLog.limit) }
            }
            let isFirst = isNotifying.withLock { isNotifying in
                defer { isNotifying = true }
                return !isNotifying
            }
            guard isFirst else { return }
            ApplyQueue.main.enqueue { [self] in
                isNotifying.withLock { $0 = false }
                MainActor.assumeIsolated { onChange.withLock { $0 }?() }
            }
        }
    }
}
