import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

/// Interrupted transfers of a manager, with nginx and a disk cache.
@Suite(.timeLimit(.minutes(2))) struct ResumeTests {
    private let cacheDirectory: TemporaryDirectory
    private let server: NGINXServer

    init() throws {
        cacheDirectory = try TemporaryDirectory()
        server = try NGINXServer(locations: "location = /a.png { limit_rate 4m; }")
    }

    /// As a program that has just been started.
    private func makeManager(
        _ change: (inout WebImageManager.Configuration) -> Void = { _ in }
    ) -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: DiskCache(in: cacheDirectory)),
            loaders: [ImageDownloader(configuration: ImageDownloader.Configuration())])
        change(&configuration)
        return WebImageManager(configuration: configuration)
    }

    /// Loads until so many bytes are there, and cancels.
    private func interrupt(_ manager: WebImageManager, _ request: WebImageRequest, after byteCount: Int64) async throws
    {
        let (enough, ended) = (Countdown(), Countdown())
        let operation = manager.load(
            request, progress: { received, _ in if received >= byteCount { enough.signal() } },
            completion: { _ in ended.signal() })
        try await enough.wait()
        operation.cancel()
        try await ended.wait()
    }

    @Test func theNextStartLoadsTheRemainder() async throws {
        let picture = try Noise.png(byteCountAtLeast: 3_000_000)
        try server.write(picture, to: "a.png")
        let request = WebImageRequest(try server.url("/a.png"))
        let first = makeManager()
        try await interrupt(first, request, after: 1_000_000)
        #expect(await first.imageCache.disk?.data(for: request.cacheKey.source) == nil, "whole bodies only")

        let next = makeManager()
        let response = try await next.response(for: request)
        #expect(response.origin == .remote)
        let transfer = try #require(response.metrics?.exchanges.last)
        #expect(transfer.statusCode == 206 && transfer.bodyByteCount < picture.count)
        #expect(
            response.trace.description.contains(
                "resumed with status 206, \(transfer.bodyByteCount) of \(picture.count) bytes"),
            "\(response.trace)")
        await next.imageCache.disk?.flush()
        #expect(await next.imageCache.disk?.data(for: request.cacheKey.source) == picture)
        let log = try await server.accessLog()
        #expect(log.map(\.status) == [200, 206])
        #expect(log.last?.ifRange != nil)
    }

    @Test func removedBytesAreNotResumed() async throws {
        try server.write(try Noise.png(byteCountAtLeast: 3_000_000), to: "a.png")
        let request = WebImageRequest(try server.url("/a.png"))
        let manager = makeManager()
        try await interrupt(manager, request, after: 1_000_000)
        await manager.imageCache.disk?.removeInterruptedTransfers()
        _ = try await manager.response(for: request)
        #expect(try await server.accessLog().map(\.range) == [nil, nil])
    }

    @Test func resumingCanBeTurnedOff() async throws {
        try server.write(try Noise.png(byteCountAtLeast: 3_000_000), to: "a.png")
        let request = WebImageRequest(try server.url("/a.png"))
        let manager = makeManager { $0.resumesTransfers = false }
        try await interrupt(manager, request, after: 1_000_000)
        _ = try await manager.response(for: request)
        #expect(try await server.accessLog().map(\.range) == [nil, nil])
    }

    @Test func aRequestThatIgnoresTheDiskWritesNothing() async throws {
        try server.write(try Noise.png(byteCountAtLeast: 3_000_000), to: "a.png")
        let url = try server.url("/a.png")
        let manager = makeManager()
        try await interrupt(manager, WebImageRequest(url).withoutDisk, after: 1_000_000)
        _ = try await manager.response(for: WebImageRequest(url))
        #expect(try await server.accessLog().map(\.range) == [nil, nil])
    }

    @Test func aBodyThatIsNoImageIsNeitherCachedNorContinued() async throws {
        let body = FaultServer.pattern(3_000_000)
        try server.write(body, to: "a.png")
        let request = WebImageRequest(try server.url("/a.png"))
        let manager = makeManager()
        try await interrupt(manager, request, after: 1_000_000)
        for _ in 0..<2 {
            await #expect(throws: WebImageError.self) { try await manager.response(for: request) }
            await manager.imageCache.disk?.flush()
            #expect(await manager.imageCache.disk?.data(for: request.cacheKey.source) == nil)
        }
        let log = try await server.accessLog()
        #expect(log.map(\.status) == [200, 206, 200])
        #expect(log.last?.range == nil)
    }

    @Test func anUndecodableImageLeavesThePartialBodyOfAnother() async throws {
        try server.write(try Noise.png(byteCountAtLeast: 3_000_000), to: "a.png")
        try server.write(FaultServer.pattern(300_000), to: "b.png")
        let request = WebImageRequest(try server.url("/a.png"))
        let manager = makeManager()
        try await interrupt(manager, request, after: 1_000_000)
        await #expect(throws: WebImageError.self) {
            try await manager.response(for: WebImageRequest(try server.url("/b.png")))
        }
        _ = try await manager.response(for: request)
        #expect(try await server.accessLog().last?.status == 206)
    }
}
