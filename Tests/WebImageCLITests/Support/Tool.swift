import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// The built `webimage`, run with its own home directory.
final class Tool: Sendable {
    /// Holds the user's cache and whatever the test puts there.
    let directory: TemporaryDirectory

    /// All commands, in the order of the manual page.
    static let commands = [
        "get", "file", "info", "convert", "compare", "hash", "sheet", "animate", "thumbnail", "cache", "help",
    ]

    init() throws { directory = try TemporaryDirectory() }

    /// A path in ``directory``.
    func path(_ name: String) -> String { directory.path(name) }

    /// Runs it until it exits.
    func run(_ arguments: String...) async throws -> ToolRun { try await run(arguments) }

    /// Runs it until it exits.
    func run(_ arguments: [String]) async throws -> ToolRun { try await start(arguments).wait() }

    /// Runs it until it exits, with a file as standard input.
    func run(_ arguments: String..., input: String) async throws -> ToolRun {
        guard let handle = FileHandle(forReadingAtPath: input) else { throw ToolError("\(input) cannot be read") }
        return try await start(arguments, input: handle).wait()
    }

    /// Starts it.
    ///
    /// - Parameters:
    ///   - input: standard input; nothing by default.
    ///   - output: in place of the file that ``ToolRun/output`` is read from.
    func start(_ arguments: [String], input: FileHandle? = nil, output: FileHandle? = nil) throws -> RunningTool {
        try RunningTool(
            arguments, home: directory.path, workingDirectory: directory.path, input: input, output: output)
    }

    /// Runs another program in ``directory`` until it exits.
    func run(program command: [String]) async throws -> ToolRun {
        try await RunningTool(command: command, home: directory.path, workingDirectory: directory.path).wait()
    }

    /// Runs a script of bash in ``directory`` until it exits. `$tool` is the tool.
    ///
    /// Arguments of Foundation's processes are UTF-8; those of a script can be any bytes, such as `$'\xff'`.
    func run(script: String) async throws -> ToolRun {
        try await run(program: ["/bin/bash", "-c", "tool=$1\n" + script, "bash", RunningTool.program.path])
    }

    /// Runs it as a user who owns nothing until it exits; see ``canBeAStranger``.
    func run(asStranger arguments: [String]) async throws -> ToolRun {
        guard geteuid() == 0 else { return try await run(arguments) }
        let tool = try RunningTool(
            arguments, launcher: Self.strangersLauncher, home: directory.path, workingDirectory: "/")
        return try await tool.wait()
    }

    private static let strangersLauncher = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    /// Whether the tool can run as a user who owns nothing: the rights may be missing, or the folder of the tool be closed.
    static let canBeAStranger = geteuid() != 0 || exits(strangersLauncher + [RunningTool.program.path, "--version"])

    /// Runs it under strace until it exits. The trace contains the network calls of all threads.
    func runTracingNetwork(_ arguments: String...) async throws -> (run: ToolRun, trace: String) {
        let log = path("strace.txt")
        let strace = ["/usr/bin/strace", "-f", "-e", "trace=network", "-o", log]
        let tool = try RunningTool(
            arguments, launcher: strace, home: directory.path, workingDirectory: directory.path)
        let run = try await tool.wait()
        return (run, String(decoding: try Data(contentsOf: directory.url("strace.txt")), as: UTF8.self))
    }

    /// Whether strace is installed and may trace other processes.
    static let canTrace = exits(["/usr/bin/strace", "-o", "/dev/null", "/bin/true"])

    /// Runs a program, and returns whether its status is 0.
    private static func exits(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// The trait of tests that need formats of libraries, with which the tool may be built.
    static func canWrite(_ formats: ImageFormat...) -> ConditionTrait {
        .enabled(
            if: formats.allSatisfy { CodecRegistry.shared.canEncode($0) },
            "needs \(formats.map(\.name).joined(separator: " and "))")
    }

    /// Writes a file into ``directory`` and returns its path.
    func write(_ data: Data, to name: String) throws -> String {
        try directory.write(data, to: name)
        return path(name)
    }

    func contents(of name: String) throws -> Data { try Data(contentsOf: directory.url(name)) }

    /// The names in a directory, sorted; empty if it does not exist.
    func names(in name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path(name))) ?? []).sorted()
    }
}

