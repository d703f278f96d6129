import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct BodyCollectorTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func collector(
        memoryByteLimit: Int, in path: String? = nil, backlog: SpoolBacklog = SpoolBacklog()
    ) -> BodyCollector {
        let url = URL(filePath: path ?? directory.path, directoryHint: .isDirectory)
        return BodyCollector(
            BodyStorage(memoryByteLimit: memoryByteLimit, temporaryDirectory: url), backlog: backlog)
    }

    private func end(_ collector: BodyCollector) async -> Result<Data, WebImageError> {
        await withCheckedContinuation { continuation in collector.end { continuation.resume(returning: $0) } }
    }

    private func response(_ expected: Int64?) throws -> LoaderResponse {
        LoaderResponse(url: try #require(URL(string: "http://h/")), expectedByteCount: expected)
    }

    /// Below, at and above the limit, with a length that is known, unknown, and wrong either way.
    @Test(arguments: [0, 1, 99_999, 100_000, 100_001, 500_000], [nil, 0, 100_000, 500_000, 1 << 50] as [Int64?])
    func returnsTheCollectedBytes(size: Int, expected: Int64?) async throws {
        let collector = collector(memoryByteLimit: 100_000)
        try collector.begin(response(expected))
        let body = FaultServer.pattern(size)
        for start in stride(from: 0, to: size, by: 7000) { collector.append(body[start..<min(start + 7000, size)]) }
        #expect(collector.byteCount == size)
        #expect(try await end(collector).get() == body)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty, "the file has no name")
    }

    /// More than the address space holds.
    @Test func noMemoryIsAllocatedForAnAnnouncedLength() async throws {
        let collector = collector(memoryByteLimit: .max)
        try collector.begin(response(1 << 60))
        collector.append(Data([1, 2, 3]))
        #expect(!collector.isInFile)
        #expect(try await end(collector).get() == Data([1, 2, 3]))
    }

    @Test func exposesTheFirstBytesWhileMoreArrive() {
        let collector = collector(memoryByteLimit: 1 << 20)
        let body = FaultServer.pattern(200_000)
        collector.append(body[..<1000])
        let early = collector.prefix(1000)
        collector.append(body[1000...])
        #expect(early == body[..<1000])
        #expect(collector.prefix(50_000) == body[..<50_000])
        #expect(collector.prefix(.max) == body)
    }

    /// The memory is shared, the value is not.
    @Test(arguments: [1 << 20, 1000]) func mutatingReturnedDataDoesNotChangeTheBody(memoryByteLimit: Int) async throws {
        let collector = collector(memoryByteLimit: memoryByteLimit)
        let body = FaultServer.pattern(20_000)
        collector.append(body)
        var given = try await end(collector).get()
        given[0] = given[0] &+ 1
        given.append(contentsOf: [1, 2, 3])
        #expect(given.count == 20_003)
        #expect(try await end(collector).get() == body)
    }

    @Test func aBodyInAFileTakesNoMemory() async throws {
        let piece = Data(count: 1 << 20)
        let collector = collector(memoryByteLimit: 1 << 20)
        let task = RecordedTask()
        collector.attach(task)
        let before = residentByteCount()
        for _ in 0..<64 {
            try await task.waitUntilRunning()
            collector.append(piece)
        }
        let data = try await end(collector).get()
        #expect(residentByteCount() - before < 12 << 20)
        #expect(data.count == 64 << 20)
        #expect(task.pauseCount > 0, "the load waited for the disk")
    }

    @Test func reportsAMissingDirectory() async throws {
        let path = directory.path("missing/")
        let backlog = SpoolBacklog()
        let collector = collector(memoryByteLimit: 10, in: path, backlog: backlog)
        let task = RecordedTask()
        collector.attach(task)
        collector.append(Data(count: 100))
        #expect(
            await end(collector) == .failure(.outOfResources(reason: .temporaryFile(directory: path, errno: ENOENT))))
        #expect(task.isCancelled)
        #expect(collector.failure != nil)
        #expect(backlog.byteCount == 0, "what is given up waits no more")
    }

    /// A short body ends before it is written, so that its own pieces cannot pause its load.
    @Test func aBodyDoesNotBeginWhileOthersWaitForTheDisk() throws {
        let backlog = SpoolBacklog()
        backlog.add(4 << 20, of: DeferredTask())
        let (first, second, third) = (RecordedTask(), RecordedTask(), RecordedTask())
        let collectors = [first, second, third].map { task in
            let collector = collector(memoryByteLimit: 1 << 20, backlog: backlog)
            collector.attach(task)
            return collector
        }
        try collectors[0].begin(response(1000), isMemoryScarce: true)
        #expect(!first.isPaused, "as much as may wait")
        backlog.add(1, of: DeferredTask())
        try collectors[1].begin(response(1000), isMemoryScarce: true)
        try collectors[2].begin(response(1000))
        #expect(second.isPaused)
        #expect(!third.isPaused, "in memory")
        backlog.remove(3 << 20)
        #expect(second.isPaused, "more than a quarter waits")
        backlog.remove(2)
        #expect(!second.isPaused)
        backlog.remove((1 << 20) - 1)
        #expect(backlog.byteCount == 0)
    }

    @Test func aBodyThatIsWrittenWaitsNoMore() async throws {
        let backlog = SpoolBacklog()
        let collectors = (0..<20).map { _ in collector(memoryByteLimit: 1000, backlog: backlog) }
        for collector in collectors {
            for _ in 0..<3 { collector.append(Data(count: 900)) }
        }
        for collector in collectors { #expect(try await end(collector).get().count == 2700) }
        #expect(backlog.byteCount == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root may mount")) func reportsAFullDisk() async throws {
        let path = directory.path("small")
        mkdir(path, 0o700)
        try #require(Glibc.mount("tmpfs", path, "tmpfs", 0, "size=64k") == 0)
        defer { umount(path) }
        let collector = collector(memoryByteLimit: 10, in: path + "/")
        collector.append(Data(count: 1 << 20))
        #expect(
            await end(collector)
                == .failure(.outOfResources(reason: .temporaryFile(directory: path + "/", errno: ENOSPC))))
    }

    /// The length of a response may be wrong, that of a file is not.
    @Test func aFileWithoutSpaceFailsBeforeItIsCopied() async throws {
        let collector = collector(memoryByteLimit: 10)
        let task = RecordedTask()
        collector.attach(task)
        collector.begin(LoaderResponse(url: directory.url("a.png"), expectedByteCount: 1 << 60))
        collector.append(Data(count: 100))
        #expect(
            await end(collector)
                == .failure(.outOfResources(reason: .temporaryFile(directory: directory.path + "/", errno: ENOSPC))))
        #expect(task.isCancelled)
    }
}

/// A load that only notes what it is told.
private final class RecordedTask: PausableTask {
    private let state = LockBox((isPaused: false, pauseCount: 0, isCancelled: false))
    private let changes = AsyncStream<Void>.makeStream()

    var isPaused: Bool { state.withLock { $0.isPaused } }
    var pauseCount: Int { state.withLock { $0.pauseCount } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func waitUntilRunning() async throws {
        while state.withLock({ $0.isPaused }) { for await _ in changes.stream { break } }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
    func setPriority(_ priority: LoadPriority) {}

    func pause() { state.withLock { $0 = (true, $0.pauseCount + 1, $0.isCancelled) } }

    func resume() {
        state.withLock { $0.isPaused = false }
        changes.continuation.yield()
    }
}
