import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(1))) struct CachePolicyTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func cacheOnlyNeverAsksTheLoader() async throws {
        let request = WebImageRequest(url, cachePolicy: .cacheOnly)
        await #expect(throws: WebImageError.notInCache(key: url.absoluteString)) {
            try await fixture.manager.image(for: request)
        }
        #expect(fixture.loader.loadCount == 0)

        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(try await fixture.manager.response(for: request).origin == .memoryCache)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request).origin == .diskCache)
    }

    @Test func reloadReplacesWhatIsStored() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let request = WebImageRequest(url, cachePolicy: .reload)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        let response = try await fixture.load(request, answeringWith: SolidPicture(2))
        #expect(response.origin == .remote)

        let inMemory = try #require(fixture.manager.cachedImage(for: url))
        #expect(SolidPicture(2).matches(inMemory))
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == (try SolidPicture(2).png()))
    }

    @Test func ignoreDiskCacheLeavesTheDiskAlone() async throws {
        let request = WebImageRequest(url, options: .ignoreDiskCache)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
        fixture.cache.memory.removeAll()
        let again = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(again.origin == .remote)
    }

    @Test func whatALoaderHasOnDiskGetsNoCopy() async throws {
        let fixture = try ManagerFixture(isCacheable: false)
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
    }

    @Test func ignoreDiskCacheIsNotJoinedByAReloadThatStores() async throws {
        let results = Results()
        fixture.manager.load(WebImageRequest(url, options: .ignoreDiskCache), completion: results.note)
        let unstored = try await fixture.nextLoad()
        fixture.manager.load(WebImageRequest(url, cachePolicy: .reload), completion: results.note)
        let stored = try await fixture.nextLoad()
        try unstored.answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
        try stored.answer(SolidPicture(2).png())
        _ = await results.wait(for: 2)
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == (try SolidPicture(2).png()))
    }

    @Test func aSlowDecodeFromDiskDoesNotReplaceWhatAReloadBrought() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        fixture.cache.disk?.store(try SolidPicture(1).png(), for: url.absoluteString)
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await decoder.starts.first()
        let reloaded = try await fixture.load(
            WebImageRequest(url, cachePolicy: .reload), answeringWith: SolidPicture(2))
        #expect(reloaded.origin == .remote)
        decoder.release()
        #expect(try await results.wait(for: 1)[0].get().origin == .diskCache)
        let inMemory = try #require(fixture.manager.cachedImage(for: url))
        #expect(SolidPicture(2).matches(inMemory))
    }
}
