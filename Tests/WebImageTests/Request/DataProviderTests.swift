import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Bytes that a closure gives.
@Suite(.timeLimit(.minutes(1))) struct DataProviderTests {
    private let fixture: ManagerFixture

    init() throws { fixture = try ManagerFixture() }

    @Test func areLoadedOnceAndCachedUnderTheirID() async throws {
        let calls = Lock(0)
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

    @Test func doNotTouchTheDiskUnlessTheyMay() async throws {
        let request = WebImageRequest(id: "volatile", isCacheable: false) { try SolidPicture(4).png() }
        _ = try await fixture.manager.response(for: request)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test func failWithTheirOwnWords() async throws {
        struct Trouble: Error {}
        let failing = WebImageRequest(id: "x") { throw Trouble() }
        let error = await #expect(throws: WebImageError.self) { try await fixture.manager.image(for: failing) }
        #expect(error == .custom(reason: .provider, id: "x", message: "Trouble()"))
        #expect(error?.code == 240)
        let known = WebImageRequest(id: "y") { throw WebImageError.notInCache(key: "k") }
        await #expect(throws: WebImageError.notInCache(key: "k")) { try await fixture.manager.image(for: known) }
        let empty = WebImageRequest(id: "z") { Data() }
        await #expect(throws: WebImageError.invalidResponse(reason: .emptyBody, url: empty.url)) {
            try await fixture.manager.image(for: empty)
        }
    }

    @Test func areGivenUpWithTheLoad() async throws {
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
    func anyTextNamesThem(id: String) async throws {
        let request = WebImageRequest(id: id) { try SolidPicture(4).png() }
        #expect(request.url.scheme == "webimage-provider")
        #expect(SolidPicture(4).matches(try await fixture.manager.image(for: request)))
        #expect(request.url != WebImageRequest(id: id + "/") { Data() }.url)
    }
}
