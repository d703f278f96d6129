import FoundationEssentials
import Glibc

/// What proc(5) says about a process.
public struct ProcessMemory: Sendable {
    /// `VmRSS`, in bytes.
    public private(set) var residentByteCount = 0
    /// Without the pages of files, such as of programs and libraries: the kernel maps and unmaps those as it likes. In bytes.
    public private(set) var allocatedByteCount = 0
    /// `VmHWM`: the maximum, in bytes.
    public private(set) var peakByteCount = 0
    /// Shared pages count in parts. `nil` if the kernel does not tell, as without privileges.
    public private(set) var proportionalByteCount: Int?
    /// Pages that no other process has. `nil` like ``proportionalByteCount``.
    public private(set) var privateByteCount: Int?

    /// Reads the figures of a process; by default of this one.
    public init(of process: Int32? = nil) {
        let process = process ?? getpid()
        let status = Self.values("/proc/\(process)/status")
        residentByteCount = status["VmRSS"] ?? 0
        allocatedByteCount = (status["RssAnon"] ?? 0) + (status["RssShmem"] ?? 0)
        peakByteCount = status["VmHWM"] ?? 0
        let values = Self.values("/proc/\(process)/smaps_rollup")
        proportionalByteCount = values["Pss"]
        if let clean = values["Private_Clean"], let dirty = values["Private_Dirty"] { privateByteCount = clean + dirty }
    }

    /// Lines such as "VmRSS:  123 kB", in bytes.
    private static func values(_ path: String) -> [String: Int] {
        systemText(path).split(separator: "\n").reduce(into: [:]) { values, line in
            let words = line.split { $0 == ":" || $0 == " " || $0 == "\t" }
            if words.count == 3, words[2] == "kB", let count = Int(words[1]) { values[String(words[0])] = count << 10 }
        }
    }
}

/// The processes that a process has started and not waited for.
public enum ChildProcesses {
    /// Those of this process.
    public static var ofThisProcess: [Int32] { of(getpid()) }

    /// Those of a process, of which any thread may have started them.
    public static func of(_ process: Int32) -> [Int32] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.flatMap { thread in
            systemText("/proc/\(process)/task/\(thread)/children").split(separator: " ").compactMap { Int32($0) }
        }
    }
}

/// Returns what a file of the system says; nothing if it cannot be read. Foundation leaks 4 KiB for each file that is
/// empty.
private func systemText(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 4096)
    while case let count = read(descriptor, &block, block.count), count > 0 { bytes += block[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}
