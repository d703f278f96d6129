import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCaching

/// A manager with a custom cache, and with a group.
@Suite(.timeLimit(.minutes(1))) struct CustomCacheTests {
    private let cache = DictionaryCache()
    private let fixture: ManagerFixture

    init() throws {
        let cache = cache
        fixture = try ManagerFixture { $0.cache = cache }
    }

    /// Waits until the cache has stored everything.
    private func flush(_ cache: any ImageCaching) async {
        await withCheckedContinuation { continuation in
            CacheAdapter.pipelineCache(cache).whenWritten { continuation.resume() }
        }
    }

    @Test func servesFromMemoryAtOnceAndThenFromItsBytes() async throws {
        let request = WebImageRequest(try ManagerFixture.url("a"))
        let first = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(first.origin == .remote)
        #expect(fixture.manager.cachedImage(for: request) != nil, "before the cache has stored it, and after")
        await flush(cache)
        #expect(SolidPicture(1).matches(try #require(fixture.manager.cachedImage(for: request))))
        #expect(cache.storedKeys == [request.cacheKey.description])
        cache.removeImages()
        let second = try await fixture.manager.response(for: request)
        #expect(second.origin == .diskCache && SolidPicture(1).matches(second.image))
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func storesVariantsUnderTheirOwnKeys() async throws {
        let url = try ManagerFixture.url("a")
        let thumbnail = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        _ = try await fixture.load(thumbnail, answeringWith: SolidPicture(1))
        await flush(cache)
        #expect(cache.image(inMemoryFor: thumbnail.cacheKey)?.width == 2)
        #expect(cache.image(inMemoryFor: thumbnail.cacheKey.original) == nil)
        // The original is made from the stored bytes, without the loader.
        #expect(SolidPicture(1).matches(try await fixture.manager.image(at: url)))
    }

    @Test func aVariantStoredOnDiskIsReadAgain() async throws {
        var request = WebImageRequest(try ManagerFixture.url("a"), thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        request.options = .waitForStore
        request.cacheAccess = .all
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(cache.storedKeys.count == 2)
        cache.removeImages()
        let second = try await fixture.manager.response(for: request)
        #expect(second.origin == .diskCache && second.image.width == 2)
        #expect(second.trace.entries.contains { $0.message.contains("the image is stored at this size") })
    }

    @Test func aPartialVariantIsNotStored() async throws {
        let fixture = try ManagerFixture(allowsDamage: true) { $0.cache = cache }
        var request = WebImageRequest(try ManagerFixture.url("a"), options: .waitForStore, processors: [.grayscale()])
        request.cacheAccess = .all
        let png = try CodecRegistry.shared.encode(NoisyPicture.image(side: 96), as: .png)
        let response = try await fixture.load(request, answeringWith: Data(png.prefix(png.count / 2)))
        #expect(response.image.isPartial)
        await flush(cache)
        #expect(cache.storedKeys.isEmpty)
    }

    @Test func revalidatesWhatItStored() async throws {
        var request = WebImageRequest(try ManagerFixture.url("a"), cachePolicy: .http)
        request.options = .waitForStore
        _ = try await fixture.load(request) { load in
            try load.answer(SolidPicture(1), "ETag: \"1\"\nCache-Control: max-age=60")
        }
        for age in [100.0, 30, 31] {
            cache.removeImages()
            fixture.time.advance(seconds: age)
            // Stale after 100 s; fresh for another 60 s after the 304; stale again.
            if age == 30 {
                let response = try await fixture.manager.response(for: request)
                #expect(response.origin == .diskCache && response.trace.entries.allSatisfy { $0.stage != .transfer })
                continue
            }
            let response = try await fixture.load(request) { load in
                #expect(load.request.headers["If-None-Match"] == "\"1\"")
                load.confirm("ETag: \"1\"\nCache-Control: max-age=60")
            }
            #expect(SolidPicture(1).matches(response.image))
            await flush(cache)
        }
        #expect(fixture.loader.loadCount == 3)
    }

    @Test func keepsResponsesApartThatVary() async throws {
        let url = try ManagerFixture.url("a")
        func request(_ language: String) -> WebImageRequest {
            WebImageRequest(url, cachePolicy: .http, headers: ["Accept-Language": language])
        }
        for (number, language) in ["en", "de"].enumerated() {
            _ = try await fixture.load(request(language)) { load in
                try load.answer(SolidPicture(number), "Vary: Accept-Language\nCache-Control: max-age=60")
            }
            await flush(cache)
        }
        #expect(cache.storedKeys.count == 2)
        cache.removeImages()
        for (number, language) in ["en", "de"].enumerated() {
            let response = try await fixture.manager.response(for: request(language))
            #expect(response.origin == .diskCache && SolidPicture(number).matches(response.image))
        }
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func newBytesReplaceWhatWasMadeFromTheOld() async throws {
        let url = try ManagerFixture.url("a")
        let thumbnail = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        _ = try await fixture.load(thumbnail, answeringWith: SolidPicture(1))
        _ = try await fixture.load(WebImageRequest(url, cachePolicy: .reload), answeringWith: SolidPicture(2))
        let response = try await fixture.manager.response(for: thumbnail)
        #expect(SolidPicture(2).matches(response.image), "the thumbnail in memory is superseded")
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func damagedBytesAreRemovedAndLoadedAgain() async throws {
        let request = WebImageRequest(try ManagerFixture.url("a"))
        await cache.store(nil, data: Data("damaged".utf8), for: request.cacheKey, in: .disk)
        let response = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(response.origin == .remote)
        await flush(cache)
        #expect(await cache.data(for: request.cacheKey)?.data == (try SolidPicture(1).png()))
    }

    @Test func aGroupServesFromTheCacheThatHasTheImage() async throws {
        let (upper, lower) = (DictionaryCache(), ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil))
        let group = ImageCacheGroup([lower, upper])
        let fixture = try ManagerFixture { $0.cache = group }
        let (stored, loaded) = (try ManagerFixture.url("stored"), try ManagerFixture.url("loaded"))
        await lower.store(try SolidPicture(1).image(), for: WebImageRequest(stored).cacheKey, in: .memory)
        #expect(SolidPicture(1).matches(try #require(fixture.manager.cachedImage(for: WebImageRequest(stored)))))
        _ = try await fixture.load(WebImageRequest(loaded), answeringWith: SolidPicture(2))
        await flush(group)
        #expect(upper.image(inMemoryFor: WebImageRequest(loaded).cacheKey) != nil)
        #expect(lower.image(inMemoryFor: WebImageRequest(loaded).cacheKey) == nil)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func aRequestBringsItsOwnCache() async throws {
        let other = DictionaryCache()
        var request = WebImageRequest(try ManagerFixture.url("a"))
        request.cache = other
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await flush(other)
        #expect(other.storedKeys.count == 1 && cache.storedKeys.isEmpty)
    }

    @Test func twoManagersShareTheStateOfACache() async throws {
        let second = try ManagerFixture { [cache] in $0.cache = cache }
        let url = try ManagerFixture.url("a")
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        _ = try await second.load(WebImageRequest(url, cachePolicy: .reload), answeringWith: SolidPicture(2))
        #expect(SolidPicture(2).matches(try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))))
    }
}
