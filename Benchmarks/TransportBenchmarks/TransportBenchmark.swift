import BenchmarkSupport
import FoundationEssentials
import WebImageTestSupport

extension BenchmarkGroup {
    /// The downloader (budget: 8 times URLSession's requests a second, and 60 µs of processor for a request over plain
    /// HTTP/1.1 at 6 and 32) beside URLSession, `curl --parallel` and wrk, each in a process of its own, on one nginx.
    ///
    /// - Parameter isQuick: a quarter of the files, and one round in place of three.
    static func transport(isQuick: Bool) -> BenchmarkGroup {
        BenchmarkGroup(name: "transport") { _ in
            let workload = Workload(count: isQuick ? 500 : 2000)
            let directory = try TemporaryDirectory()
            for file in 0..<workload.count {
                try directory.write(workload.content(of: file), to: "files" + workload.path(of: file))
            }
            let server = try NGINXServer(
                root: directory.path("files"), certificates: [.valid],
                locations: "location / { access_log off; sendfile on; tcp_nopush on; open_file_cache max=4096; }")
            let authority = try TestCertificates.shared.get().authority

            print(
                "\(workload.count) files, \(workload.byteCount / 1_000_000) MB, nginx on 127.0.0.1; ours against each:")
            var table = FigureTable(
                columns: ["client", "requests/s", "µs CPU/request", "peak RSS", "requests/s ×", "CPU ×"])
            for isSecure in [false, true] {
                let url = isSecure ? try server.secureURL("") : try server.url("")
                for connectionCount in [1, 6, 32] {
                    let setting = Setting(
                        workload: workload, isSecure: isSecure, connectionCount: connectionCount,
                        baseURL: url.absoluteString, directory: directory.path, authority: authority)
                    table.section(
                        (isSecure ? "HTTP/2, TLS" : "HTTP/1.1")
                            + (connectionCount == 1 ? ", 1 at a time" : ", \(connectionCount) at once"))
                    try Comparison(setting, roundCount: isQuick ? 1 : 3).print(on: &table)
                }
            }
        }
    }
}

/// Every peer's medians in one setting.
private struct Comparison {
    struct Figures {
        var requestsPerSecond: Double
        var microsecondsPerRequest: Double
        var peakByteCount: Int
    }

    private var medians: [(peer: Peer, figures: Figures?)] = []

    init(_ setting: Setting, roundCount: Int) throws {
        var rounds: [Peer: [Figures]] = [:]
        // In turns: a busy moment of the machine meets all of them.
        for _ in 0..<roundCount {
            for peer in Peer.allCases {
                guard let (requestCount, report) = try peer.measure(setting) else { continue }
                rounds[peer, default: []].append(
                    Figures(
                        requestsPerSecond: Double(requestCount) / (report.usage.wall / .seconds(1)),
                        microsecondsPerRequest: report.usage.processor / .microseconds(1) / Double(requestCount),
                        peakByteCount: report.peakByteCount))
            }
        }
        medians = Peer.allCases.map { ($0, rounds[$0].map(Self.median)) }
    }

    private static func median(_ figures: [Figures]) -> Figures {
        func middle<Value: Comparable>(_ values: [Value]) -> Value { values.sorted()[values.count / 2] }
        return Figures(
            requestsPerSecond: middle(figures.map(\.requestsPerSecond)),
            microsecondsPerRequest: middle(figures.map(\.microsecondsPerRequest)),
            peakByteCount: middle(figures.map(\.peakByteCount)))
    }

    func print(on table: inout FigureTable) {
        let ours = medians.first { $0.peer == .ours }?.figures
        for (peer, figures) in medians {
            guard let ours, let figures else {
                table.row([peer.rawValue, "-", "-", "-", "-", "-"])
                continue
            }
            table.row([
                peer.rawValue, "\(Int(figures.requestsPerSecond.rounded()))", tenths(figures.microsecondsPerRequest),
                tenths(Double(figures.peakByteCount) / 1_048_576) + " MiB",
                tenths(ours.requestsPerSecond / figures.requestsPerSecond),
                tenths(ours.microsecondsPerRequest / figures.microsecondsPerRequest),
            ])
        }
    }

    private func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
