internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import WebImageIsolation
internal import WebImageService

/// Counts answers, for Prometheus.
final class ServerMetrics: Sendable {
    private struct State {
        var statuses: [Int: Int] = [:]
        var bodyByteCount = 0
        /// By the bounds of times.
        var buckets = [Int](repeating: 0, count: ServerMetrics.bounds.count + 1)
        var seconds = 0.0
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
        let state = state.withLock { $0 }
        var text = ""
        func add(_ name: String, _ type: String, _ help: String, _ values: [(labels: String, value: Double)]) {
            text += "# HELP webimage_\(name) \(help)\n# TYPE webimage_\(name) \(type)\n"
            for (labels, value) in values { text += "webimage_\(name)\(labels) \(Self.number(value))\n" }
        }
        add(
            "requests_total", "counter", "Answers by status.",
            state.statuses.sorted { $0.key < $1.key }.map { ("{status=\"\($0.key)\"}", Double($0.value)) })
        add("sent_bytes_total", "counter", "Bytes of answers' bodies.", [("", Double(state.bodyByteCount))])
        var (total, rows) = (0, [(labels: String, value: Double)]())
        text +=
            "# HELP webimage_request_seconds Time until an answer is there.\n# TYPE webimage_request_seconds histogram\n"
        for (index, count) in state.buckets.enumerated() {
            total += count
            let bound = index < Self.bounds.count ? "\(Self.bounds[index])" : "+Inf"
            rows.append(("_bucket{le=\"\(bound)\"}", Double(total)))
        }
        rows += [("_sum", state.seconds), ("_count", Double(total))]
        for row in rows { text += "webimage_request_seconds\(row.labels) \(Self.number(row.value))\n" }
        add(
            "results_total", "counter", "Results by where they came from.",
            [
                ("{from=\"memory\"}", Double(counters.memoryHits)), ("{from=\"disk\"}", Double(counters.diskHits)),
                ("{from=\"shared\"}", Double(counters.sharedHits)), ("{from=\"made\"}", Double(counters.made)),
                ("{from=\"joined\"}", Double(counters.joined)),
            ])
        add(
            "overloads_total", "counter", "Requests that were refused because too much waited.",
            [("", Double(counters.overloads))])
        add("running", "gauge", "Results that are made now.", [("", Double(counters.running))])
        add("waiting", "gauge", "Results that wait.", [("", Double(counters.waiting))])
        if let count = connectionCount.withLock({ $0 })?() {
            add("connections", "gauge", "Connections.", [("", Double(count))])
        }
        let decoders = configuration.images.isolatedDecoding.blockingStatus.counters
        add(
            "decoder_processes_total", "counter", "Decoder processes that were started.",
            [("", Double(decoders.startedProcessCount))])
        add(
            "decoder_failures_total", "counter", "Decoder processes that failed.",
            [("", Double(decoders.failures.values.reduce(0, +)))])
        if let shared = configuration.shared?.counters {
            for (name, value) in [
                ("hits", shared.hits), ("misses", shared.misses), ("failures", shared.failures),
                ("writes", shared.writes),
                ("dropped_writes", shared.droppedWrites), ("shared_loads", shared.sharedLoads),
                ("abandoned_waits", shared.abandonedWaits), ("invalid_objects", shared.invalidObjects),
                ("interruptions", shared.interruptions),
            ] { add("shared_\(name)_total", "counter", "Of the cache that servers share.", [("", Double(value))]) }
            add(
                "shared_interrupted", "gauge", "Whether that cache is not used now.",
                [("", shared.isInterrupted ? 1 : 0)])
        }
        add("resident_bytes", "gauge", "Memory of the process.", [("", Double(Self.residentByteCount))])
        return text
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
