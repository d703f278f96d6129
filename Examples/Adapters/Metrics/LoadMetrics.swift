// Loads of images in swift-metrics. Copy this file into your program, which needs the product WebImage.

import Metrics
import WebImage

extension WebImageManager.Configuration {
    /// Counts and times the loads. A ``didFinish`` that is set already is called first.
    ///
    /// ```swift
    /// var configuration = WebImageManager.Configuration.server
    /// configuration.measureLoads()
    /// ```
    ///
    /// | metric | kind | dimensions |
    /// |---|---|---|
    /// | `webimage_loads` | counter | `outcome`: `memory`, `disk`, `remote`, `failed`, `cancelled` |
    /// | `webimage_load_duration` | timer | `outcome` |
    /// | `webimage_stage_duration` | timer | `stage`: those of ``LoadTrace/Stage`` that took time |
    /// | `webimage_failures` | counter | `code`: ``WebImageError/code`` |
    /// | `webimage_received_bytes` | counter | |
    ///
    /// A stage that several loads share counts for each of them.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of all names.
    ///   - factory: the factory of the metrics; `nil`, the default, is that of the program.
    mutating func measureLoads(prefix: String = "webimage", factory: (any MetricsFactory)? = nil) {
        let previous = didFinish
        didFinish = { operation, result in
            previous?(operation, result)
            LoadMetrics(prefix: prefix, factory: factory ?? MetricsSystem.factory).record(operation, result)
        }
    }
}

extension WebImageManager {
    /// Records the work in progress as the gauges `webimage_running`, `webimage_files_in_progress`, `webimage_decoding_queue`
    /// and `webimage_undecoded_bytes`. Call it now and then, such as every ten seconds.
    func recordWork(prefix: String = "webimage", factory: (any MetricsFactory)? = nil) {
        let (counters, factory) = (counters, factory ?? MetricsSystem.factory)
        for (name, value) in [
            ("running", counters.running), ("files_in_progress", counters.filesInProgress),
            ("decoding_queue", counters.decodingQueueDepth), ("undecoded_bytes", counters.undecodedByteCount),
        ] {
            Gauge(label: "\(prefix)_\(name)", factory: factory).record(value)
        }
    }
}

/// Records one load. Factories keep their metrics, so making them anew for each load costs a look-up.
private struct LoadMetrics {
    let prefix: String
    let factory: any MetricsFactory

    func record(_ operation: WebImageOperation, _ result: Result<WebImageResponse, WebImageError>) {
        let outcome = [("outcome", Self.outcome(result))]
        counter("loads", outcome).increment()
        timer("load_duration", outcome).recordNanoseconds(Self.nanoseconds(operation.elapsed))
        let trace = operation.traceReader
        for stage in LoadTrace.Stage.allCases {
            let duration = trace.duration(of: stage)
            guard duration > .zero else { continue }
            timer("stage_duration", [("stage", stage.rawValue)]).recordNanoseconds(Self.nanoseconds(duration))
        }
        switch result {
        case .success(let response):
            if let metrics = response.metrics { counter("received_bytes").increment(by: metrics.wireByteCount) }
        case .failure(.cancelled): break
        case .failure(let error): counter("failures", [("code", "\(error.code)")]).increment()
        }
    }

    private static func outcome(_ result: Result<WebImageResponse, WebImageError>) -> String {
        switch result {
        case .success(let response):
            switch response.origin {
            case .memoryCache, .memoryCacheFast: "memory"
            case .diskCache: "disk"
            case .remote: "remote"
            }
        case .failure(.cancelled): "cancelled"
        case .failure: "failed"
        }
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 { Int64(duration / .nanoseconds(1)) }

    private func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
        Counter(label: "\(prefix)_\(name)", dimensions: dimensions, factory: factory)
    }

    private func timer(_ name: String, _ dimensions: [(String, String)]) -> Timer {
        Timer(label: "\(prefix)_\(name)", dimensions: dimensions, factory: factory)
    }
}
