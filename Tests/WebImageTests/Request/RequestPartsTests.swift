import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
@testable import WebImageCoding

/// Caches, loaders, codecs and keys that a request brings along.
@Suite(.timeLimit(.minutes(1))) struct RequestPartsTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func aCustomCacheStoresTheImage() async throws {
        let other = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        var request = WebImageRequest(url)
        request.cache = other
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(fixture.manager.cachedImage(for: request) != nil)
        #expect(other.image(inMemoryFor: request.cacheKey) != nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        #expect(await fixture.cache.disk?.contains(request.cacheKey.description) == false)
    }

    @Test func aCustomCacheStoresTheOriginal() async throws {
        let directory = try TemporaryDirectory()
        let originals = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: DiskCache(in: directory))
        var request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        request.originalCache = originals
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(await originals.disk?.contains(request.cacheKey.source) == true)
        #expect(await fixture.cache.disk?.contains(request.cacheKey.source) == false)
        #expect(fixture.cache.image(inMemoryFor: request.cacheKey) != nil)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request).origin == .diskCache)
    }

    @Test func requestsWithTheSameComponentsShareTheWork() async throws {
        let other = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        var request = WebImageRequest(url)
        request.cache = other
        let results = Results()
        for _ in 0..<2 { fixture.manager.load(request, completion: results.note) }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(await results.wait(for: 2).count == 2)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func customLoadersFetchTheBytes() async throws {
        let own = ScriptedLoader()
        var request = WebImageRequest(url)
        request.loaders = [own]
        async let response = fixture.manager.response(for: request)
        try await own.loads.first().answer(SolidPicture(2).png())
        #expect(SolidPicture(2).matches(try await response.image))
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func customCodecsDecodeTheBytes() async throws {
        let decoder = ProbeDecoder()
        let codecs = CodecRegistry()
        codecs.register(decoder)
        var request = WebImageRequest(url)
        request.codecs = codecs
        _ = try await fixture.load(request, answeringWith: SolidPicture(2))
        #expect(decoder.decodeCount == 1)
    }

    @Test func aFilterMapsSeveralURLsToOneKey() async throws {
        let filter: @Sendable (URL) -> String = { $0.path() }
        var first = WebImageRequest(try ManagerFixture.url("a?signature=1"))
        first.cacheKeyFilter = filter
        _ = try await fixture.load(first, answeringWith: SolidPicture(2))
        var second = WebImageRequest(try ManagerFixture.url("a?signature=2"))
        second.cacheKeyFilter = filter
        #expect(fixture.manager.cachedImage(for: second) != nil)
    }

    @Test func aCustomQueueGetsTheCallbacks() async throws {
        let queue = ManualCallbackQueue()
        var request = WebImageRequest(url)
        request.callbackQueue = queue
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await queue.arrivals.first()
        while results.all.isEmpty { queue.runAll() }
        #expect(results.all.count == 1)
    }

    @Test func theRequestsLimitsApply() async throws {
        var request = WebImageRequest(url)
        request.decodingLimits = DecodingLimits(pixelCount: 10)
        await #expect(
            throws: WebImageError.limitExceeded(
                reason: .pixels(size: PixelSize(width: 8, height: 6), limit: 10), url: url)
        ) {
            try await fixture.load(request, answeringWith: SolidPicture(1))
        }
    }

    @Test func aByteLimitScalesTheImageDown() async throws {
        var request = WebImageRequest(url)
        request.decodedByteLimit = 100
        let response = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(response.image.pixels.size.pixelCount * 4 <= 100)
        #expect(response.image.isThumbnail)
    }

    // MARK: Tiers

    @Test func aVariantIsStoredOnDiskIfRequested() async throws {
        var request = WebImageRequest(url, options: .waitForStore, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        request.cacheAccess = .all
        _ = try await fixture.load(request, answeringWith: SolidPicture(3))
        let disk = try #require(fixture.cache.disk)
        #expect(await disk.contains(request.cacheKey.description))
        // Without its original, it comes from there at the size it has.
        fixture.cache.memory.removeAll()
        await fixture.cache.remove(for: request.cacheKey.original)
        let again = try await fixture.manager.response(for: request)
        #expect(again.origin == .diskCache)
        #expect(again.image.pixels.size == PixelSize(width: 4, height: 3))
        #expect(again.image.isThumbnail)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func anAnimatedVariantIsMadeFromItsOriginal() async throws {
        var request = WebImageRequest(url, options: .waitForStore, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        request.cacheAccess = .all
        _ = try await fixture.load(request, answeringWith: TestAnimation.gif([1, 2]))
        #expect(await fixture.cache.disk?.contains(request.cacheKey.description) == false)
        fixture.cache.memory.removeAll()
        let again = try await fixture.manager.image(for: request)
        #expect(again.pixels.size == PixelSize(width: 4, height: 3))
        #expect(again.animation?.frameSize == PixelSize(width: 4, height: 3))
    }

    @Test func aDamagedVariantIsMadeAgain() async throws {
        var request = WebImageRequest(url, options: .waitForStore, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        request.cacheAccess = .disk
        _ = try await fixture.load(request, answeringWith: SolidPicture(3))
        let disk = try #require(fixture.cache.disk)
        disk.store(Data("no picture".utf8), for: request.cacheKey.description)
        let again = try await fixture.manager.response(for: request)
        #expect(SolidPicture(3).matches(again.image))
        #expect(fixture.loader.loadCount == 1, "the original is there")
    }

    @Test func cacheAccessNoneReadsAndStoresNothing() async throws {
        var request = WebImageRequest(url)
        request.cacheAccess = .none
        request.originalCacheAccess = .none
        _ = try await fixture.load(request, answeringWith: SolidPicture(3))
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        // Nor is anything looked for.
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(4))
        #expect(try await SolidPicture(5).matches(fixture.load(request, answeringWith: SolidPicture(5)).image))
    }

    @Test func aRequestCanUseOnlyMemoryOrOnlyTheDisk() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        var diskAlone = WebImageRequest(url, cachePolicy: .cacheOnly)
        diskAlone.cacheAccess = CacheAccess(query: [], store: [])
        let response = try await fixture.manager.response(for: diskAlone)
        #expect(response.origin == .diskCache, "though memory has it")
        #expect(fixture.manager.cachedImage(for: diskAlone) == nil)
        var memoryAlone = WebImageRequest(url, cachePolicy: .cacheOnly)
        memoryAlone.originalCacheAccess = .none
        #expect(try await fixture.manager.response(for: memoryAlone).origin == .memoryCache)
        fixture.cache.memory.removeAll()
        await #expect(throws: WebImageError.notInCache(key: memoryAlone.cacheKey.source)) {
            try await fixture.manager.image(for: memoryAlone)
        }
    }

    @Test func aSerializerProvidesTheStoredBytes() async throws {
        var request = WebImageRequest(url, options: .waitForStore)
        request.serializer = { image, data, key in
            #expect(data != nil)
            #expect(key.variant == nil)
            return try? CodecRegistry.shared.encode(image, as: .webp)
        }
        _ = try await fixture.load(request, answeringWith: SolidPicture(3))
        let stored = try #require(await fixture.cache.disk?.data(for: request.cacheKey.description))
        #expect(ImageFormat(signatureOf: stored) == .webp)
    }

    /// Rewrites as WebP, and stores that.
    private func storeRewritten() async throws {
        var request = WebImageRequest(url, options: .waitForStore)
        request.serializer = { image, _, _ in try? CodecRegistry.shared.encode(image, as: .webp) }
        _ = try await fixture.load(request) {
            try $0.answer(SolidPicture(3), "Content-Type: image/png\nCache-Control: max-age=60\nETag: \"1\"")
        }
        fixture.cache.memory.removeAll()
    }

    @Test(arguments: [CachePolicy.cacheFirst, .http, .refresh])
    func serializedBytesAreNotTheServersResponse(_ policy: CachePolicy) async throws {
        try await storeRewritten()
        async let answer = fixture.manager.dataResponse(for: WebImageRequest(url, cachePolicy: policy))
        let load = try await fixture.nextLoad()
        #expect(load.request.headers["If-None-Match"] == nil, "a confirmation would be of something else")
        try load.answer(SolidPicture(3), "Content-Type: image/png\nCache-Control: max-age=60\nETag: \"1\"")
        let response = try await answer
        #expect(try response.data == SolidPicture(3).png())
        #expect(response.origin == .remote)
        // From now on the disk has the server's bytes, for everybody.
        let again = try await fixture.manager.dataResponse(for: WebImageRequest(url, cachePolicy: .http))
        #expect(again.origin == .diskCache)
        #expect(try again.data == SolidPicture(3).png())
    }

    @Test(arguments: [CachePolicy.cacheOnly, .offline])
    func serializedBytesHaveNoResponseOffline(_ policy: CachePolicy) async throws {
        try await storeRewritten()
        await #expect(throws: WebImageError.notInCache(key: WebImageRequest(url).cacheKey.source)) {
            try await fixture.manager.dataResponse(for: WebImageRequest(url, cachePolicy: policy))
        }
    }

    @Test func imagesAreDecodedFromSerializedBytes() async throws {
        try await storeRewritten()
        let stored = try await fixture.manager.response(for: WebImageRequest(url, cachePolicy: .http))
        #expect(stored.origin == .diskCache)
        #expect(stored.image.format == .webp)
        // It is as good as the server's: confirmed, it stays.
        fixture.time.advance(seconds: 61)
        let confirmed = try await fixture.load(WebImageRequest(url, cachePolicy: .http)) { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            load.confirm("Cache-Control: max-age=60")
        }
        #expect(confirmed.image.format == .webp)
        await #expect(throws: WebImageError.notInCache(key: WebImageRequest(url).cacheKey.source)) {
            try await fixture.manager.dataResponse(for: WebImageRequest(url, cachePolicy: .cacheOnly))
        }
    }

    // MARK: Low resolution

    /// Both look on the disk first, which takes as long as it takes.
    private func smallAndLarge() async throws -> (ScriptedLoad, ScriptedLoad) {
        let (first, second) = (try await fixture.nextLoad(), try await fixture.nextLoad())
        return first.request.url.lastPathComponent == "small" ? (first, second) : (second, first)
    }

    @Test func theLowResolutionImageIsThePreview() async throws {
        var request = WebImageRequest(url)
        request.lowResolutionURL = try ManagerFixture.url("small")
        let (previews, results) = (LockBox<[Image]>([]), Results())
        let shown = Countdown()
        fixture.manager.load(
            request,
            preview: { image in
                previews.withLock { $0.append(image) }
                shown.signal()
            }, completion: results.note)
        let (small, large) = try await smallAndLarge()
        try small.answer(SolidPicture(1).png())
        try await shown.wait()
        try large.answer(SolidPicture(2).png())
        let result = await results.wait(for: 1)[0]
        #expect(SolidPicture(2).matches(try result.get().image))
        #expect(previews.withLock { $0.count } == 1)
        #expect(SolidPicture(1).matches(previews.withLock { $0[0] }))
    }

    @Test func lowResolutionErrorsAreIgnoredAndTheResultStopsTheLoad() async throws {
        var request = WebImageRequest(url)
        request.lowResolutionURL = try ManagerFixture.url("small")
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        let (small, large) = try await smallAndLarge()
        try large.answer(SolidPicture(2).png())
        #expect(try await SolidPicture(2).matches(results.wait(for: 1)[0].get().image))
        try await small.cancellations.first()
    }

    @Test func aLowResolutionURLOnAnotherOriginGetsNoCredentials() async throws {
        var request = WebImageRequest(
            url, headers: ["Authorization": "Bearer secret", "X-Mine": "1", "Accept": "image/png"],
            credential: Credential(username: "me", password: "secret"))
        request.lowResolutionURL = URL(string: "scripted://elsewhere/small")
        fixture.manager.load(request) { _ in }
        let (small, large) = try await smallAndLarge()
        #expect(small.request.credential == nil)
        #expect(small.request.headers == ["Accept": "image/png"])
        #expect(large.request.headers["Authorization"] == "Bearer secret")
        fixture.manager.cancelAll()
    }
}
