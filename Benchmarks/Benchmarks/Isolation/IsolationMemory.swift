import FoundationEssentials
import Glibc
import WebImage
import WebImageCore
import WebImageTestSupport

extension IsolationBenchmark {
    /// The memory of a process without work, after an image of a format whose library it has loaded, and of the one outside its namespace of
    /// processes, which waits for it.
    func measureMemory() throws {
        let figures = FigureTable(columns: ["an idle process, MiB", "RSS", "PSS", "private", "budget, RSS"])
        let others = ChildProcesses.ofThisProcess
        for format in formats {
            let isolation = IsolatedDecoding(configuration: .single)
            let data = try sample(of: format, byteCount: 100 << 10)
            _ = try local.isolated(by: .allFormats, in: isolation).decode(data)
            figures.section("after an image, \(format.name)")
            guard let outer = ChildProcesses.ofThisProcess.first(where: { !others.contains($0) }) else {
                throw WrongResult(description: "no decoder process")
            }
            let inner = ChildProcesses.of(outer).first
            figures.row(["a decoder"] + ProcessMemory(of: inner ?? outer).cells + ["20"])
            if inner != nil { figures.row(["its parent"] + ProcessMemory(of: outer).cells + [""]) }
            isolation.endIdleProcesses()
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
