import FoundationEssentials
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// A body read piece by piece: what a slow reader costs, and what it does not disturb.
@Suite(.timeLimit(.minutes(3))) struct LoaderBytesTests {
    private let downloader = ImageDownloader.forTests()

    private func read(_ bytes: LoaderBytes) async throws -> Data {
        var body = Data()
        for try await piece in bytes { body.append(piece) }
        return body
    }

    @Test func deliversTheHeadThenTheBodyThenTheMetrics() async throws {
        let url = try SharedServers.nginx.get().url("/large.png?bytes")
        let bytes = try await downloader.bytes(for: LoaderRequest(url: url), bufferByteLimit: 1)
        #expect(bytes.response.expectedByteCount == 2_000_000)
        #expect(try await read(bytes) == FaultServer.pattern(2_000_000))
        #expect(bytes.metrics?.decodedByteCount == 2_000_000)
    }

    @Test func anyLoaderCanBeReadAsBytes() async throws {
        let directory = try TemporaryDirectory()
        let url = try directory.write(FaultServer.pattern(600_000), to: "file")
        let bytes = try await FileLoader().bytes(for: LoaderRequest(url: url))
        #expect(try await read(bytes) == FaultServer.pattern(600_000))
        #expect(bytes.metrics == nil)
    }

    @Test func aFileWaitsForItsReader() async throws {
        let directory = try TemporaryDirectory()
        let size = 40 << 20
        #expect(makeSparseFile(directory.path("sparse"), byteCount: size))
        let other = try directory.write(FaultServer.pattern(4 << 20), to: "other")
        let loader = WatchedFileLoader()
        let bytes = try await loader.bytes(for: LoaderRequest(url: directory.url("sparse")), bufferByteLimit: 512 << 10)
        loader.mayBring.open()
        // More of these than the loader has threads, and many times as long as what may wait.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { try await FileLoader().body(other).count } }
            for try await count in group { #expect(count == 4 << 20) }
        }
        #expect(loader.broughtByteCount <= 512 << 10)
        var received = 0
        for try await piece in bytes { received += piece.count }
        #expect(received == size)
    }

    @Test func throwsErrorsBeforeAndWithinTheBody() async throws {
        let faults = try SharedServers.faults.get()
        let missing = LoaderRequest(url: try faults.url("/status/bytes?code=404"))
        await #expect(throws: WebImageError.httpStatus(code: 404, url: missing.url)) {
            try await downloader.bytes(for: missing)
        }
        let cut = LoaderRequest(url: try faults.url("/cut-body/bytes?size=1000&sent=10"))
        let bytes = try await downloader.bytes(for: cut)
        var received = 0
        await #expect(
            throws: WebImageError.invalidResponse(reason: .truncated(expected: 1000, received: 10), url: cut.url)
        ) {
            for try await piece in bytes { received += piece.count }
        }
        #expect(received == 10)
    }

    @Test func releasingTheBytesCancelsTheLoad() async throws {
        let faults = try SharedServers.faults.get()
        let request = LoaderRequest(url: try faults.url("/endless/let-go"))
        for try await _ in try await downloader.bytes(for: request) { break }
        try await faults.wait(for: .dropped, path: "/endless/let-go")
    }

    @Test func cancellingTheReadingTaskCancelsTheLoad() async throws {
        let faults = try SharedServers.faults.get()
        let request = LoaderRequest(url: try faults.url("/stall-body/task?size=10000&sent=5000"))
        let hasBegun = Countdown()
        let task = Task { [downloader] in
            for try await _ in try await downloader.bytes(for: request) { hasBegun.signal() }
        }
        try await hasBegun.wait()
        task.cancel()
        await #expect(throws: WebImageError.cancelled) { try await task.value }
        try await faults.wait(for: .dropped, path: "/stall-body/task")
    }

    /// Over plain HTTP/1.1, and over HTTP/2, where the others share the connection.
    @Test(arguments: [false, true]) func aSlowReaderTakesNoMemoryAndDelaysNoOtherLoad(isSecure: Bool) async throws {
        // Far more than either allowance.
        let size = isSecure ? 320 << 20 : 120 << 20
        let nginx = try NGINXServer(certificates: isSecure ? [.valid] : [])
        #expect(makeSparseFile(nginx.root + "/sparse", byteCount: size))
        try nginx.write(FaultServer.pattern(5000), to: "small.png")
        let url = isSecure ? try nginx.secureURL("/sparse") : try nginx.url("/sparse")
        let small = isSecure ? try nginx.secureURL("/small.png") : try nginx.url("/small.png")
        let authority = isSecure ? try TestCertificates.shared.get().authority : nil
        let downloader = ImageDownloader.forTests {
            $0.maximumResponseByteCount = Int64(size)
            if let authority { $0.certificateAuthorities = .file(authority) }
        }
        // Less than the slow reader takes: a limit that did not rest would end the load.
        var request = LoaderRequest(url: url)
        request.idleTimeout = .seconds(1)

        let bytes = try await downloader.bytes(for: request)
        var iterator = bytes.makeAsyncIterator()
        var received = try await iterator.next()?.count ?? 0
        let before = residentByteCount()
        var peak = before
        for _ in 0..<10 {
            // Meanwhile others come and go, for longer than the reader's transfer could be idle.
            let deadline = ContinuousClock.now + .milliseconds(120)
            while ContinuousClock.now < deadline {
                #expect(try await downloader.body(small).count == 5000)
            }
            peak = max(peak, residentByteCount())
            received += try await iterator.next()?.count ?? 0
        }
        // libcurl announces a window of 32 MiB for an HTTP/2 stream, takes what the server then sends, and hands it on
        // before it announces another: up to the 128 MB that `bytes(for:)` tells of. The rest is for the tests that run
        // beside this one in the same process, and for what the allocator keeps.
        let allowance = isSecure ? 256 << 20 : 64 << 20
        #expect(peak - before < allowance, "\((peak - before) >> 10) KiB more")
        while let piece = try await iterator.next() { received += piece.count }
        #expect(received == size)
        #expect(residentByteCount() - before < allowance + 16 << 20)
        if isSecure { #expect(Set(try await nginx.accessLog().map(\.connection)).count == 1) }
    }

    @Test func aPausedTransferCanBeCancelled() async throws {
        let faults = try SharedServers.faults.get()
        let load = downloader.record(try faults.url("/endless/paused"))
        load.task.pause()
        try await faults.wait(for: .requests, path: "/endless/paused")
        #expect(load.recording.byteCount == 0)
        load.task.cancel()
        #expect(try await load.recording.error() == .cancelled)
        try await faults.wait(for: .dropped, path: "/endless/paused")
        #expect(load.recording.isInOrder)
    }

    @Test func aLoadPausedBeforeItStartsDeliversNothingUntilResumed() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.requestModifier = { $0 } }
        var request = LoaderRequest(url: try faults.url("/redirect/paused?to=/bytes/paused?size=100000"))
        request.idleTimeout = .seconds(1)
        let load = downloader.record(request)
        load.task.pause()
        try await load.recording.waitForResponse()
        #expect(load.recording.byteCount == 0)
        // Longer than its idle limit, which must rest.
        let deadline = ContinuousClock.now + .milliseconds(1200)
        while ContinuousClock.now < deadline { _ = try await downloader.body(faults.url("/bytes/beside?size=9")) }
        #expect(load.recording.byteCount == 0)
        load.task.resume()
        #expect(try await load.recording.body() == FaultServer.pattern(100_000))
    }

    @Test func theIdleLimitAppliesAgainAfterAPause() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.idleTimeout = .seconds(1) }
        let url = try faults.url("/stall-body/resumed?size=10000&sent=5000")
        let load = downloader.record(url)
        try await load.recording.waitForFirstBytes()
        load.task.pause()
        load.task.resume()
        #expect(try await load.recording.error() == .timedOut(after: .seconds(1), url: url))
    }

    @Test func aStormOfPausesAndResumesEndsEachLoadExactlyOnce() async throws {
        let nginx = try SharedServers.nginx.get()
        let expected = FaultServer.pattern(2_000_000)
        let loads = try (0..<12).map { downloader.record(try nginx.url("/large.png?pauses=\($0)")) }
        try await storm(loads, expecting: expected)
        #expect(downloader.loadCounts == (0, 0))
    }
}

/// Counts the bytes of files; the first of them waits until the test lets it through.
private final class WatchedFileLoader: ImageLoader {
    let mayBring = ThreadGate()
    private let byteCount = LockBox(0)

    var broughtByteCount: Int { byteCount.withLock { $0 } }

    func canLoad(_ url: URL) -> Bool { true }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        FileLoader().load(request, priority: priority) { event in
            if case .bytes(let bytes) = event {
                self.mayBring.wait()
                self.byteCount.withLock { $0 += bytes.count }
            }
            handler(event)
        }
    }
}
