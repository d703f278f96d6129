import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// Requests with a closure that returns bytes or an image.
@Suite(.timeLimit(.minutes(1))) struct RequestProviderTests {
    private let fixture: ManagerFixture

    init() throws { fixture = try ManagerFixture() }

    @Test func areLoadedOnceAndCachedUnderTheirID() async throws {
        let calls = LockBox(0)
        func request() -> WebImageRequest {
            WebImageRequest(id: "cover/ä 1") {
                calls.withLock { $0 += 1 }
                return try SolidPicture(4).png()
            }
        }
        let first = try await fixture.manager.response(for: request())
        #expect(SolidPicture(4).matches(first.image))
        #expect(first.origin == .remote)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request()).origin == .diskCache)
        #expect(calls.withLock { $0 } == 1)
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func doNotUseTheDiskUnlessAllowed() async throws {
        let request = WebImageRequest(id: "volatile", isCacheable: false) { try SolidPicture(4).png() }
        _ = try await fixture.manager.response(for: request)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test func failWithTheirOwnErrors() async throws {
        struct Trouble: Error {}
        let failing = WebImageRequest(id: "x", data: { throw Trouble() })
        let error = await #expect(throws: WebImageError.self) { try await fixture.manager.image(for: failing) }
        #expect(error == .custom(id: "x", message: "Trouble()"))
        #expect(error?.code == 240)
        let known = WebImageRequest(id: "y", data: { throw WebImageError.notInCache(key: "k") })
        await #expect(throws: WebImageError.notInCache(key: "k")) { try await fixture.manager.image(for: known) }
        let empty = WebImageRequest(id: "z") { Data() }
        await #expect(throws: WebImageError.invalidResponse(reason: .emptyBody, url: empty.url)) {
            try await fixture.manager.image(for: empty)
        }
    }

    @Test func areCancelledWithTheLoad() async throws {
        let started = Countdown()
        let ended = Countdown()
        let request = WebImageRequest(id: "slow") {
            started.signal()
            defer { ended.signal() }
            try await Task.sleep(for: .seconds(60))
            return Data()
        }
        let results = Results()
        let operation = fixture.manager.load(request, completion: results.note)
        try await started.wait()
        operation.cancel()
        try await ended.wait()
        #expect(await results.wait(for: 1).count == 1)
        #expect(results.errors == [.cancelled])
    }

    @Test(arguments: ["//a/b", "/etc/hostname", "", "a b%2F?#", "photo@2x.png"])
    func anyTextIsAValidID(id: String) async throws {
        let request = WebImageRequest(id: id) { try SolidPicture(4).png() }
        #expect(request.url.scheme == "webimage-provider")
        #expect(SolidPicture(4).matches(try await fixture.manager.image(for: request)))
        #expect(request.url != WebImageRequest(id: id + "/") { Data() }.url)
    }

    // MARK: Images

    @Test func anImageIsCachedInMemoryUnderItsID() async throws {
        let calls = LockBox(0)
        func request(_ policy: CachePolicy = .cacheFirst) -> WebImageRequest {
            var request = WebImageRequest(
                id: "chart/1",
                image: {
                    calls.withLock { $0 += 1 }
                    return try SolidPicture(4).image()
                })
            request.cachePolicy = policy
            return request
        }
        await #expect(throws: WebImageError.self) { try await fixture.manager.image(for: request(.cacheOnly)) }
        let first = try await fixture.manager.response(for: request())
        #expect(SolidPicture(4).matches(first.image))
        #expect(first.origin == .remote && first.data == nil)
        #expect(first.trace.entries.contains { $0.message == "the request's closure returned the image" })
        #expect(try await fixture.manager.response(for: request()).origin == .memoryCache)
        #expect(fixture.manager.cachedImage(for: request()) != nil)
        #expect(calls.withLock { $0 } == 1)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request()).origin == .remote)
        #expect(calls.withLock { $0 } == 2)
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func anImageIsScaledDownAndProcessed() async throws {
        let image = try SolidPicture(4).image()
        let half = Thumbnail(.pixels(width: image.pixels.size.width / 2, height: 1000))
        var request = WebImageRequest(id: "large", thumbnail: half, image: { image })
        let small = try await fixture.manager.image(for: request)
        #expect(small.pixels.size == half.targetSize(of: image.pixels.size))
        request.thumbnail = nil
        request.processors = [ProbeProcessor(name: "a").erased]
        _ = try await fixture.manager.image(for: request)
        #expect(fixture.manager.cachedImage(for: request) != nil)
    }

    @Test func anImageClosureFailsAndIsCancelledLikeOneForBytes() async throws {
        struct Trouble: Error {}
        let failing = WebImageRequest(id: "x", image: { throw Trouble() })
        await #expect(throws: WebImageError.custom(id: "x", message: "Trouble()")) {
            try await fixture.manager.image(for: failing)
        }
        let image = try SolidPicture(1).image()
        let (started, ended) = (Countdown(), Countdown())
        let request = WebImageRequest(
            id: "slow",
            image: {
                started.signal()
                defer { ended.signal() }
                try await Task.sleep(for: .seconds(60))
                return image
            })
        let operation = fixture.manager.load(request)
        try await started.wait()
        operation.cancel()
        try await ended.wait()
        await #expect(throws: WebImageError.cancelled) { try await operation.response }
        await #expect(throws: WebImageError.self, "it has no bytes") {
            try await fixture.manager.dataResponse(for: failing)
        }
    }
}
