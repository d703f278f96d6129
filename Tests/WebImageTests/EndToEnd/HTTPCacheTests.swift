import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

/// HTTP caching over real servers: one that answers as it is told, and nginx.
@Suite(.timeLimit(.minutes(2))) struct HTTPCacheTests {
    private let cacheDirectory: TemporaryDirectory
    private let server: OriginServer
    private let time = TestTime(Date())

    init() throws {
        cacheDirectory = try TemporaryDirectory()
        server = try OriginServer()
    }

    private func makeManager() -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: DiskCache(in: cacheDirectory)),
            loaders: [ImageDownloader(configuration: ImageDownloader.Configuration())])
        configuration.environment.date = { [time] in time.now }
        return WebImageManager(configuration: configuration)
    }

    private func request(_ path: String = "/a", _ policy: CachePolicy = .http) throws -> WebImageRequest {
        WebImageRequest(try server.url(path), cachePolicy: policy)
    }

    private func statuses() async throws -> [Int] { try await server.requests().map(\.status) }

    @Test func aStaleImageIsRevalidatedAndSurvivesARestart() async throws {
        try await server.answer("/a", "Cache-Control: max-age=60\nETag: \"1\"", body: SolidPicture(1).png())
        let manager = makeManager()
        #expect(try await manager.response(for: request()).origin == .remote)
        await manager.imageCache.disk?.flush()

        let nextStart = makeManager()
        #expect(try await nextStart.response(for: request()).origin == .diskCache)
        time.advance(seconds: 61)
        let response = try await nextStart.response(for: request())
        #expect(response.origin == .diskCache && SolidPicture(1).matches(response.image))
        #expect(try await statuses() == [200, 304])
        #expect(nextStart.cachedImage(for: try request()) != nil)
    }

    @Test func aChangedImageReplacesTheOldOneInAllSizes() async throws {
        try await server.answer("/a", "Cache-Control: max-age=60\nETag: \"1\"", body: SolidPicture(1).png())
        let manager = makeManager()
        var small = try request()
        small.thumbnail = Thumbnail(.pixels(width: 4, height: 4))
        _ = try await manager.image(for: small)
        _ = try await manager.image(for: request())
        try await server.answer("/a", "Cache-Control: max-age=60\nETag: \"2\"", body: SolidPicture(2).png())
        time.advance(seconds: 61)
        #expect(SolidPicture(2).matches(try await manager.image(for: request())))
        #expect(SolidPicture(2).matches(try await manager.image(for: small)))
        #expect(try await statuses() == [200, 200])
    }

    @Test func aRefreshShowsTheOldImageAndThenTheNewOne() async throws {
        try await server.answer("/a", "ETag: \"1\"", body: SolidPicture(1).png())
        let manager = makeManager()
        _ = try await manager.image(for: request())
        try await server.answer("/a", "ETag: \"2\"", body: SolidPicture(2).png())
        var previews: [Image] = []
        var end: WebImageResponse?
        for await event in manager.events(for: try request("/a", .refresh)) {
            if case .preview(let image) = event { previews.append(image) }
            if case .finished(let result) = event { end = try result.get() }
        }
        #expect(previews.count == 1 && previews.allSatisfy { SolidPicture(1).matches($0) })
        #expect(end.map { SolidPicture(2).matches($0.image) && !$0.isUnchanged } == true)
    }

    @Test func staleIfErrorServesTheStoredImageWhenTheServerIsDown() async throws {
        try await server.answer("/a", "Cache-Control: max-age=60, stale-if-error=600", body: SolidPicture(1).png())
        try await server.answer("/b", "Cache-Control: max-age=60", body: SolidPicture(2).png())
        let manager = makeManager()
        for path in ["/a", "/b"] { _ = try await manager.image(for: request(path)) }
        time.advance(seconds: 61)
        try await server.stop()
        #expect(SolidPicture(1).matches(try await manager.image(for: request("/a"))))
        await #expect(throws: WebImageError.self) { try await manager.image(for: request("/b")) }
        #expect(SolidPicture(2).matches(try await manager.image(for: request("/b", .offline))))
    }

    @Test func aMissingImageIsRequestedAgainOnlyAfterItsLifetime() async throws {
        try await server.answer("/a", status: 404, "Cache-Control: max-age=60")
        let manager = makeManager()
        for _ in 0..<3 { await #expect(throws: WebImageError.self) { try await manager.image(for: request()) } }
        #expect(try await statuses() == [404])
        try await server.answer("/a", "Cache-Control: max-age=60", body: SolidPicture(1).png())
        time.advance(seconds: 61)
        #expect(SolidPicture(1).matches(try await manager.image(for: request())))
    }

    @Test func aServerWithAWrongClockIsHandled() async throws {
        // An hour behind: what it calls fresh for a minute seems an hour old.
        let behind = HTTPDate.format(time.now - 3600)
        try await server.answer(
            "/a", "Cache-Control: max-age=60\nDate: \(behind)\nETag: \"1\"", body: SolidPicture(1).png())
        // An hour ahead: its age cannot be below nothing.
        let ahead = HTTPDate.format(time.now + 3600)
        try await server.answer(
            "/b", "Cache-Control: max-age=60\nDate: \(ahead)\nETag: \"1\"", body: SolidPicture(1).png())
        let manager = makeManager()
        for path in ["/a", "/b", "/a", "/b"] { _ = try await manager.image(for: request(path)) }
        #expect(try await server.requests().map(\.path) == ["/a", "/b", "/a"])
        #expect(try await statuses() == [200, 200, 304])
    }

    @Test func acceptedLanguagesHaveTheirOwnImages() async throws {
        let manager = makeManager()
        let headers = "Cache-Control: max-age=60\nVary: Accept-Language"
        for (number, language) in [(1, "de"), (2, "en"), (1, "de"), (2, "en")] {
            try await server.answer("/a", headers, body: SolidPicture(number).png())
            var request = try request()
            request.headers["Accept-Language"] = language
            #expect(SolidPicture(number).matches(try await manager.image(for: request)))
        }
        #expect(try await server.requests().count == 2)
    }

    @Test func anImageBehindATemporaryRedirectIsRevalidatedEachTime() async throws {
        try await server.answer("/b", "Cache-Control: max-age=60\nETag: \"1\"", body: SolidPicture(1).png())
        try await server.answer("/passing", status: 302, "Location: /b")
        try await server.answer("/permanent", status: 301, "Location: /b")
        let manager = makeManager()
        for path in ["/passing", "/passing", "/permanent", "/permanent"] {
            _ = try await manager.image(for: request(path))
        }
        #expect(try await server.requests().map(\.path) == ["/passing", "/b", "/passing", "/b", "/permanent", "/b"])
        #expect(try await statuses() == [302, 200, 302, 304, 301, 200])
    }

    @Test func theRulesApplyToDataOfAnyKind() async throws {
        try await server.answer(
            "/a", "Cache-Control: max-age=60\nContent-Type: text/plain\nETag: \"1\"", body: Data("one".utf8))
        let manager = makeManager()
        for _ in 0..<2 { #expect(try await manager.data(for: request()).data == Data("one".utf8)) }
        let head = try await manager.dataResponse(for: request().with { $0.method = .head })
        #expect(head.headerValue("Content-Type") == "text/plain")
        #expect(try await statuses() == [200])
        // A change of the resource invalidates what was stored.
        try await server.answer("/a", "Cache-Control: max-age=60\nETag: \"2\"", body: Data("two".utf8))
        let change = try request().with { ($0.method, $0.body) = (.post, Data("x".utf8)) }
        #expect(try await manager.data(for: change).response.statusCode == 204)
        #expect(try await manager.data(for: request()).data == Data("two".utf8))
        #expect(try await manager.data(for: request("/none")).response.statusCode == 404)
    }

    @Test func theTraceShowsTheExchangeWithTheServer() async throws {
        try await server.answer("/a", "ETag: \"1\"", body: SolidPicture(1).png())
        let manager = makeManager()
        _ = try await manager.image(for: request())
        let trace = try await manager.response(for: request()).trace
        #expect(
            trace.entries.contains { $0.stage == .transfer && $0.message.contains("If-None-Match: \"1\"; status 304") })
        #expect(trace.entries.contains { $0.message.contains("on an existing connection") })
    }

    @Test func nginxConfirmsItsFiles() async throws {
        let files = try TemporaryDirectory()
        try files.write(SolidPicture(1).png(), to: "a.png")
        let nginx = try NGINXServer(root: files.path)
        let manager = makeManager()
        let request = WebImageRequest(try nginx.url("/a.png"), cachePolicy: .refresh)
        _ = try await manager.image(for: request)
        let response = try await manager.response(for: request)
        #expect(response.isUnchanged && SolidPicture(1).matches(response.image))
        try files.write(SolidPicture(2, size: PixelSize(width: 9, height: 9)).png(), to: "a.png")
        #expect(SolidPicture(2).matches(try await manager.image(for: request)))
        #expect(try await nginx.accessLog().map(\.status) == [200, 304, 200])
    }
}
