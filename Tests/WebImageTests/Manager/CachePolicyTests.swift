import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

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

    @Test func cacheOnlyProcessesTheStoredOriginal() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        let request = WebImageRequest(
            url, cachePolicy: .cacheOnly, thumbnail: Thumbnail(.pixels(width: 4, height: 4)),
            processors: [ProbeProcessor(name: "a", red: 5).erased])
        let response = try await fixture.manager.response(for: request)
        #expect(response.origin == .diskCache)
        #expect(response.image.pixels[0, 0].x == 6)
        #expect(fixture.loader.loadCount == 1)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.data(for: request.cacheKey.source) == (try SolidPicture(1).png()))
        #expect(await fixture.cache.disk?.count == 1)
    }

    @Test func reloadReplacesWhatIsStored() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let request = WebImageRequest(url, cachePolicy: .reload)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        let response = try await fixture.load(request, answeringWith: SolidPicture(2))
        #expect(response.origin == .remote)

        let inMemory = try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))
        #expect(SolidPicture(2).matches(inMemory))
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == (try SolidPicture(2).png()))
    }

    @Test func ignoreDiskCacheLeavesTheDiskAlone() async throws {
        let request = WebImageRequest(url).withoutDisk
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
        fixture.cache.memory.removeAll()
        let again = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(again.origin == .remote)
    }

    @Test func localFilesAreNotCopiedToTheDiskCache() async throws {
        let fixture = try ManagerFixture(isCacheable: false)
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
    }

    @Test func ignoreDiskCacheIsNotJoinedByAReloadThatStores() async throws {
        let results = Results()
        fixture.manager.load(WebImageRequest(url).withoutDisk, completion: results.note)
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

    @Test(arguments: [false, true])
    func aSlowDecodeFromDiskDoesNotRestoreARemovedImage(_ isThumbnail: Bool) async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        fixture.cache.disk?.store(try SolidPicture(1).png(), for: url.absoluteString)
        var request = WebImageRequest(url)
        if isThumbnail { request.thumbnail = Thumbnail(.pixels(width: 1, height: 1)) }
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        try await decoder.starts.first()
        // Bytes and image are keys of their own; either's removal counts.
        await fixture.cache.remove(for: ImageCacheKey(source: url.absoluteString))
        decoder.release()
        #expect(try await results.wait(for: 1)[0].get().origin == .diskCache)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        #expect(fixture.cache.memory.count == 0)
    }

    @Test func damagedBytesAreDiscardedOnlyIfStillStored() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        let png = try SolidPicture(1).png()
        fixture.cache.disk?.store(png.prefix(png.count - 20), for: url.absoluteString)
        let results = Results()
        fixture.manager.load(WebImageRequest(url, cachePolicy: .cacheOnly), completion: results.note)
        try await decoder.starts.first()
        await fixture.cache.store(nil, data: png, for: ImageCacheKey(source: url.absoluteString), in: .disk)
        decoder.release()
        await #expect(throws: WebImageError.self) { try await results.wait(for: 1)[0].get() }
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == png)
    }

    @Test func aSlowDecodeFromDiskDoesNotReplaceAReloadedImage() async throws {
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
        let inMemory = try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))
        #expect(SolidPicture(2).matches(inMemory))
    }
}
