import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// Answers whose bytes are kept elsewhere than the images made of them, or in more than one form.
@Suite(.timeLimit(.minutes(1))) struct OriginalCacheTests {
    private let fixture: ManagerFixture
    private let originals: ImageCache
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        originals = ImageCache(
            memory: MemoryCache(costLimit: 1 << 20), disk: DiskCache(in: try TemporaryDirectory()))
        url = try ManagerFixture.url("a")
    }

    private func request(_ side: Int? = nil, _ policy: CachePolicy = .http) -> WebImageRequest {
        var request = WebImageRequest(
            url, cachePolicy: policy, thumbnail: side.map { Thumbnail(.pixels(width: $0, height: $0)) })
        request.originalCache = originals
        return request
    }

    // MARK: A cache of originals

    @Test func theResponseHeadIsStoredWithTheBytes() async throws {
        _ = try await fixture.load(request()) {
            try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"")
        }
        await originals.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request()).origin == .diskCache)
        fixture.time.advance(seconds: 60)
        _ = try await fixture.load(request()) { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            load.confirm("Cache-Control: max-age=60")
        }
        #expect(fixture.manager.cachedImage(for: request()) != nil)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request()).origin == .diskCache)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func newBytesRemoveTheImagesOfTheOldOnes() async throws {
        _ = try await fixture.load(request(4)) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        _ = try await fixture.load(request(nil, .reload)) { try $0.answer(SolidPicture(2), "ETag: \"2\"") }
        #expect(fixture.manager.cachedImage(for: request(4, .cacheFirst)) == nil)
        // Also those that a request without such a cache brings.
        #expect(SolidPicture(2).matches(try await fixture.manager.response(for: request(4, .cacheFirst)).image))
        let plain = WebImageRequest(url, cachePolicy: .reload)
        _ = try await fixture.load(plain) { try $0.answer(SolidPicture(3), "ETag: \"3\"") }
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)).map(SolidPicture(3).matches) == true)
        #expect(fixture.manager.cachedImage(for: request(4, .cacheFirst)) == nil)
    }

    @Test func dataComesFromTheOriginalCache() async throws {
        _ = try await fixture.load(request()) { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        let answer = try await fixture.manager.dataResponse(for: request())
        #expect(answer.origin == .diskCache)
        #expect(try answer.data == SolidPicture(1).png())
        _ = try await fixture.pass(request(), method: .put)
        await originals.disk?.flush()
        #expect(await originals.disk?.count == 0)
        #expect(fixture.manager.cachedImage(for: request(nil, .cacheFirst)) == nil)
    }

    // MARK: Variants on disk

    private func variant(_ policy: CachePolicy = .cacheFirst) -> WebImageRequest {
        var request = WebImageRequest(
            url, options: .waitForStore, cachePolicy: policy, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        request.cacheAccess = .all
        return request
    }

    @Test func aVariantOnDiskExpiresWithItsOriginal() async throws {
        _ = try await fixture.load(variant()) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        fixture.cache.memory.removeAll()
        let stored = try await fixture.manager.response(for: variant())
        #expect(stored.origin == .diskCache)
        #expect(stored.trace.entries.contains { $0.message.hasPrefix("the image is stored at this size") })
        fixture.time.advance(seconds: 1)
        let whole = WebImageRequest(url, options: .waitForStore, cachePolicy: .reload)
        _ = try await fixture.load(whole) { try $0.answer(SolidPicture(2), "ETag: \"2\"") }
        fixture.cache.memory.removeAll()
        #expect(SolidPicture(2).matches(try await fixture.manager.response(for: variant()).image))
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func aVariantOnDiskIsOutdatedByAnImageTheAppStores() async throws {
        _ = try await fixture.load(variant()) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        fixture.manager.store(try SolidPicture(2).image(), data: try SolidPicture(2).png(), for: WebImageRequest(url))
        #expect(SolidPicture(2).matches(try await fixture.manager.response(for: variant()).image))
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func withoutDecodingTheOriginalAnswersAndNotAVariantOnDisk() async throws {
        _ = try await fixture.load(variant()) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        fixture.cache.memory.removeAll()
        let response = try await fixture.manager.response(for: variant().with { $0.options.insert(.ignoreDecoding) })
        #expect(response.data == (try SolidPicture(1).png()) && response.image.isPartial)
    }

    @Test func theResultOfAClosureWithoutAnIdentifierIsNotCached() async throws {
        let request = variant().with { $0.processors = [.transform { image, _ in image }] }
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 1, "the original")
        #expect(fixture.cache.memory.count == 0)
    }

    @Test(arguments: [false, true]) func aPartialVariantIsNotStored(isProcessed: Bool) async throws {
        let fixture = try ManagerFixture(allowsDamage: true)
        let png = try CodecRegistry.shared.encode(NoisyPicture.image(side: 96), as: .png)
        let request = variant().with { if isProcessed { $0.processors = [.grayscale()] } }
        let response = try await fixture.load(request, answeringWith: Data(png.prefix(png.count / 2)))
        #expect(response.image.isPartial)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
        #expect(fixture.cache.memory.count == 0)
    }

    @Test func anotherScaleStoresNoVariantOnDisk() async throws {
        var request = WebImageRequest(url, options: .waitForStore, scale: 2)
        request.cacheAccess = .all
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 1)
    }

    @Test func aVariantOnDiskRespectsVary() async throws {
        var (german, english) = (variant(), variant())
        german.headers = ["Accept-Language": "de"]
        english.headers = ["Accept-Language": "en"]
        _ = try await fixture.load(german) { try $0.answer(SolidPicture(1), "Vary: Accept-Language") }
        fixture.cache.memory.removeAll()
        let other = try await fixture.load(english) { try $0.answer(SolidPicture(2), "Vary: Accept-Language") }
        #expect(SolidPicture(2).matches(other.image))
    }

    @Test func variantsOfNoStoreResponsesAreNotWritten() async throws {
        var processed = variant()
        processed.processors = [ProbeProcessor(name: "a").erased]
        _ = try await fixture.load(variant()) { try $0.answer(SolidPicture(1), "Cache-Control: no-store") }
        _ = try await fixture.manager.response(for: processed)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    // MARK: Blocking

    @Test func synchronousReadsObeyTheRules() async throws {
        func request(_ language: String, _ policy: CachePolicy = .cacheFirst) -> WebImageRequest {
            WebImageRequest(url, cachePolicy: policy, headers: ["Accept-Language": language])
        }
        _ = try await fixture.load(request("de")) {
            try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nVary: Accept-Language")
        }
        fixture.cache.memory.removeAll()
        #expect(fixture.blockingCachedImage(for: request("en")) == nil)
        #expect(fixture.blockingCachedImage(for: request("de", .http)).map(SolidPicture(1).matches) == true)
        fixture.time.advance(seconds: 60)
        fixture.cache.memory.removeAll()
        #expect(fixture.blockingCachedImage(for: request("de", .http)) == nil)
        #expect(fixture.blockingCachedImage(for: request("de")) != nil)
        _ = try await fixture.load(WebImageRequest(url, cachePolicy: .reload)) {
            try $0.answer(SolidPicture(2), "ETag: \"2\"")
        }
        #expect(fixture.blockingCachedImage(for: request("de")).map(SolidPicture(1).matches) != true)
    }

    @Test func bytesOfAnImageInMemoryBelongToIt() async throws {
        _ = try await fixture.load(WebImageRequest(url)) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        let request = WebImageRequest(url, options: .queryMemoryData)
        let own = try await fixture.manager.response(for: request).data
        #expect(try own == SolidPicture(1).png())
        // Something else by now, as another process may put there.
        let key = request.cacheKey.description
        fixture.cache.disk?.store(try SolidPicture(2).png(), for: key)
        #expect(try await fixture.manager.response(for: request).data == nil)
    }

    // MARK: What a program asks and stores

    @Test func aStoredErrorIsNoImage() async throws {
        let request = WebImageRequest(url, cachePolicy: .http)
        await #expect(throws: WebImageError.httpStatus(code: 404, url: url)) {
            _ = try await fixture.load(request) { $0.refuse(404, "Cache-Control: max-age=60") }
        }
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 1)
        #expect(await fixture.manager.tier(holding: request) == nil)
    }

    @Test func anImageTheAppStoresReplacesTheServers() async throws {
        let old = try await fixture.load(WebImageRequest(url)) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }.image
        var small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        _ = try await fixture.manager.response(for: small)
        fixture.manager.store(try SolidPicture(2).image(), for: WebImageRequest(url))
        #expect(fixture.manager.cachedImage(for: small) == nil)
        small.cachePolicy = .cacheOnly
        #expect(SolidPicture(2).matches(try await fixture.manager.response(for: small).image))
        // Nor does it matter what became of the place it was loaded from.
        fixture.manager.store(old, for: WebImageRequest(url))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)).map(SolidPicture(1).matches) == true)
    }

    // MARK: What the manager adds

    @Test func dataIsRequestedWithTheManagersHeaders() async throws {
        let fixture = try ManagerFixture { $0.optionsProcessor = { $0.headers["X-Client"] = "test" } }
        async let answer = fixture.manager.dataResponse(for: WebImageRequest(url))
        let load = try await fixture.nextLoad()
        #expect(load.request.headers["X-Client"] == "test")
        try load.answer(SolidPicture(1).png())
        let data = try await answer.data
        #expect(try data == SolidPicture(1).png())
    }

    @Test func bytesOfAClosureAreRetried() async throws {
        let attempts = LockBox(0)
        var request = WebImageRequest(id: "a") {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            guard attempt > 1 else {
                throw WebImageError.transport(code: 56, message: "reset", url: URL(filePath: "/a"))
            }
            return try SolidPicture(1).png()
        }
        var policy = RetryPolicy(maximumAttempts: 2)
        policy.initialBackoff = .zero
        request.retryPolicy = policy
        let response = try await fixture.manager.response(for: request)
        #expect(SolidPicture(1).matches(response.image))
        #expect(response.attempts.count == 2)
    }
}

extension ManagerFixture {
    /// Sends a request that changes something, answered with 204.
    fileprivate func pass(_ request: WebImageRequest, method: LoaderRequest.Method) async throws -> WebDataResponse {
        async let response = manager.dataResponse(for: request.with { $0.method = method })
        try await nextLoad().answer(Data(), status: 204)
        return try await response
    }
}
