import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// Another size answers where the very size might: by the server's word, and while it is the latest.
@Suite(.timeLimit(.minutes(1))) struct ReuseRulesTests {
    private let fixture: ManagerFixture
    private let url: URL
    private let first = SolidPicture(1, size: PixelSize(width: 80, height: 60))
    private let second = SolidPicture(2, size: PixelSize(width: 80, height: 60))

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    private func request(
        _ side: Int?, _ policy: CachePolicy = .cacheFirst, headers: [String: String] = [:]
    ) -> WebImageRequest {
        WebImageRequest(
            url, cachePolicy: policy, thumbnail: side.map { Thumbnail(.pixels(width: $0, height: $0)) },
            headers: headers)
    }

    @Test func aSupersededSizeIsNotReused() async throws {
        _ = try await fixture.load(request(40)) { try $0.answer(first, "ETag: \"1\"") }
        _ = try await fixture.load(request(nil, .reload)) { try $0.answer(second, "ETag: \"2\"") }
        let response = try await fixture.manager.response(for: request(20))
        #expect(second.matches(response.image))
        #expect(fixture.manager.cachedVariant(of: request(10)).map(second.matches) == true)
    }

    @Test func imagesMadeFromARemovedSizeAreRemovedToo() async throws {
        _ = try await fixture.load(request(nil)) { try $0.answer(first, "ETag: \"1\"") }
        #expect(try await fixture.manager.response(for: request(20)).origin == .memoryCache)
        var processed = request(20)
        processed.processors = [ProbeProcessor(name: "a").erased]
        _ = try await fixture.manager.response(for: processed)
        var still = request(30)
        still.options = .firstFrameOnly
        _ = try await fixture.manager.response(for: still)
        _ = try await fixture.load(request(50, .reload)) { try $0.answer(second, "ETag: \"2\"") }
        for request in [request(nil), request(20), processed, still] {
            #expect(fixture.manager.cachedImage(for: request) == nil)
        }
    }

    @Test func aSizeIsReusedWhileItsResponseIsFresh() async throws {
        _ = try await fixture.load(request(nil, .http)) {
            try $0.answer(first, "Cache-Control: max-age=60\nETag: \"1\"")
        }
        let response = try await fixture.manager.response(for: request(40, .http))
        #expect(response.origin == .memoryCache)
        #expect(response.image.width == 40)
        fixture.time.advance(seconds: 60)
        let confirmed = try await fixture.load(request(20, .http)) { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            load.confirm("Cache-Control: max-age=60")
        }
        #expect(confirmed.image.width == 20)
        // All sizes are fresh again.
        #expect(fixture.manager.cachedImage(for: request(40, .http)) != nil)
        #expect(try await fixture.manager.response(for: request(30, .http)).origin == .memoryCache)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func aStaleSizeIsNoPreviewWithHTTPCaching() async throws {
        _ = try await fixture.load(request(20, .http)) {
            try $0.answer(first, "Cache-Control: max-age=60\nETag: \"1\"")
        }
        fixture.time.advance(seconds: 60)
        let shown = LockBox(0)
        let results = Results()
        fixture.manager.load(
            request(40, .http), preview: { _ in shown.withLock { $0 += 1 } }, completion: results.note)
        try await fixture.nextLoad().confirm("Cache-Control: max-age=60")
        #expect(try await results.wait(for: 1)[0].get().image.width == 40)
        #expect(shown.withLock { $0 } == 0)
    }

    @Test func aSizeForOneUserIsNotReusedForAnother() async throws {
        let (german, english) = (["Accept-Language": "de"], ["Accept-Language": "en"])
        _ = try await fixture.load(request(nil, headers: german)) { try $0.answer(first, "Vary: Accept-Language") }
        #expect(fixture.manager.cachedVariant(of: request(20, headers: english)) == nil)
        #expect(fixture.manager.cachedVariant(of: request(20, headers: german)) != nil)
        let response = try await fixture.load(request(20, headers: english)) {
            try $0.answer(second, "Vary: Accept-Language")
        }
        #expect(second.matches(response.image))
        let again = try await fixture.manager.response(for: request(30, headers: german))
        #expect(first.matches(again.image))
        #expect(again.origin == .memoryCache)
    }

    @Test func aStoredImageRemovesWhatWasMadeFromThePreviousOne() async throws {
        fixture.manager.store(try first.image(), data: try first.png(), for: WebImageRequest(url))
        var processed = request(nil)
        processed.processors = [ProbeProcessor(name: "a", red: 0).erased]
        for wanted in [processed, request(20)] {
            #expect(first.matches(try await fixture.manager.response(for: wanted).image))
        }
        fixture.manager.store(try second.image(), data: try second.png(), for: WebImageRequest(url))
        for wanted in [processed, request(20)] {
            #expect(fixture.manager.cachedImage(for: wanted) == nil)
            #expect(second.matches(try await fixture.manager.response(for: wanted).image))
        }
    }

    @Test func storingAPartialImageReplacesNothing() async throws {
        _ = try await fixture.load(request(nil)) { try $0.answer(first, "ETag: \"1\"") }
        var part = try second.image()
        part.isPartial = true
        fixture.manager.store(part, for: WebImageRequest(url))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)).map(first.matches) == true)
    }

    @Test func derivedImagesAreNotCachedLongerThanTheirSource() async throws {
        let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        let fixture = try ManagerFixture { $0.cache = cache }
        let end = Date(timeIntervalSinceNow: 1000)
        fixture.manager.store(try first.image(), for: WebImageRequest(url))
        cache.memory.set(try first.image(), for: WebImageRequest(url).cacheKey, expiration: .date(end))
        var processed = request(nil)
        processed.processors = [ProbeProcessor(name: "a", red: 0).erased]
        for wanted in [request(20), processed] {
            #expect(first.matches(try await fixture.manager.image(for: wanted)))
            let expiration = try #require(cache.memory.expiration(for: wanted.cacheKey))
            guard case .date(let date) = expiration else {
                Issue.record("no date: \(expiration)")
                continue
            }
            #expect(abs(date.timeIntervalSince(end)) < 1)
        }
    }

    @Test func aNewResponseReplacesOnlyImagesOfRequestsLikeItsOwn() async throws {
        let (german, english) = (["Accept-Language": "de"], ["Accept-Language": "en"])
        let third = SolidPicture(3, size: first.size)
        for (wanted, picture) in [
            (request(40, headers: german), first), (request(30, headers: english), second),
            (request(50, .reload, headers: german), third),
        ] {
            _ = try await fixture.load(wanted) { try $0.answer(picture, "Vary: Accept-Language") }
        }
        #expect(fixture.manager.cachedImage(for: request(40, headers: german)) == nil)
        #expect(fixture.manager.cachedImage(for: request(30, headers: english)).map(second.matches) == true)
    }

    /// Another process has stored it.
    @Test func anImageOlderThanTheResponseOnDiskIsOutOfDate() async throws {
        let disk = try #require(fixture.cache.disk)
        let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk)
        let other = try ManagerFixture { $0.cache = cache }
        _ = try await fixture.load(request(40)) { try $0.answer(first, "ETag: \"1\"") }
        await disk.flush()
        other.time.advance(seconds: 1)
        _ = try await other.load(request(nil, .reload)) { try $0.answer(second, "ETag: \"2\"") }
        await disk.flush()
        #expect(second.matches(try await fixture.manager.image(for: request(nil))))
        #expect(fixture.manager.cachedImage(for: request(40)) == nil)
    }
}
