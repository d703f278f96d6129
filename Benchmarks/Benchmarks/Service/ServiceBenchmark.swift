import BenchmarkSupport
import Foundation

extension BenchmarkGroup {
    /// `webimage-server` beside services written in Python, each with clients that wait for thumbnails. `WEBIMAGE_BENCH_PYTHON` names a Python
    /// with pyvips or thumbor, which Debian does not have.
    static let service = BenchmarkGroup(name: "service") { _ in
        let seconds = getenv("QUICK") == nil ? "10" : "2"
        let python = ProcessInfo.processInfo.environment["WEBIMAGE_BENCH_PYTHON"] ?? "/usr/bin/python3"
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "measure.py").path
        let run = try MeasuredProcess.run(
            ["/usr/bin/python3", script, MeasuredProcess.sibling("webimage-server"), seconds, python])
        guard run.status == 0 else { throw WrongResult(description: "the services were not measured") }
        print(run.output, terminator: "")
    }
}
