import Dispatch
import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageCaching

/// Variants that are stored as pixels on disk, and read without decoding.
@Suite(.timeLimit(.minutes(1))) struct PixelTests {
    private let decoder = ProbeDecoder()
    private let fixture: ManagerFixture
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture(decoder: decoder)
        request = WebImageRequest(
            try ManagerFixture.url("photo@2x.png"), thumbnail: Thumbnail(.pixels(width: 4, height: 4))
        ).with { $0.keepsPixels = true }
    }

    /// Loads from the caches alone, without memory.
    private func loadAgain(_ request: WebImageRequest? = nil) async throws -> WebImageResponse {
        await fixture.cache.flushPixels()
        fixture.cache.memory.removeAll()
        return try await fixture.manager.response(for: request ?? self.request)
    }

    // MARK: Storing and reading

    @Test func aStoredThumbnailIsNotDecodedAgain() async throws {
        let first = try await fixture.load(request, answeringWith: SolidPicture(7))
        let response = try await loadAgain()
        #expect(response.origin == .diskCache)
        #expect(response.data == nil)
        #expect(decoder.decodeCount == 1)
        #expect(response.image.pixels.size == first.image.pixels.size)
        #expect(SolidPicture(7).matches(response.image))
        #expect(response.image.format == .png)
        #expect(response.image.scale == 2)
        #expect(response.image.isThumbnail && !response.image.isTransformed && response.image.pixels.isOpaque)
        #expect(fixture.manager.cachedImage(for: request) != nil, "it is in memory again")
    }

    @Test func anotherManagerReadsIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(7))
        await fixture.cache.flushPixels()
        // Pixels without their original are not used.
        await fixture.cache.disk?.flush()
        let cache = ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: DiskCache(in: fixture.directory))
        let codecs = CodecRegistry()
        codecs.register(decoder)
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(cache: cache, loaders: [fixture.loader], codecs: codecs))
        let response = try await manager.response(for: request)
        #expect(SolidPicture(7).matches(response.image))
        #expect(decoder.decodeCount == 1)
    }

    @Test func itIsStoredTheSecondTimeUnlessARequestAsksForIt() async throws {
        let plain = request.with { $0.keepsPixels = nil }
        _ = try await fixture.load(plain, answeringWith: SolidPicture(7))
        _ = try await loadAgain(plain)
        #expect(decoder.decodeCount == 2)
        #expect(SolidPicture(7).matches(try await loadAgain(plain).image))
        #expect(decoder.decodeCount == 2)
    }

    @Test func aRequestCanRefuse() async throws {
        let refusing = request.with { $0.keepsPixels = false }
        _ = try await fixture.load(refusing, answeringWith: SolidPicture(7))
        for _ in 0..<2 { _ = try await loadAgain(refusing) }
        #expect(decoder.decodeCount == 3)
        #expect(await fixture.cache.pixelStatistics() == nil)
    }

    @Test func theOriginalIsNotStoredAsPixels() async throws {
        let whole = request.with { ($0.thumbnail, $0.scale) = (nil, 1) }
        _ = try await fixture.load(whole, answeringWith: SolidPicture(7))
        _ = try await loadAgain(whole)
        #expect(decoder.decodeCount == 2)
    }

    @Test func aProcessedImageIsReadWithoutItsInput() async throws {
        let round = request.with { $0.processors = [.resize(to: .pixels(width: 3, height: 2))] }
        let first = try await fixture.load(round, answeringWith: SolidPicture(7))
        let response = try await loadAgain(round)
        #expect(decoder.decodeCount == 1)
        #expect(response.image.pixels.size == first.image.pixels.size)
        #expect(response.image.isTransformed == first.image.isTransformed)
    }

    @Test func aSynchronousQueryReadsIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(7))
        await fixture.cache.flushPixels()
        fixture.cache.memory.removeAll()
        let image = fixture.blockingCachedImage(for: request)
        #expect(image.map(SolidPicture(7).matches) == true)
        #expect(decoder.decodeCount == 1)
    }

    @Test func theTraceTells() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(7))
        await fixture.cache.flushPixels()
        fixture.cache.memory.removeAll()
        let operation = fixture.manager.load(request)
        _ = try await operation.response
        #expect(operation.traceDescription.contains("the image is stored as pixels, 4×3"))
    }

    // MARK: Invalidation

    @Test func newBytesInvalidateIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        let whole = request.with { ($0.thumbnail, $0.cachePolicy) = (nil, .reload) }
        _ = try await fixture.load(whole, answeringWith: SolidPicture(2))
        #expect(SolidPicture(2).matches(try await loadAgain().image))
    }

    @Test func bytesThatAProgramStoresInvalidateIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        await fixture.cache.store(
            nil, data: try SolidPicture(2).png(), for: fixture.manager.cacheKey(for: request).original, in: .disk)
        #expect(SolidPicture(2).matches(try await loadAgain().image))
    }

    /// The original stays the same, so that only the store can tell that the pixels are stale.
    @Test func aVariantThatAProgramStoresReplacesIt() async throws {
        let request = request.with { $0.cacheAccess = CacheAccess(query: .all, store: .memory) }
        let key = fixture.manager.cacheKey(for: request)
        await fixture.cache.store(nil, data: try SolidPicture(1).png(), for: key.original, in: .disk)
        #expect(SolidPicture(1).matches(try await loadAgain(request).image))
        #expect(SolidPicture(1).matches(try await loadAgain(request).image))
        #expect(decoder.decodeCount == 1, "the second time from pixels")
        await fixture.cache.store(nil, data: try SolidPicture(2).png(), for: key, in: .disk)
        #expect(SolidPicture(2).matches(try await loadAgain(request).image))
        #expect(fixture.loader.loadCount == 0)
    }

    /// As above, while the pixels wait for a thread that writes them.
    @Test(arguments: [true, false]) func pixelsThatWaitAreNotWrittenAfterARemoval(isStoredAnew: Bool) async throws {
        let (key, original) = (fixture.manager.cacheKey(for: request), try SolidPicture(1).png())
        await fixture.cache.store(nil, data: original, for: key.original, in: .disk)
        let (busy, end) = (Countdown(DecodingQueue.shared.threadCount), DispatchSemaphore(value: 0))
        for _ in 0..<DecodingQueue.shared.threadCount {
            DecodingQueue.shared.submit(priority: .veryHigh) {
                busy.signal()
                end.wait()
            }
        }
        defer { for _ in 0..<DecodingQueue.shared.threadCount { end.signal() } }
        try await busy.wait()
        CacheAdapter.pipelineCache(fixture.cache).storePixels(
            try SolidPicture(1).image(), madeFrom: BytesMark(original), for: key)
        if isStoredAnew {
            await fixture.cache.store(
                try SolidPicture(2).image(), data: try SolidPicture(2).png(), for: key, in: .disk)
        } else {
            await fixture.cache.remove(for: key)
        }
        for _ in 0..<DecodingQueue.shared.threadCount { end.signal() }
        await fixture.cache.flushPixels()
        #expect(await fixture.cache.pixelEntry(for: key) == nil)
    }

    @Test func removingTheOriginalInvalidatesIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        await fixture.cache.remove(for: fixture.manager.cacheKey(for: request).original)
        fixture.cache.memory.removeAll()
        let response = try await fixture.load(request, answeringWith: SolidPicture(2))
        #expect(SolidPicture(2).matches(response.image))
    }

    @Test func removingTheVariantRemovesIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        await fixture.cache.remove(for: fixture.manager.cacheKey(for: request))
        _ = try await loadAgain()
        #expect(decoder.decodeCount == 2)
    }

    @Test func clearingTheDiskRemovesIt() async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        #expect(await fixture.cache.pixelStatistics()?.count == 1)
        await fixture.cache.clear(.disk)
        #expect(await fixture.cache.pixelStatistics()?.count == 0)
    }

    @Test func underHTTPItIsAsFreshAsTheOriginal() async throws {
        let request = request.with { $0.cachePolicy = .http }
        _ = try await fixture.load(request) {
            try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"")
        }
        fixture.time.advance(seconds: 59)
        _ = try await loadAgain(request)
        #expect(decoder.decodeCount == 1)
        // Stale: the server confirms the original, and the pixels are fresh with it.
        fixture.time.advance(seconds: 60)
        await fixture.cache.flushPixels()
        fixture.cache.memory.removeAll()
        _ = try await fixture.load(request) { $0.confirm("Cache-Control: max-age=100") }
        let count = decoder.decodeCount
        fixture.time.advance(seconds: 99)
        #expect(SolidPicture(1).matches(try await loadAgain(request).image))
        #expect(decoder.decodeCount == count)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func aRemovedOriginalOnTheServerInvalidatesIt() async throws {
        let request = request.with { $0.cachePolicy = .http }
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        await fixture.cache.flushPixels()
        fixture.cache.memory.removeAll()
        fixture.time.advance(seconds: 61)
        await #expect(throws: WebImageError.self) { try await fixture.load(request) { $0.refuse(404, "") } }
        let anyAge = request.with { $0.cachePolicy = .cacheOnly }
        await #expect(throws: WebImageError.self) { try await fixture.manager.response(for: anyAge) }
    }

    @Test func varyDistinguishesIt() async throws {
        let german = request.with { ($0.cachePolicy, $0.headers) = (.http, ["Accept-Language": "de"]) }
        let english = request.with { ($0.cachePolicy, $0.headers) = (.http, ["Accept-Language": "en"]) }
        let headers = "Cache-Control: max-age=60\nVary: Accept-Language"
        _ = try await fixture.load(german) { try $0.answer(SolidPicture(1), headers) }
        await fixture.cache.flushPixels()
        fixture.cache.memory.removeAll()
        _ = try await fixture.load(english) { try $0.answer(SolidPicture(2), headers) }
        #expect(SolidPicture(1).matches(try await loadAgain(german).image))
        #expect(SolidPicture(2).matches(try await loadAgain(english).image))
        #expect(SolidPicture(1).matches(try await loadAgain(german).image))
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func whatMustNotBeStoredIsNotStoredAsPixels() async throws {
        _ = try await fixture.load(request.with { $0.cachePolicy = .http }) {
            try $0.answer(SolidPicture(1), "Cache-Control: no-store")
        }
        _ = try await fixture.load(
            request.with { $0.originalCacheAccess = .none }, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        #expect(await fixture.cache.pixelStatistics() == nil)
    }

    @Test func aHookThatRefusesMemoryRefusesPixels() async throws {
        let fixture = try ManagerFixture { $0.willCache = { _, _ in nil } }
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        await fixture.cache.flushPixels()
        #expect(await fixture.cache.pixelStatistics() == nil)
    }

    // MARK: Faults

    @Test(arguments: ["damaged", "truncated", "empty"]) func aDamagedFileIsAMiss(_ damage: String) async throws {
        _ = try await fixture.load(request, answeringWith: SolidPicture(7))
        await fixture.cache.flushPixels()
        let folder = fixture.directory.url("cache").appending(path: "pixels")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let segment = folder.appending(path: try #require(names.first { $0.hasPrefix("values-") })).appending(
            path: "segment-1")
        var bytes = try Data(contentsOf: segment)
        switch damage {
        case "damaged": bytes[bytes.count - 1] ^= 0xFF
        case "truncated": bytes = Data(bytes.prefix(70))
        default: bytes = Data()
        }
        // In place: the cache has the file open.
        try bytes.write(to: segment)
        #expect(SolidPicture(7).matches(try await loadAgain().image))
        #expect(decoder.decodeCount == 2)
        // It is stored again.
        #expect(SolidPicture(7).matches(try await loadAgain().image))
        #expect(decoder.decodeCount == 2)
    }

    /// The age is since the last use; the originals stay.
    @Test(arguments: [(nil, 1), (.seconds(3600), 1), (.zero, 2)] as [(Duration?, Int)])
    func pixelsThatAreTooOldAreMadeAgain(ageLimit: Duration?, decodeCount: Int) async throws {
        let codecs = CodecRegistry()
        codecs.register(decoder)
        var caching = ImageCache.Configuration()
        caching.pixelAgeLimit = ageLimit
        let cache = ImageCache(
            memory: MemoryCache(costLimit: 64 << 20), disk: DiskCache(in: fixture.directory), configuration: caching)
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(cache: cache, loaders: [fixture.loader], codecs: codecs))
        async let response = manager.response(for: request)
        try await fixture.nextLoad().answer(SolidPicture(7).png())
        _ = try await response
        await cache.flushPixels()
        await cache.disk?.flush()
        cache.memory.removeAll()
        #expect(try await manager.response(for: request).origin == .diskCache)
        #expect(decoder.decodeCount == decodeCount)
    }

    @Test func nothingIsStoredWithoutALimit() async throws {
        var configuration = ImageCache.Configuration()
        configuration.pixelByteLimit = 0
        let cache = ImageCache(disk: DiskCache(in: fixture.directory), configuration: configuration)
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(cache: cache, loaders: [fixture.loader]))
        async let response = manager.response(for: request)
        try await fixture.nextLoad().answer(SolidPicture(7).png())
        _ = try await response
        await cache.flushPixels()
        await cache.disk?.flush()
        #expect(await cache.pixelStatistics() == nil)
        #expect(
            try !FileManager.default.contentsOfDirectory(atPath: fixture.directory.url("cache").path).contains("pixels")
        )
    }
}
