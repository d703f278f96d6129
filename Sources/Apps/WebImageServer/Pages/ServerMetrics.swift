internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WebImageIsolation
internal import WebImageService
internal import WebImageShared

/// Counts answers, for Prometheus.
final class ServerMetrics: Sendable {
    private struct State {
        var statuses: [Int: Int] = [:]
        var bodyByteCount = 0
        /// By the bounds of times.
        var buckets = [Int](repeating: 0, count: ServerMetrics.bounds.count + 1)
        var seconds = 0.0

        var text: String {
            typealias Value = (labels: String, value: Double)
            let answers = statuses.sorted { $0.key < $1.key }.map { status, count -> Value in
                ("{status=\"\(status)\"}", Double(count))
            }
            var (total, times) = (0, [Value]())
            for (index, count) in buckets.enumerated() {
                total += count
                let bound = index < ServerMetrics.bounds.count ? "\(ServerMetrics.bounds[index])" : "+Inf"
                times.append(("_bucket{le=\"\(bound)\"}", Double(total)))
            }
            times += [("_sum", seconds), ("_count", Double(total))]
            return ServerMetrics.metric("requests_total", "counter", "Answers by status.", answers)
                + ServerMetrics.metric("sent_bytes_total", "counter", "Bytes of answers' bodies.", bodyByteCount)
                + ServerMetrics.metric("request_seconds", "histogram", "Time until an answer is there.", times)
        }
    }

    /// In seconds.
    fileprivate static let bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    private let state = Mutex(State())
    private let connectionCount = Mutex<(@Sendable () -> Int)?>(nil)

    /// Sets where the number of connections comes from.
    func count(connections: @escaping @Sendable () -> Int) { connectionCount.withLock { $0 = connections } }

    func note(_ answer: ServiceAnswer, seconds: Double) {
        state.withLock { state in
            state.statuses[answer.status, default: 0] += 1
            state.bodyByteCount += answer.body.count
            state.buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
            state.seconds += seconds
        }
    }

    /// The text format of Prometheus.
    func text(_ counters: ImageService.Counters, _ configuration: ImageService.Configuration) -> String {
        var text = state.withLock { $0 }.text
        text += Self.metric(
            "results_total", "counter", "Results by where they came from.",
            [
                ("{from=\"memory\"}", Double(counters.memoryHits)), ("{from=\"disk\"}", Double(counters.diskHits)),
                ("{from=\"shared\"}", Double(counters.sharedHits)), ("{from=\"made\"}", Double(counters.made)),
                ("{from=\"joined\"}", Double(counters.joined)),
            ])
        text += Self.metric(
            "overloads_total", "counter", "Requests that were refused because too much waited.", counters.overloads)
        text += Self.metric("running", "gauge", "Results that are made now.", counters.running)
        text += Self.metric("waiting", "gauge", "Results that wait.", counters.waiting)
        if let count = connectionCount.withLock({ $0 })?() {
            text += Self.metric("connections", "gauge", "Connections.", count)
        }
        let decoders = configuration.images.isolatedDecoding.blockingStatus.counters
        text += Self.metric(
            "decoder_processes_total", "counter", "Decoder processes that were started.", decoders.startedProcessCount)
        text += Self.metric(
            "decoder_failures_total", "counter", "Decoder processes that failed.",
            decoders.failures.values.reduce(0, +))
        text += configuration.shared.map { Self.metrics(of: $0.counters) } ?? ""
        return text + Self.metric("resident_bytes", "gauge", "Memory of the process.", Self.residentByteCount)
    }

    private static func metrics(of shared: SharedImageCache.Counters) -> String {
        let counts = [
            ("hits", shared.hits), ("misses", shared.misses), ("failures", shared.failures), ("writes", shared.writes),
            ("dropped_writes", shared.droppedWrites), ("shared_loads", shared.sharedLoads),
            ("abandoned_waits", shared.abandonedWaits), ("invalid_objects", shared.invalidObjects),
            ("interruptions", shared.interruptions),
        ]
        return counts.map { name, count in
            metric("shared_\(name)_total", "counter", "Of the cache that servers share.", count)
        }.joined()
            + metric("shared_interrupted", "gauge", "Whether that cache is not used now.", shared.isInterrupted ? 1 : 0)
    }

    private static func metric(_ name: String, _ type: String, _ help: String, _ value: Int) -> String {
        metric(name, type, help, [("", Double(value))])
    }

    private static func metric(
        _ name: String, _ type: String, _ help: String, _ values: [(labels: String, value: Double)]
    ) -> String {
        let lines = values.map { labels, value in "webimage_\(name)\(labels) \(number(value))\n" }
        return "# HELP webimage_\(name) \(help)\n# TYPE webimage_\(name) \(type)\n" + lines.joined()
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }

    private static var residentByteCount: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
    }
}
