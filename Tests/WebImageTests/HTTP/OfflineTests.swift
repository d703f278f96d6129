import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Policies that ask no server, or only custom loaders.
@Suite(.timeLimit(.minutes(1))) struct OfflineTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    private func store(_ headers: String) async throws {
        async let response = fixture.manager.response(for: WebImageRequest(url, cachePolicy: .http))
        try await fixture.nextLoad().answer(SolidPicture(1), headers)
        _ = try await response
    }

    @Test(
        arguments: [
            "Cache-Control: max-age=1", "Cache-Control: max-age=1, must-revalidate", "Cache-Control: no-cache",
        ], [false, true])
    func offlineServesStaleResponsesUnlessTheServerForbidsIt(_ headers: String, _ isInMemory: Bool) async throws {
        try await store(headers)
        if !isInMemory { fixture.cache.memory.removeAll() }
        fixture.time.advance(seconds: 1_000_000)
        let request = WebImageRequest(url, cachePolicy: .offline)
        if headers == "Cache-Control: max-age=1" {
            #expect((fixture.manager.cachedImage(for: request) != nil) == isInMemory)
            #expect(SolidPicture(1).matches(try await fixture.manager.image(for: request)))
        } else {
            await #expect(throws: WebImageError.notInCache(key: url.absoluteString)) {
                try await fixture.manager.image(for: request)
            }
        }
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func offlineServesImagesWithoutAStoredHead() async throws {
        fixture.cache.disk?.store(try SolidPicture(1).png(), for: url.absoluteString)
        let request = WebImageRequest(url, cachePolicy: .offline)
        #expect(SolidPicture(1).matches(try await fixture.manager.image(for: request)))
    }

    @Test func offlineLoadsFromThisMachine() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(SolidPicture(1).png(), to: "a.png")
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(cache: fixture.cache, loaders: [FileLoader()]))
        for policy in [CachePolicy.offline, .http, .refresh] {
            #expect(SolidPicture(1).matches(try await manager.image(for: WebImageRequest(file, cachePolicy: policy))))
        }
        await #expect(throws: WebImageError.self) {
            fixture.cache.memory.removeAll()
            return try await manager.image(for: WebImageRequest(file, cachePolicy: .cacheOnly))
        }
    }

    @Test func cacheOnlyServesAnyStoredImage() async throws {
        try await store("Cache-Control: no-cache")
        fixture.time.advance(seconds: 1_000_000)
        let request = WebImageRequest(url, cachePolicy: .cacheOnly)
        #expect(fixture.manager.cachedImage(for: request) != nil)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request).origin == .diskCache)
    }

    @Test func aReloadBypassesAllCachesWithoutConditions() async throws {
        try await store("Cache-Control: max-age=60\nETag: \"1\"")
        let request = WebImageRequest(url, cachePolicy: .reload)
        async let response = fixture.manager.response(for: request)
        let load = try await fixture.nextLoad()
        #expect(load.request.headers["Cache-Control"] == "no-cache")
        #expect(load.request.headers["If-None-Match"] == nil)
        try load.answer(SolidPicture(2), "Cache-Control: max-age=60\nETag: \"2\"")
        #expect(try await response.origin == .remote)
        let fresh = try await fixture.manager.image(for: WebImageRequest(url, cachePolicy: .http))
        #expect(SolidPicture(2).matches(fresh))
    }

    @Test func onlyIfCachedAsksNoServer() async throws {
        let request = WebImageRequest(url, cachePolicy: .http, headers: ["Cache-Control": "only-if-cached"])
        await #expect(throws: WebImageError.notInCache(key: url.absoluteString)) {
            try await fixture.manager.image(for: request)
        }
        #expect(fixture.loader.loadCount == 0)
    }
}