/// The result of a run.
struct ToolRun: Sendable {
    let status: Int32
    let output: String
    /// ``output`` as bytes.
    let outputData: Data
    let errors: String
    /// ``errors`` as bytes.
    let errorData: Data

    /// The lines of standard output, each a JSON object.
    func objects<Object: Decodable>(_ type: Object.Type) throws -> [Object] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
    }

    /// The only line of standard output.
    func object<Object: Decodable>(_ type: Object.Type) throws -> Object {
        let objects = try objects(type)
        guard let first = objects.first, objects.count == 1 else { throw ToolError("not one line: \(output)\(errors)") }
        return first
    }
}

struct ToolError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A process of the tool.
final class RunningTool: Sendable {
    private let process: ProcessBox
    private let ended = Countdown()
    private let scratch: TemporaryDirectory

    // `@unchecked`: the process is set up before it is shared, and then only asked or signalled.
    private final class ProcessBox: @unchecked Sendable {
        let process = Process()
    }

    /// - Parameters:
    ///   - launcher: a program, with its arguments, that runs the tool.
    ///   - input: standard input; nothing by default.
    ///   - output: in place of a file that is read at the end.
    convenience init(
        _ arguments: [String], launcher: [String] = [], home: String, workingDirectory: String,
        input: FileHandle? = nil, output: FileHandle? = nil
    ) throws {
        try self.init(
            command: launcher + [Self.program.path] + arguments, home: home, workingDirectory: workingDirectory,
            input: input, output: output)
    }

    /// - Parameter command: the path of a program, and its arguments.
    init(
        command: [String], home: String, workingDirectory: String, input: FileHandle? = nil, output: FileHandle? = nil
    ) throws {
        scratch = try TemporaryDirectory()
        process = ProcessBox()
        let process = process.process
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = URL(filePath: workingDirectory)
        var environment = ["HOME": home, "XDG_CACHE_HOME": home + "/cache-home", "PATH": "/usr/bin:/bin"]
        environment["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
        process.environment = environment
        process.standardInput = input ?? FileHandle.nullDevice
        let ownOutput = try Self.create(scratch.path("output"))
        process.standardOutput = output ?? ownOutput
        let ownErrors = try Self.create(scratch.path("errors"))
        process.standardError = ownErrors
        process.terminationHandler = { [ended] _ in ended.signal() }
        try process.run()
        // Foundation keeps the process and its handles. After a thousand runs, servers would get descriptors that `select` refuses.
        try ownOutput.close()
        try ownErrors.close()
    }

    var processIdentifier: Int32 { process.process.processIdentifier }

    func interrupt() { process.process.interrupt() }

    func wait() async throws -> ToolRun {
        do {
            try await ended.wait(atMost: .seconds(60))
        } catch {
            process.process.terminate()
            throw error
        }
        let process = process.process
        let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        let output = try Data(contentsOf: scratch.url("output"))
        let errors = try Data(contentsOf: scratch.url("errors"))
        return ToolRun(
            status: status, output: String(decoding: output, as: UTF8.self), outputData: output,
            errors: String(decoding: errors, as: UTF8.self), errorData: errors)
    }

    private static func create(_ path: String) throws -> FileHandle {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw ToolError("\(path) cannot be written") }
        return handle
    }

    /// Whether `webimage-decoder` is where programs find it that have none beside them.
    static let isDecoderInstalled = ["/usr/local/libexec/webimage", "/usr/libexec/webimage"].contains {
        FileManager.default.fileExists(atPath: "\($0)/webimage-decoder")
    }

    /// Beside the test program.
    static var program: URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(
            path: "webimage")
    }
}
