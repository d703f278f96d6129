import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct DiskCacheCrashTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// Every entry is whole, the totals are true, and no file is left over.
    private func verify() async throws {
        let cache = fixture.cache()
        await cache.trim(toSize: .max)
        let entries = await cache.entries()
        for entry in entries {
            let data = try #require(await cache.data(for: entry.key), "\(entry) has no value")
            #expect(data.count == entry.byteCount)
            #expect(CheckedValue.isWhole(data, key: entry.key))
        }
        #expect(await cache.count == entries.count)
        #expect(await cache.totalSize == entries.reduce(0) { $0 + Int64($1.byteCount) })
        #expect(fixture.valueFiles.count == entries.count { $0.place == .file })
        #expect(fixture.reported.isEmpty)
    }

    @Test(.timeLimit(.minutes(2)))
    func everyEntryIsWholeOrAbsentAfterTheWriterIsKilled() async throws {
        var random = SplitMix64(seed: 42)
        for round in 0..<30 as Range<UInt64> {
            let writer = try CrashWriter(directory: fixture.directory, seed: round, count: 0)
            writer.waitForChanges(Int.random(in: 0..<60, using: &random))
            // From here to the signal the writer goes on, so that it dies in the middle of something.
            writer.kill()
            if round % 5 == 4 { try await verify() }
        }
        #expect(await !fixture.cache().entries().isEmpty)
    }

    @Test(.timeLimit(.minutes(2)))
    func twoProcessesWriteToOneDirectory() async throws {
        let writers = try [1, 2].map { try CrashWriter(directory: fixture.directory, seed: $0, count: 300) }
        let cache = fixture.cache(sizeLimit: 2 << 20)
        for number in 0..<300 {
            let key = "key \(number % 60)"
            if let data = await cache.data(for: key) { #expect(CheckedValue.isWhole(data, key: key)) }
            if number % 3 == 0 {
                await cache.storeNow(
                    CheckedValue.make(key: key, seed: 3, byteCount: number * 200), for: key)
            }
        }
        for writer in writers { #expect(writer.waitForEnd() == 0) }
        await cache.flush()
        try await verify()
    }
}

/// The program of Tests/CacheCrashWriter, running.
private final class CrashWriter {
    private var process = pid_t()
    private let output: Int32
    private var isRunning = true

    init(directory: String, seed: UInt64, count: Int) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            close(ends[1])
        }
        let program = try Self.programPath()
        let strings: [String] = [program, directory, "\(seed)", "\(count)"]
        var arguments: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        output = ends[0]
        let status = posix_spawn(&process, program, &actions, nil, &arguments, environ)
        try #require(status == 0)
    }

    deinit {
        kill()
        close(output)
    }

    /// Beside the test program.
    private static func programPath() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "CacheCrashWriter").path
        try #require(FileManager.default.isExecutableFile(atPath: program), "\(program) is missing")
        return program
    }

    /// Returns when that many changes are on disk, at least.
    func waitForChanges(_ count: Int) {
        var buffer = [UInt8](repeating: 0, count: 1)
        for _ in 0..<count {
            guard read(output, &buffer, 1) == 1 else {
                Issue.record("the writer ended by itself")
                return
            }
        }
    }

    func kill() {
        guard isRunning else { return }
        Glibc.kill(process, SIGKILL)
        waitpid(process, nil, 0)
        isRunning = false
    }

    /// Reads until the writer is done; its exit status.
    func waitForEnd() -> Int32 {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while read(output, &buffer, buffer.count) > 0 {}
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isRunning = false
        return status
    }
}
