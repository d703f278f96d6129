import Foundation
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

/// The built `webimage-server`. It ends with its test at the latest, whatever it does.
final class ServerProcess: Sendable {
    struct Run: Sendable {
        let status: Int32
        let output: String, errors: String
    }

    private let box = ProcessBox()
    private let text = LockBox("")
    /// The first line was printed, or there is none.
    private let line = Countdown()
    /// The process has ended, and all its output was read.
    private let ended = Countdown(2)
    private let scratch: TemporaryDirectory

    // `@unchecked`: the process is set up before it is shared, and then only asked or signalled.
    private final class ProcessBox: @unchecked Sendable {
        let process = Process()
    }

    /// - Parameters:
    ///   - openFileLimit: of the process; the system's by default.
    ///   - controlGroup: the folder of the group that the process joins; that of the tests by default.
    init(
        _ arguments: [String], environment: [String: String] = [:], openFileLimit: Int? = nil,
        controlGroup: String? = nil
    ) throws {
        scratch = try TemporaryDirectory()
        let (process, output) = (box.process, Pipe())
        let limit = openFileLimit.map { "ulimit -n \($0); " } ?? ""
        let entry = controlGroup.map { "echo $$ >'\($0)/cgroup.procs'; " } ?? ""
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", limit + entry + "exec \"$0\" \"$@\"", try Self.executable.path] + arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        let errors = scratch.path("errors")
        try #require(FileManager.default.createFile(atPath: errors, contents: nil))
        process.standardError = FileHandle(forWritingAtPath: errors)
        process.terminationHandler = { [ended] _ in ended.signal() }
        try process.run()
        // A pipe is read to its end, on a thread that may wait for it.
        let descriptor = fcntl(output.fileHandleForReading.fileDescriptor, F_DUPFD_CLOEXEC, 0)
        let isStarted = PlatformThread.start(name: "test-output") { [text, line, ended] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
                let isFirst = text.withLock { text in
                    let hadLine = text.contains("\n")
                    text += String(decoding: buffer[..<count], as: UTF8.self)
                    return !hadLine && text.contains("\n")
                }
                if isFirst { line.signal() }
            }
            close(descriptor)
            line.signal()
            ended.signal()
        }
        try #require(isStarted)
    }

    deinit { if box.process.isRunning { kill(box.process.processIdentifier, SIGKILL) } }

    private static var executable: URL {
        get throws {
            // The programs are beside the tests.
            let url = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appending(path: "webimage-server")
            try #require(FileManager.default.isExecutableFile(atPath: url.path))
            return url
        }
    }

    var identifier: Int32 { box.process.processIdentifier }

    /// Where it listens, as ``RawClient`` takes it.
    var place: String {
        get async throws {
            try await line.wait()
            let words = text.withLock { $0 }.split(separator: "\n").first?.split(separator: " ") ?? []
            return String(try #require(words.last))
        }
    }

    var port: Int {
        get async throws { try #require(Int(try await place.split(separator: ":").last ?? "")) }
    }

    /// Waits until it has ended. One that does not is killed.
    func end() async throws -> Run {
        do {
            try await ended.wait()
        } catch {
            kill(identifier, SIGKILL)
            throw error
        }
        let errors = String(decoding: try Data(contentsOf: scratch.url("errors")), as: UTF8.self)
        let status = box.process.terminationStatus
        return Run(
            status: box.process.terminationReason == .exit ? status : -status, output: text.withLock { $0 },
            errors: errors)
    }

    /// Ends it with SIGTERM.
    func stop() async throws -> Run {
        kill(identifier, SIGTERM)
        return try await end()
    }
}
