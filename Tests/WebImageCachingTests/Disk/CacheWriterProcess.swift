import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing

/// The program of Tests/CacheCrashWriter, running; killed when the last reference goes.
final class CacheWriterProcess {
    private var process = pid_t()
    private let input: Int32
    private let output: Int32
    private var isRunning = true
    private var pending: [UInt8] = []

    /// - Parameter arguments: without the program's name.
    init(_ arguments: [String]) throws {
        var inputEnds: [Int32] = [0, 0]
        var outputEnds: [Int32] = [0, 0]
        let areOpen = pipe(&inputEnds) == 0 && pipe(&outputEnds) == 0
        try #require(areOpen)
        for end in inputEnds + outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputEnds[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], STDOUT_FILENO)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            close(inputEnds[0])
            close(outputEnds[1])
        }
        let program = try Self.programPath()
        var strings: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        (input, output) = (inputEnds[1], outputEnds[0])
        let status = posix_spawn(&process, program, &actions, nil, &strings, environ)
        try #require(status == 0)
    }

    /// One that changes the cache.
    ///
    /// - Parameter count: how many changes it makes; 0 for as many as it can until it is killed.
    static func changing(_ directory: String, owner: String, seed: Int, count: Int) throws -> CacheWriterProcess {
        try CacheWriterProcess(["change", directory, owner, "\(seed)", "\(count)"])
    }

    deinit {
        kill()
        close(input)
        close(output)
    }

    /// Beside the test program.
    private static func programPath() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "CacheCrashWriter").path
        try #require(FileManager.default.isExecutableFile(atPath: program), "\(program) is missing")
        return program
    }

    /// Takes records until `count` of them told of a change that is on disk.
    func readRecords(untilDone count: Int, _ receive: (ChangeRecord) -> Void) {
        var remaining = count
        while remaining > 0 {
            guard let record = nextRecord() else {
                Issue.record("the writer ended by itself")
                return
            }
            if record.isDone { remaining -= 1 }
            receive(record)
        }
    }

    /// Takes what it said before it ended.
    func readRest(_ receive: (ChangeRecord) -> Void) {
        while let record = nextRecord() { receive(record) }
    }

    private func nextRecord() -> ChangeRecord? {
        while pending.count < ChangeRecord.byteCount {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = read(output, &buffer, buffer.count)
            guard count > 0 else { return nil }
            pending += buffer[..<count]
        }
        defer { pending.removeFirst(ChangeRecord.byteCount) }
        return ChangeRecord(pending[..<ChangeRecord.byteCount])
    }

    func kill() {
        guard isRunning else { return }
        Glibc.kill(process, SIGKILL)
        waitpid(process, nil, 0)
        isRunning = false
    }

    /// Tells a reader to stop.
    func endInput() {
        // The descriptor stays ours until `deinit`, so that no other file gets its number.
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        dup2(null, input)
        close(null)
    }

    /// Reads until the program is done; its exit status, or -1 when a signal ended it.
    func waitForEnd(_ receive: (ChangeRecord) -> Void = { _ in }) -> Int32 {
        readRest(receive)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isRunning = false
        return status & 0x7F == 0 ? status >> 8 : -1
    }
}
