internal import Synchronization
internal import WebImageCore
internal import WebImageIsolation
internal import WebImageService
internal import WebImageShared

/// Counts answers and times, for Prometheus. Names follow its conventions: base units, `_total` for counters, and no unit for plain amounts.
final class ServerMetrics: Sendable {
    private struct State {
        var statuses: [Int: Int] = [:]
        var bodyByteCount = 0
        var answers = Histogram()
        var stages = [Histogram](repeating: Histogram(), count: ImageService.Stage.allCases.count)
    }

    private let state = Mutex(State())
    private let connectionCount = Mutex<(@Sendable () -> Int)?>(nil)
    private let process = ProcessMetrics()

    /// Sets where the number of connections comes from.
    func count(connections: @escaping @Sendable () -> Int) { connectionCount.withLock { $0 = connections } }

    func note(_ answer: ServiceAnswer, seconds: Double) {
        state.withLock { state in
            state.statuses[answer.status, default: 0] += 1
            state.bodyByteCount += answer.body.count
            state.answers.note(seconds)
        }
    }

    func note(_ stage: ImageService.Stage, seconds: Double) {
        guard let index = ImageService.Stage.allCases.firstIndex(of: stage) else { return }
        state.withLock { $0.stages[index].note(seconds) }
    }

    /// The text format of Prometheus.
    func text(_ counters: ImageService.Counters, _ configuration: ImageService.Configuration) -> String {
        var text = MetricsText()
        text.add(
            "webimage_build_info", .gauge, "The version of the server; always 1.",
            [([("version", LibraryVersion.text)], 1)])
        addAnswers(to: &text)
        Self.add(counters, to: &text)
        if let count = connectionCount.withLock({ $0 })?() {
            text.add("webimage_connections", .gauge, "Open connections of clients.", count)
        }
        let decoders = configuration.images.isolatedDecoding.blockingStatus.counters
        text.add(
            "webimage_decoder_processes_total", .counter, "Decoder processes that were started.",
            decoders.startedProcessCount)
        text.add(
            "webimage_decoder_failures_total", .counter, "Decoder processes that failed.",
            decoders.failures.values.reduce(0, +))
        if let shared = configuration.shared { Self.add(shared.counters, to: &text) }
        process.add(to: &text)
        return text.text
    }

    private func addAnswers(to text: inout MetricsText) {
        let state = state.withLock { $0 }
        text.add(
            "webimage_requests_total", .counter, "Answers by status.",
            state.statuses.sorted { $0.key < $1.key }.map { ([("status", "\($0.key)")], Double($0.value)) })
        text.add("webimage_sent_bytes_total", .counter, "Bytes of the bodies of answers.", state.bodyByteCount)
        text.add(
            "webimage_request_duration_seconds", "Time from the head of a request until its answer is there.",
            [([], state.answers)])
        text.add(
            "webimage_stage_duration_seconds", "Time of a result that was made in each stage.",
            zip(ImageService.Stage.allCases, state.stages).map { ([("stage", $0.rawValue)], $1) })
    }

    private static func add(_ counters: ImageService.Counters, to text: inout MetricsText) {
        let origins = [
            ("memory", counters.memoryHits), ("disk", counters.diskHits), ("shared", counters.sharedHits),
            ("made", counters.made), ("joined", counters.joined),
        ]
        text.add(
            "webimage_results_total", .counter, "Results by where they came from.",
            origins.map { ([("from", $0.0)], Double($0.1)) })
        text.add("webimage_uploads_total", .counter, "Uploads that were stored.", counters.uploads)
        text.add(
            "webimage_overloads_total", .counter, "Requests that were refused because too much waited.",
            counters.overloads)
        text.add("webimage_results_running", .gauge, "Results that are being made.", counters.running)
        text.add("webimage_results_waiting", .gauge, "Results that wait for a place.", counters.waiting)
    }

    private static func add(_ shared: SharedImageCache.Counters, to text: inout MetricsText) {
        let counts = [
            ("hits", "Look-ups that found a response.", shared.hits),
            ("misses", "Look-ups that found none.", shared.misses),
            ("failures", "Look-ups and writes that failed, or took too long.", shared.failures),
            ("writes", "Objects that were written.", shared.writes),
            ("dropped_writes", "Writes that were dropped.", shared.droppedWrites),
            ("shared_loads", "Loads that another machine has made.", shared.sharedLoads),
            ("abandoned_waits", "Waits for another machine that took too long.", shared.abandonedWaits),
            ("invalid_objects", "Objects that were damaged, or of another program or version.", shared.invalidObjects),
            ("interruptions", "How often the store was given up for a while.", shared.interruptions),
        ]
        for (name, help, count) in counts {
            text.add("webimage_shared_\(name)_total", .counter, "Shared cache: \(help)", count)
        }
        text.add(
            "webimage_shared_interrupted", .gauge, "Shared cache: 1 while the store is given up.",
            shared.isInterrupted ? 1 : 0)
    }
}
