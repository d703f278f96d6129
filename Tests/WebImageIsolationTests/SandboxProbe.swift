import CIsolationHost
import CWebImageIsolation
import Glibc
import Testing

@testable import WebImageIsolation

/// The program `Tests/SandboxProbe`: a process that is started and supervised as a decoder is, and does what a test says.
final class SandboxProbe {
    private(set) var process = cwi_decoder_process()
    /// What the program gave the process: lines of a name and values.
    private(set) var inheritance: [String: [String]] = [:]
    /// The layers that the process says hold.
    private(set) var layers: Set<SandboxLayer> = []
    /// Why the others do not.
    private(set) var errors: [SandboxLayer: Int32] = [:]

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// What the kernel gives where the tests run: in a chroot it makes no user namespace, and exchanges no root that is a folder.
    static let hasUserNamespaces = host_has_user_namespaces()
    static let rootIsMount = host_root_is_mount()

    /// The situation without `/proc`, which is unmounted for one process where the root is a mount.
    static let withoutProc = rootIsMount ? ["no-proc"] : []

    /// Starts a process in some situations, which enters its sandbox.
    init(_ situations: String = "plain") throws {
        let path = try #require(IsolatedDecoding.Configuration(decoder: "SandboxProbe").path)
        try #require(cwi_decoder_start(path, "", &process) == 0)
        for line in try lines("start \(situations)") { inheritance[line[0]] = Array(line.dropFirst()) }
        let layers = SandboxLayer.allCases
        for line in try lines("enter") {
            let (layer, error) = (layers[try #require(Int(line[0]))], Int32(line[1]) ?? -1)
            if error == 0 { self.layers.insert(layer) } else { errors[layer] = error }
        }
    }

    deinit { _ = cwi_decoder_end(&process, 0) }

    /// The process as this one sees it: the one that the supervisor supervises.
    func innerPid() throws -> Int {
        let text = try Self.contents("/proc/\(process.pid)/task/\(process.pid)/children")
        return try #require(text.split(separator: " ").first.flatMap { Int($0) }, "\(text)")
    }

    func send(_ command: String) throws {
        let bytes = Array(command.utf8)
        guard cwi_channel_send(process.channel, bytes, bytes.count, nil, 0) == CWI_CHANNEL_OK else {
            throw Failure(description: "\(command) cannot be sent")
        }
    }

    /// Waits for a reply; `nil` if the process has ended.
    func receive() throws -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(CWI_MAXIMUM_MESSAGE))
        var (length, count) = (0, 0)
        var descriptors = [Int32](repeating: -1, count: 2)
        switch cwi_channel_receive(process.channel, &bytes, bytes.count, &length, &descriptors, &count, 60_000) {
        case CWI_CHANNEL_OK: return String(decoding: bytes[..<length], as: UTF8.self)
        case CWI_CHANNEL_CLOSED: return nil
        default: throw Failure(description: "no reply")
        }
    }

    /// Sends a command and returns the words of its lines.
    func lines(_ command: String) throws -> [[String]] {
        try send(command)
        guard let text = try receive() else { throw Failure(description: "\(command) has ended the process: \(end())") }
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }

    func limit(memoryByteCount: UInt64 = .max, processorSeconds: UInt64 = .max) -> Bool {
        cwi_decoder_limit(&process, memoryByteCount, processorSeconds, 60_000)
    }

    func lowerPriority() { cwi_decoder_lower_priority(&process) }

    func end(milliseconds: Int32 = 0) -> cwi_exit { cwi_decoder_end(&process, milliseconds) }

    static func contents(_ path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(description: "\(path) cannot be opened: \(errno)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var text: [UInt8] = []
        while case let count = read(descriptor, &bytes, bytes.count), count > 0 { text += bytes[..<count] }
        return String(decoding: text, as: UTF8.self)
    }
}
