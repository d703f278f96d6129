import FoundationEssentials
import Glibc

/// Where a benchmark stores: in memory, and on the disk on which it was built.
struct BenchmarkFileSystem: Sendable {
    let name: String
    private let parent: String

    /// One in memory first; a second that is in memory too is left out.
    static let all: [BenchmarkFileSystem] = {
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "/tmp/program"
        let parents = ["/dev/shm", URL(filePath: program).deletingLastPathComponent().path]
        var systems: [BenchmarkFileSystem] = []
        for parent in parents {
            let name = typeName(parent)
            if access(parent, W_OK) == 0, !systems.contains(where: { $0.name == name }) {
                systems.append(BenchmarkFileSystem(name: name, parent: parent))
            }
        }
        return systems
    }()

    /// Calls `body` with a directory that is deleted afterwards.
    func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
        var template = Array("\(parent)/webimage-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw WrongResult(description: "no directory in \(parent)") }
        let path = template.withUnsafeBufferPointer { String(decoding: $0.dropLast().map(UInt8.init), as: UTF8.self) }
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(path)
    }

    /// As the kernel calls the file system with the longest path that leads there.
    private static func typeName(_ path: String) -> String {
        let table = (try? String(contentsOf: URL(filePath: "/proc/self/mounts"), encoding: .utf8)) ?? ""
        let mounts = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        func leads(_ mount: String) -> Bool { mount == "/" || path == mount || path.hasPrefix(mount + "/") }
        let found = mounts.filter { $0.count > 2 && leads($0[1]) }.max { $0[1].count < $1[1].count }
        return found?[2] ?? "unknown"
    }
}
