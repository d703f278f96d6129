import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// The source of a load's answer.
enum LoadSource: String, CaseIterable, Sendable {
    case memory, disk, network
    /// A file, or an image that the program makes.
    case file
    case failed

    /// - Parameter origin: where the image came from.
    init(_ origin: ImageOrigin, of url: URL) {
        switch origin {
        case .memoryCacheFast, .memoryCache: self = .memory
        case .diskCache: self = .disk
        case .remote: self = url.isOnServer ? .network : .file
        }
    }
}

extension URL {
    /// Whether its image comes from a server.
    var isOnServer: Bool { ["http", "https"].contains(scheme?.lowercased()) }
}

/// A load that has ended, for the inspector.
struct LoadRecord: Sendable {
    let url: URL
    /// When the load started and ended.
    let start, date: Date
    let policy: CachePolicy
    let cacheKey: ImageCacheKey
    let source: LoadSource
    let error: WebImageError?
    let metrics: LoaderMetrics?
    let attempts: [LoadAttempt]
    /// The size of the image that was delivered, in pixels.
    let size: PixelSize?
    /// Whether that is smaller than the image of the file.
    let isReduced: Bool
    /// Whether the file is incomplete or damaged, so that only a part of it was delivered.
    let isIncomplete: Bool
    let format: ImageFormat?
    /// The size of the file in bytes; 0 for images from memory.
    let byteCount: Int
    /// Reads the trace. The operation itself would hold its image.
    private let reader: LoadTraceReader

    init(_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) {
        (url, date) = (operation.request.url, Date())
        (policy, cacheKey) = (operation.request.cachePolicy, operation.cacheKey)
        (reader, attempts) = (operation.traceReader, operation.attempts)
        start = date - operation.elapsed / .seconds(1)
        switch result {
        case .success(let response):
            (source, error) = (LoadSource(response.origin, of: operation.request.url), nil)
            metrics = response.metrics
            (size, format) = (
                response.info?.size ?? response.image.pixels.size, response.info?.format ?? response.image.format
            )
            isReduced = response.info == nil && response.image.isThumbnail
            isIncomplete = response.info == nil && response.image.isPartial
            byteCount = response.data?.count ?? 0
        case .failure(let error):
            (source, self.error, metrics, size, format, byteCount) = (.failed, error, nil, nil, nil, 0)
            (isReduced, isIncomplete) = (false, false)
        }
    }

    /// The events of the load, stage by stage.
    var trace: LoadTrace { reader.trace }

    /// The transfers from servers, also of a failed load.
    var transfers: [LoadTransfer] { reader.transfers }

    /// The time in seconds that was spent in a stage.
    func duration(of stage: LoadTrace.Stage) -> Double {
        reader.duration(of: stage) / .seconds(1)
    }
}

/// The loads that have ended lately, newest last. Cancelled loads are left out.
///
///     load ends ──────────────► record ─┬─► records, for the inspector
///     view answered by memory ──────────┴─► samples, for the statistics
@MainActor final class LoadLog {
    /// Adds loads from any thread.
    let writer = Writer()
    /// Called once for each group of changes, on the main thread.
    private var observers: [@MainActor () -> Void] = []

    init() { writer.onChange.withLock { $0 = { [weak self] in self?.notify() } } }

    /// The oldest records are dropped beyond this number.
    nonisolated static let limit = 2_000
    /// The oldest samples are dropped beyond this number.
    nonisolated static let sampleLimit = 600

    func observe(_ body: @escaping @MainActor () -> Void) { observers.append(body) }

    /// All records, oldest first.
    var records: [LoadRecord] { writer.entries.withLock { $0.records.values } }

    /// The loads for the statistics, oldest first. Unlike ``records``, they contain those that memory answered at once.
    var samples: [LoadSample] { writer.entries.withLock { $0.samples.values } }

    /// The URLs whose newest load has failed.
    var failedURLs: Set<URL> { writer.entries.withLock { $0.failedURLs } }

    /// Forgets the failures of other URLs, which a new collection does not need.
    func forgetFailures(except isKept: (URL) -> Bool) {
        writer.entries.withLock { entries in
            if !entries.failedURLs.isEmpty { entries.failedURLs = entries.failedURLs.filter(isKept) }
        }
    }

    /// Returns the newest record of a URL.
    func record(of url: URL) -> LoadRecord? { writer.entries.withLock { $0.records.values.last { $0.url == url } } }

    private func notify() { for observer in observers { observer() } }

    fileprivate struct Entries: Sendable {
        var records = Latest<LoadRecord>(limit: LoadLog.limit)
        var samples = Latest<LoadSample>(limit: LoadLog.sampleLimit)
        var failedURLs: Set<URL> = []
    }

    final class Writer: Sendable {
        fileprivate let entries = LockedBox(Entries())
        fileprivate let onChange = LockedBox<(@MainActor () -> Void)?>(nil)
        private let isNotifying = LockedBox(false)

        /// Notes the end of an operation.
        func note(_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) {
            if case .failure(.cancelled) = result { return }
            // Such a request only reads the header of a cached file.
            if operation.request.cachePolicy == .cacheOnly, operation.request.options.contains(.ignoreDecoding) {
                return
            }
            // The image is on display, in less detail.
            if operation.request.decodedByteLimit != nil, case .failure(.limitExceeded) = result { return }
            let record = LoadRecord(operation, result)
            let sample = LoadSample(record)
            entries.withLock { entries in
                entries.records.append(record)
                entries.samples.append(sample)
                if record.error != nil {
                    entries.failedURLs.insert(record.url)
                } else {
                    entries.failedURLs.remove(record.url)
                }
            }
            notify()
        }

        /// Notes an image that a view got at once.
        func note(_ response: WebImageResponse) {
            let sample = LoadSample(
                source: LoadSource(response.origin, of: response.url), isOnServer: response.url.isOnServer,
                date: Date(),
                format: response.image.format?.title)
            entries.withLock { $0.samples.append(sample) }
            notify()
        }

        private func notify() {
            let isFirst = isNotifying.withLock { isNotifying in
                defer { isNotifying = true }
                return !isNotifying
            }
            guard isFirst else { return }
            MainLoop.callbackQueue.enqueue { [self] in
                isNotifying.withLock { $0 = false }
                MainActor.assumeIsolated { onChange.withLock { $0 }?() }
            }
        }
    }
}

/// The last values that were added.
private struct Latest<Value: Sendable>: Sendable {
    let limit: Int
    private(set) var values: [Value] = []

    init(limit: Int) { self.limit = limit }

    mutating func append(_ value: Value) {
        values.append(value)
        // In steps, so that a full list costs nothing per value.
        if values.count > limit + 256 { values.removeFirst(values.count - limit) }
    }
}
