import FoundationEssentials
import Glibc
import SystemText
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct FileLoaderTests {
    private let loader = FileLoader()
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [1, 1000, 256 << 10, 1_000_000]) func deliversTheBytesOfAFile(size: Int) async throws {
        let data = FaultServer.pattern(size)
        let url = try directory.write(data, to: "an image.png")
        let recording = loader.record(url).recording
        #expect(try await recording.body() == data)
        #expect(recording.isInOrder)
        #expect(recording.response?.expectedByteCount == Int64(size))
        #expect(recording.response?.statusCode == nil)
        #expect(!loader.isCacheable(url))
    }

    @Test func followsASymbolicLink() async throws {
        try directory.write(Data([1, 2]), to: "target")
        symlink("target", directory.path("link"))
        #expect(try await loader.body(directory.url("link")) == Data([1, 2]))
    }

    @Test func opensAFileWhoseNameIsNotUTF8() async throws {
        let path = SystemString(directory.path + "/") + SystemString([0xFF, 0x61])
        let descriptor = path.withCString { open($0, O_WRONLY | O_CREAT, 0o600) }
        try #require(descriptor >= 0 && write(descriptor, "x", 1) == 1 && close(descriptor) == 0)
        let url = try #require(URL(string: "file://\(directory.path)/%FFa"))
        #expect(path.fileURL == url)
        #expect(try await loader.body(url) == Data("x".utf8))
        let missing = try #require(URL(string: "file://\(directory.path)/%FFb"))
        #expect(try await loader.error(missing) == .file(path: directory.path + #"/\xFFb"#, errno: ENOENT))
    }

    @Test func reportsAMissingFile() async throws {
        let path = directory.path("missing")
        #expect(try await loader.error(directory.url("missing")) == .file(path: path, errno: ENOENT))
    }

    @Test func reportsADirectory() async throws {
        let error = try await loader.error(URL(filePath: directory.path, directoryHint: .notDirectory))
        #expect(error == .file(path: directory.path, errno: EISDIR))
    }

    @Test func reportsAnEmptyFile() async throws {
        let url = try directory.write(Data(), to: "empty")
        #expect(try await loader.error(url) == .file(path: url.path(percentEncoded: false), errno: ENODATA))
    }

    @Test func aHeadRequestReturnsTheHeadAlone() async throws {
        var request = LoaderRequest(url: try directory.write(FaultServer.pattern(1000), to: "head"))
        request.method = .head
        let recording = loader.record(request).recording
        #expect(try await recording.body().isEmpty)
        #expect(recording.response?.expectedByteCount == 1000)
    }

    @Test func onlyReads() async throws {
        var request = LoaderRequest(url: try directory.write(Data([1]), to: "read-only"))
        request.method = .delete
        #expect(
            try await loader.error(request)
                == .invalidRequest(reason: .unsupportedMethod("DELETE", hasBody: false), url: request.url))
        request.method = .get
        request.body = Data([1])
        #expect(
            try await loader.error(request)
                == .invalidRequest(reason: .unsupportedMethod("GET", hasBody: true), url: request.url))
    }

    @Test func anEmptyFileIsAcceptedIfAnyResponseIs() async throws {
        var request = LoaderRequest(url: try directory.write(Data(), to: "nothing"))
        request.acceptsAnyAnswer = true
        #expect(try await loader.error(request) == nil)
    }

    @Test func refusesANamedPipeWithoutWaitingForItsWriter() async throws {
        let path = directory.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try await loader.error(directory.url("pipe")) == .file(path: path, errno: EOPNOTSUPP))
    }

    @Test func refusesADevice() async throws {
        let error = try await loader.error(URL(filePath: "/dev/zero", directoryHint: .notDirectory))
        #expect(error == .file(path: "/dev/zero", errno: EOPNOTSUPP))
    }

    @Test func refusesAFileThatIsTooLarge() async throws {
        let url = try directory.write(Data(count: 11), to: "large")
        let small = FileLoader(maximumByteCount: 10)
        #expect(
            try await small.error(url) == .invalidResponse(reason: .bodyTooLong(byteCount: 11, limit: 10), url: url))
    }

    @Test func aLongFileMustBeginLikeAnImage() async throws {
        let text = Data("a text of some length".utf8)
        let url = try directory.write(text, to: "long.png")
        let loader = FileLoader(maximumByteCount: .max)
        #expect(try await loader.body(url) == text)
        try #require(truncate(directory.path("long.png"), 300 << 20) == 0)
        let recording = loader.record(url).recording
        #expect(
            try await recording.error()
                == .unrecognizedFormat(contentType: nil, leadingBytes: Array(text.prefix(16))))
        #expect(recording.byteCount == 0, "nothing is copied")
    }

    /// The first bytes that a loader delivers, as they are.
    private func firstPiece(_ loader: FileLoader, _ url: URL) async throws -> Data {
        let piece = LockBox(Data())
        await withCheckedContinuation { continuation in
            _ = loader.load(LoaderRequest(url: url), priority: .normal) { event in
                switch event {
                case .bytes(let bytes): piece.withLock { if $0.isEmpty { $0 = bytes } }
                case .finished: continuation.resume()
                default: break
                }
            }
        }
        return piece.withLock { $0 }
    }

    @Test func aLongFileThatAUserChoosesIsReadInPlace() async throws {
        let start = Data([0xFF, 0xD8, 0xFF, 0xE0])
        let url = try directory.write(start, to: "long.jpg")
        try #require(truncate(directory.path("long.jpg"), 300 << 20) == 0)
        let body = try await firstPiece(FileLoader.chosenFiles, url)
        #expect(body.count == 300 << 20 && body.prefix(5) == start + [0])
        #expect(MappedFile.file(of: body) != nil)
        #expect(MappedFile.file(of: body.prefix(4)) == nil, "other bytes than those of the file")
        // Other programs have no handler for SIGBUS.
        try #require(truncate(directory.path("long.jpg"), 9 << 20) == 0)
        #expect(MappedFile.file(of: try await firstPiece(loader, url)) == nil)
        #expect(MappedFile.file(of: try await firstPiece(FileLoader.chosenFiles, url)) != nil)
        // What is shorter is in memory, where nothing changes it.
        try #require(truncate(directory.path("long.jpg"), 8 << 20) == 0)
        #expect(MappedFile.file(of: try await firstPiece(FileLoader.chosenFiles, url)) == nil)
    }

    @Test func aFileThatIsShortenedWhileItIsReadEndsInZeros() async throws {
        let url = try directory.write(Data(repeating: 7, count: 9 << 20), to: "short.jpg")
        let body = try await firstPiece(FileLoader.chosenFiles, url)
        try #require(truncate(directory.path("short.jpg"), 4096) == 0)
        #expect(body.first == 7 && body[4095] == 7)
        #expect(body[4096] == 0 && body.last == 0)
        #expect(body.allSatisfy { $0 == 0 || $0 == 7 })
    }

    @Test func aFileInPlaceIsNoTemporaryFile() async throws {
        let url = try directory.write(Data(repeating: 7, count: 9 << 20), to: "long.jpg")
        let body = try await firstPiece(FileLoader.chosenFiles, url)
        let missing = URL(filePath: directory.path("missing"), directoryHint: .isDirectory)
        let collector = BodyCollector(BodyStorage(memoryByteLimit: 1 << 20, temporaryDirectory: missing))
        collector.begin(LoaderResponse(url: url, expectedByteCount: Int64(body.count)))
        collector.append(body)
        #expect(collector.isInFile && collector.prefix(3) == body.prefix(3))
        let result = await withCheckedContinuation { continuation in
            collector.end { continuation.resume(returning: $0) }
        }
        #expect(MappedFile.file(of: try result.get()) != nil)
    }

    @Test(arguments: ["file://elsewhere/a.png", "file:///a%00b"]) func refusesURLsThatAreNoLocalPath(text: String)
        async throws
    {
        let url = try #require(URL(string: text))
        #expect(try await loader.error(url) == .invalidURL(url.absoluteString))
    }

    @Test func cancellingStopsBetweenPieces() async throws {
        let url = try directory.write(Data(count: 3 << 20), to: "large")
        let recording = LoadRecording()
        let task = LockBox<(any LoaderTask)?>(nil)
        let hasTask = ThreadGate()
        let started = loader.load(LoaderRequest(url: url), priority: .normal) { event in
            if case .response = event { hasTask.wait() }
            if case .bytes = event { task.withLock { $0 }?.cancel() }
            recording.receive(event)
        }
        task.withLock { $0 = started }
        hasTask.open()
        #expect(try await recording.error() == .cancelled)
        #expect(recording.isInOrder)
    }

    @Test func aLoadCancelledBeforeItStartsOpensNoFile() async throws {
        let queue = WorkQueue(label: "held", threadCount: 1)
        let (recording, gate) = (LoadRecording(), ThreadGate())
        queue.submit { gate.wait() }
        let url = try directory.write(Data([1]), to: "unread")
        let reading = FileReading(
            LoaderRequest(url: url), limit: .max, readsInPlace: false, priority: .normal, queue: queue,
            handler: { recording.receive($0) })
        reading.start()
        reading.cancel()
        gate.open()
        #expect(try await recording.error() == .cancelled)
        #expect(recording.response == nil)
    }

    @Test func aCancelledLoadEndsOnceWhetherItHasStartedOrNot() async throws {
        let url = try directory.write(Data(count: 100_000), to: "file")
        let loads = (0..<200).map { _ in loader.record(url) }
        loads.forEach { $0.task.cancel() }
        for load in loads {
            if let error = try await load.recording.error() { #expect(error == .cancelled) }
        }
        #expect(loads.allSatisfy { $0.recording.isInOrder })
    }

    /// A load that pauses itself with its first piece.
    private func pausedLoad(_ url: URL) async throws -> (recording: LoadRecording, task: any LoaderTask) {
        let recording = LoadRecording()
        let task = LockBox<(any LoaderTask)?>(nil)
        let hasTask = ThreadGate()
        let started = loader.load(LoaderRequest(url: url), priority: .normal) { event in
            if case .response = event { hasTask.wait() }
            if case .bytes = event { task.withLock { $0.take() }?.pause() }
            recording.receive(event)
        }
        task.withLock { $0 = started }
        hasTask.open()
        try await recording.waitForFirstBytes()
        return (recording, started)
    }

    /// How many descriptors of this process are open for the file.
    private func descriptorCount(_ name: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == directory.path(name)
        }
    }

    @Test func pausedLoadsTakeNoThreadAndContinueWhereTheyStopped() async throws {
        let data = FaultServer.pattern(1_000_000)
        let url = try directory.write(data, to: "long")
        let other = try directory.write(data, to: "other")
        var loads: [(recording: LoadRecording, task: any LoaderTask)] = []
        for _ in 0..<4 { loads.append(try await pausedLoad(url)) }
        for _ in 0..<4 { #expect(try await loader.body(other) == data) }
        #expect(loads.map(\.recording.byteCount) == Array(repeating: 256 << 10, count: 4))
        for load in loads {
            load.task.resume()
            #expect(try await load.recording.body() == data)
        }
        #expect(loads.allSatisfy { $0.recording.isInOrder })
        #expect(try descriptorCount("long") == 0)
    }

    @Test func aPausedLoadCanBeCancelled() async throws {
        let url = try directory.write(Data(count: 1_000_000), to: "long")
        let load = try await pausedLoad(url)
        #expect(try descriptorCount("long") == 1)
        load.task.cancel()
        #expect(try await load.recording.error() == .cancelled)
        load.task.cancel()
        load.task.resume()
        _ = try await loader.body(url)
        #expect(load.recording.isInOrder)
        #expect(load.recording.byteCount == 256 << 10)
        #expect(try descriptorCount("long") == 0)
    }

    @Test(.timeLimit(.minutes(1))) func releasingAPausedLoadClosesItsFile() async throws {
        let url = try directory.write(Data(count: 1_000_000), to: "long")
        do {
            let load = try await pausedLoad(url)
            #expect(try descriptorCount("long") == 1)
            withExtendedLifetime(load.task) {}
        }
        while try descriptorCount("long") > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func aLoadPausedBeforeItStartsReportsAMissingFile() async throws {
        let load = loader.record(directory.url("missing"))
        load.task.pause()
        #expect(try await load.recording.error() == .file(path: directory.path("missing"), errno: ENOENT))
    }

    @Test func aStormOfPausesAndResumesEndsEachLoadExactlyOnce() async throws {
        let data = FaultServer.pattern(2_000_000)
        let url = try directory.write(data, to: "long")
        let loads = (0..<12).map { _ in loader.record(url) }
        try await storm(loads, expecting: data)
        #expect(try descriptorCount("long") == 0)
    }
}
