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
}
