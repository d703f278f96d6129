import BenchmarkSupport
import FoundationEssentials
import Glibc

/// One way to fetch the workload.
enum Peer: String, CaseIterable {
    case ours = "ours"
    case urlSession = "URLSession"
    case curl = "curl --parallel"
    /// Not a client that keeps what it gets, but how much the server can give.
    case wrk = "wrk (server limit)"
}

/// The workload.
struct Setting {
    let workload: Workload
    let isSecure: Bool
    let connectionCount: Int
    /// Such as `http://127.0.0.1:8080`.
    let baseURL: String
    /// For the clients' own files.
    let directory: String
    /// The authority that has signed the server's certificate, a PEM file.
    let authority: String
}

extension Peer {
    /// How many requests it made, and at what cost; `nil` when it cannot be measured here.
    func measure(_ setting: Setting) throws -> (requestCount: Int, report: ClientReport)? {
        switch self {
        case .ours: try clientReport([MeasuredProcess.sibling("TransportBenchmarks"), "--client"], setting)
        case .urlSession: try urlSessionReport(setting)
        case .curl: try curlReport(setting)
        // It speaks HTTP/1.1 only.
        case .wrk: setting.isSecure ? nil : try wrkReport(setting)
        }
    }

    private func clientReport(
        _ command: [String], _ setting: Setting
    ) throws -> (requestCount: Int, report: ClientReport) {
        let arguments = [setting.baseURL, "\(setting.connectionCount)", "\(setting.workload.count)"]
        let authority = self == .ours && setting.isSecure ? [setting.authority] : []
        let outcome = try MeasuredProcess.run(command + arguments + authority)
        guard outcome.status == 0, let report = ClientReport(line: outcome.output.prefix { $0 != "\n" }) else {
            throw WrongResult(description: "\(rawValue) failed: \(outcome.output.prefix(500))")
        }
        return (setting.workload.count, report)
    }

    /// URLSession trusts the system's file alone: it gets another one, in a name space of its own.
    private func urlSessionReport(_ setting: Setting) throws -> (requestCount: Int, report: ClientReport)? {
        let client = [try MeasuredProcess.sibling("URLSessionClient")]
        guard setting.isSecure else { return try clientReport(client, setting) }
        let unshare = ["unshare", "--mount"] + (geteuid() == 0 ? [] : ["--map-root-user"])
        let mount = "mount --bind '\(setting.authority)' /etc/ssl/certs/ca-certificates.crt"
        let isAllowed = try MeasuredProcess.run(unshare + ["sh", "-c", mount + " 2>/dev/null"]).status == 0
        guard isAllowed else { return nil }
        return try clientReport(unshare + ["sh", "-c", mount + #" && exec "$0" "$@""#] + client, setting)
    }

    private func curlReport(_ setting: Setting) throws -> (requestCount: Int, report: ClientReport) {
        let workload = setting.workload
        let list = setting.directory + "/curl.txt"
        let lines = (0..<workload.count).map {
            "url = \"\(setting.baseURL)\(workload.path(of: $0))\"\noutput = /dev/null\n"
        }
        try Data(lines.joined().utf8).write(to: URL(filePath: list))
        let outcome = try MeasuredProcess.run(
            ["curl", "--disable", "--no-progress-meter", "--fail", "--noproxy", "*", "--parallel"]
                + ["--parallel-max", "\(setting.connectionCount)", "--write-out", "%{size_download}\n"]
                + (setting.isSecure ? ["--http2", "--cacert", setting.authority] : ["--http1.1"])
                + ["--config", list])
        let sizes = outcome.output.split(separator: "\n").compactMap { Int($0) }
        guard outcome.status == 0, sizes.count == workload.count, sizes.reduce(0, +) == workload.byteCount else {
            throw WrongResult(description: "curl fetched \(sizes.count) of \(workload.count) files")
        }
        return (workload.count, outcome.report)
    }

    private func wrkReport(_ setting: Setting) throws -> (requestCount: Int, report: ClientReport) {
        let script = setting.directory + "/wrk.lua"
        let text = """
            local file = -1
            function request()
                file = (file + 1) % \(setting.workload.count)
                return wrk.format("GET", "/" .. file)
            end
            function done(summary)
                local errors = summary.errors
                io.write(string.format("%d %d\\n", summary.requests, summary.duration),
                    errors.connect + errors.read + errors.write + errors.status + errors.timeout, "\\n")
            end
            """
        try Data(text.utf8).write(to: URL(filePath: script))
        var outcome = try MeasuredProcess.run(
            ["wrk", "--threads", "1", "--connections", "\(setting.connectionCount)", "--duration", "1s"]
                + ["--script", script, setting.baseURL])
        let numbers = outcome.output.split(separator: "\n").suffix(2).joined(separator: " ").split(separator: " ")
            .compactMap { Int($0) }
        guard outcome.status == 0, numbers.count == 3, numbers[2] == 0, numbers[0] > 0 else {
            throw WrongResult(description: "wrk failed: \(outcome.output)")
        }
        outcome.report.usage.wall = .microseconds(numbers[1])
        return (numbers[0], outcome.report)
    }
}
