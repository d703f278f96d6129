import FoundationEssentials
import Glibc
import WebImage
import WebImageCore
import WebImageTestSupport

extension IsolationBenchmark {
    /// The memory of a process without work, and of the one outside its namespace of processes, which waits for it.
    func measureMemory() throws {
        let figures = FigureTable(columns: ["an idle process, MiB", "RSS", "PSS", "private", "budget, RSS"])
        let isolation = IsolatedDecoding(configuration: .single)
        let registry = local.isolated(by: .allFormats, in: isolation)
        let others = ChildProcesses.ofThisProcess
        // One small image, then some of each format.
        let samples = try formats.map { try sample(of: $0, byteCount: 100 << 10) }
        for (title, images) in [("after an image", Array(samples.suffix(1))), ("after all formats", samples)] {
            for data in images { _ = try registry.decode(data) }
            figures.section(title)
            guard let outer = ChildProcesses.ofThisProcess.first(where: { !others.contains($0) }) else {
                throw WrongResult(description: "no decoder process")
            }
            let inner = ChildProcesses.of(outer).first
            figures.row(["a decoder"] + ProcessMemory(of: inner ?? outer).cells + ["20"])
            if inner != nil { figures.row(["its parent"] + ProcessMemory(of: outer).cells + [""]) }
        }
    }
}

extension IsolatedDecoding.Configuration {
    fileprivate static var single: Self {
        var configuration = Self()
        configuration.processCount = 1
        return configuration
    }
}

extension ProcessMemory {
    /// RSS, PSS and private memory.
    fileprivate var cells: [String] {
        [residentByteCount, proportionalByteCount, privateByteCount].map { $0.map(Self.mebibytes) ?? "-" }
    }

    static func mebibytes(_ byteCount: Int) -> String { "\((Double(byteCount) / 1_048_576 * 10).rounded() / 10)" }
}
