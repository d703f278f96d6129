import Foundation
import Testing
import WebImage
import WebImageService
import WebImageTestSupport

@testable import WebImageServer

/// `/metrics` in the text format of Prometheus, read by its rules.
@Suite(.timeLimit(.minutes(1)))
struct MetricsTests {
    private func exposition(_ metrics: ServerMetrics = ServerMetrics()) throws -> Exposition {
        var configuration = ImageService.Configuration()
        configuration.images.isolation = .libraryFormats
        let counters = try ImageService(configuration).counters
        return try Exposition(metrics.text(counters, configuration))
    }

    @Test func everyMetricFollowsTheConventions() throws {
        let families = try exposition().families
        #expect(families.count > 15)
        for family in families {
            #expect(family.name.hasPrefix("webimage_") || family.name.hasPrefix("process_"), "\(family.name)")
            #expect(family.name.hasSuffix("_total") == (family.kind == "counter"), "\(family.name)")
            #expect(family.help.hasSuffix("."), "\(family.name)")
            // Base units only.
            for unit in ["milliseconds", "_ms", "kilobytes", "_kb", "megabytes", "percent", "_time"] {
                #expect(!family.name.contains(unit) || family.name == "process_start_time_seconds", "\(family.name)")
            }
            #expect(family.kind != "histogram" || family.name.hasSuffix("_duration_seconds"), "\(family.name)")
        }
    }

    @Test func answersAreCountedByStatusAndTime() throws {
        let metrics = ServerMetrics()
        metrics.note(ServiceAnswer(status: 200, headers: [], body: Data(count: 70)), seconds: 0.003)
        metrics.note(ServiceAnswer(status: 200, headers: [], body: Data(count: 30)), seconds: 0.3)
        metrics.note(ServiceAnswer(status: 404, headers: []), seconds: 100)
        let found = try exposition(metrics)
        #expect(found.value("webimage_requests_total", ["status": "200"]) == 2)
        #expect(found.value("webimage_requests_total", ["status": "404"]) == 1)
        #expect(found.value("webimage_sent_bytes_total") == 100)
        let name = "webimage_request_duration_seconds"
        #expect(
            found.value(name + "_bucket", ["le": "0.0025"]) == 0 && found.value(name + "_bucket", ["le": "0.005"]) == 1)
        #expect(found.value(name + "_bucket", ["le": "30"]) == 2 && found.value(name + "_bucket", ["le": "+Inf"]) == 3)
        #expect(found.value(name + "_count") == 3 && abs((found.value(name + "_sum") ?? 0) - 100.303) < 1e-9)
    }

    @Test func eachStageHasAHistogram() throws {
        let metrics = ServerMetrics()
        metrics.note(.decode, seconds: 0.02)
        let found = try exposition(metrics)
        for stage in ImageService.Stage.allCases {
            let count = found.value("webimage_stage_duration_seconds_count", ["stage": stage.rawValue])
            #expect(count == (stage == .decode ? 1 : 0), "\(stage)")
        }
        #expect(ImageService.Stage.allCases.map(\.rawValue) == ["queue", "fetch", "decode", "process", "encode"])
    }

    @Test func labelsAreEscaped() throws {
        var text = MetricsText()
        text.add("a_total", .counter, "One\ntwo \\ three.", [([("b", "a\"b\\c\nd")], 0.5)])
        let found = try Exposition(text.text)
        #expect(found.value("a_total", ["b": "a\"b\\c\nd"]) == 0.5)
        #expect(found.families.first?.help == "One\ntwo \\ three.")
    }

    @Test(arguments: [
        "a 1", "# TYPE a counter\na 1\n", "# HELP a b\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a b\n# TYPE a gauge\n1a 1\n",
        "# HELP a b\n# TYPE a gauge\na x\n", "# HELP a b\n# TYPE a gauge\na{b=c} 1\n",
        "# HELP a b\n# TYPE a gauge\nb 1\n",
        "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
        "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
        "# HELP a b\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n",
    ])
    func theTestsReaderRefusesWhatIsInvalid(text: String) {
        #expect(throws: Exposition.Problem.self) { try Exposition(text) }
    }

    /// The file for Grafana asks for metrics and labels that there are.
    @Test func theDashboardNamesMetricsOfTheServer() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let data = try Data(contentsOf: folder.appending(path: "Packaging/webimage-server-dashboard.json"))
        let dashboard = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let expressions = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }.compactMap {
            $0["expr"] as? String
        }
        #expect(panels.count >= 8 && expressions.count >= panels.count)
        var names: Set<String> = []
        let metrics = ServerMetrics()
        metrics.count { 0 }
        for family in try exposition(metrics).families {
            names.formUnion(
                family.kind == "histogram" ? ["_bucket", "_sum", "_count"].map { family.name + $0 } : [family.name])
        }
        // Those of a shared cache are there with one.
        names.formUnion([
            "webimage_shared_hits_total", "webimage_shared_misses_total", "webimage_shared_failures_total",
        ])
        for expression in expressions {
            let found = expression.matches(of: /(?:webimage|process)_[a-z_]+/).map { String($0.output) }
            #expect(!found.isEmpty && names.isSuperset(of: found), "\(expression)")
        }
        let all = expressions.joined()
        for label in ["status", "from", "stage"] { #expect(all.contains(label), "\(label)") }
    }

    /// The stages of real results.
    @Test func aServerMeasuresItsResults() async throws {
        let directory = try TemporaryDirectory()
        let image = try Image(color: Color(red: 1, green: 0, blue: 0), size: PointSize(width: 64, height: 32))
        try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/a.png")
        let server = try ServerProcess([
            "--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--log-requests=false",
        ])
        let port = try await server.port
        for width in [8, 16, 16] {
            #expect(try await LoopbackRequest.get("/_/w:\(width)/plain/local:///a.png@jpg", port: port).status == 200)
        }
        #expect(try await LoopbackRequest.get("/_/w:8/plain/local:///none.png@jpg", port: port).status == 404)
        let page = try await LoopbackRequest.get("/metrics", port: port)
        let found = try Exposition(String(decoding: page.body, as: UTF8.self))
        let counts = ["queue": 3, "fetch": 3, "decode": 2, "process": 2, "encode": 2]
        for (stage, count) in counts {
            let name = "webimage_stage_duration_seconds"
            #expect(found.value(name + "_count", ["stage": stage]) == Double(count), "\(stage)")
            #expect((found.value(name + "_sum", ["stage": stage]) ?? 0) > 0, "\(stage)")
        }
        #expect((found.value("process_resident_memory_bytes") ?? 0) > 1e6)
        #expect((found.value("process_open_fds") ?? 0) > 3 && (found.value("process_cpu_seconds_total") ?? 0) > 0)
        _ = try await server.stop()
    }
}
