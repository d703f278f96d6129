import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// Interrupted bodies of real servers: nginx, and one that lies.
@Suite(.timeLimit(.minutes(2))) struct ResumingServerTests {
    private let directory: TemporaryDirectory
    private let loader: ResumingLoader

    init() throws {
        directory = try TemporaryDirectory()
        var configuration = PartialBodyStore.Configuration(directory: directory.url("partial"))
        configuration.freeSpaceFloor = 0
        loader = ResumingLoader(
            ImageDownloader.forTests(), store: PartialBodyStore(configuration: configuration))
    }

    private static func makeServer(_ body: Data) throws -> NGINXServer {
        let server = try NGINXServer(
            locations:
                "location = /a.png { limit_rate 8m; } location = /gone.png { limit_rate 8m; if ($http_range) { return 416; } }"
        )
        try server.write(body, to: "a.png")
        try server.write(body, to: "gone.png")
        return server
    }

    /// Loads until so many bytes are there, and cancels.
    private func interrupt(_ url: URL, after byteCount: Int) async throws {
        let enough = Countdown()
        let recording = LoadRecording()
        let task = loader.load(LoaderRequest(url: url), priority: .normal) { event in
            recording.receive(event)
            if recording.byteCount >= byteCount { enough.signal() }
        }
        try await enough.wait()
        task.cancel()
        #expect(try await recording.error() == .cancelled)
    }

    @Test func nginxSendsOnlyTheRemainder() async throws {
        let body = FaultServer.pattern(6_000_000)
        let server = try Self.makeServer(body)
        let url = try server.url("/a.png")
        try await interrupt(url, after: 1_000_000)
        #expect(try await loader.body(url) == body)
        let log = try await server.accessLog()
        #expect(log.map(\.status) == [200, 206])
        #expect(log.first?.range == nil && log.first?.ifRange == nil)
        let rest = try #require(log.last)
        let offset = try #require(rest.range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) })
        #expect(offset >= 1_000_000 && rest.byteCount == body.count - offset)
        #expect(rest.ifRange?.hasPrefix("\"") == true)
    }

    @Test func nginxSendsAChangedFileCompletely() async throws {
        let server = try Self.makeServer(FaultServer.pattern(6_000_000))
        let url = try server.url("/a.png")
        try await interrupt(url, after: 1_000_000)
        let changed = Data(FaultServer.pattern(5_000_000).reversed())
        try server.write(changed, to: "a.png")
        #expect(try await loader.body(url) == changed)
        let log = try await server.accessLog()
        #expect(log.map(\.status) == [200, 200])
        #expect(log.last?.range != nil)
    }

    @Test func a416IsFollowedByARequestForTheWholeBody() async throws {
        let body = FaultServer.pattern(6_000_000)
        let server = try Self.makeServer(body)
        let url = try server.url("/gone.png")
        try await interrupt(url, after: 300_000)
        #expect(try await loader.body(url) == body)
        let log = try await server.accessLog()
        #expect(log.map(\.status).suffix(2) == [416, 200])
        #expect(log.last?.range == nil)
    }

    // MARK: A server that lies

    private static func pattern(_ size: Int) -> Data {
        // The data of `/ranges` for its tag "a": the CRC-32 of "a" ends in 0x43.
        Data(FaultServer.pattern(size).map { $0 ^ 0x43 })
    }

    @Test(arguments: [
        ("none", 2), ("whole", 2), ("shifted", 3), ("total", 3), ("untagged", 3), ("dated", 3), ("short", 3),
        ("multipart", 3),
        ("unsatisfiable", 3),
    ])
    func wrongRangesNeverReachTheBody(lie: String, requestCount: Int) async throws {
        let server = try SharedServers.faults.get()
        let url = try server.url("/ranges/resume/\(lie)?size=500000&sent=300000&lie=\(lie)")
        let (first, _) = loader.record(url)
        #expect(
            try await first.error()
                == .invalidResponse(reason: .truncated(expected: 500_000, received: 300_000), url: url))
        let (recording, _) = loader.record(url)
        #expect(try await recording.body() == Self.pattern(500_000))
        #expect(recording.isInOrder)
        #expect(recording.response?.statusCode == 200)
        #expect(try await server.statistics().requests["/ranges/resume/\(lie)"] == requestCount)
    }

    @Test func theLengthLimitAppliesToTheWholeBody() async throws {
        let server = try SharedServers.faults.get()
        let url = try server.url("/ranges/resume/limited?size=500000&sent=300000")
        #expect(try await loader.record(url).recording.error() != nil)
        let strict = ResumingLoader(
            ImageDownloader.forTests { $0.maximumResponseByteCount = 400_000 }, store: loader.store)
        #expect(
            try await strict.record(url).recording.error()
                == .invalidResponse(reason: .bodyTooLong(byteCount: 500_000, limit: 400_000), url: url))
    }

    @Test func aRedirectToAnotherOriginPreservesTheRange() async throws {
        let server = try SharedServers.faults.get()
        let target = try server.otherOriginURL("/ranges/resume-redirect/a?size=500000%26sent=300000").absoluteString
        let url = try server.url("/redirect/resume?to=\(target)")
        #expect(try await loader.record(url).recording.error() != nil)
        #expect(try await loader.body(url) == Self.pattern(500_000))
        #expect(try await server.statistics().requests["/ranges/resume-redirect/a"] == 2)
    }
}
