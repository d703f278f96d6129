import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

/// Images of requests with another method than GET, or with a body.
@Suite(.timeLimit(.minutes(1))) struct RequestMethodTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("chart")
    }

    private func post(_ body: String, isCached: Bool = false) -> WebImageRequest {
        WebImageRequest(url).with { request in
            (request.method, request.body) = (.post, Data(body.utf8))
            if isCached { request.cacheKeyFilter = { $0.absoluteString } }
        }
    }

    private func forgetMemory() async {
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
    }

    @Test func anImageOfAPostIsNeitherStoredNorTakenFromCaches() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        for number in 2...3 {
            let response = try await fixture.load(post("a")) { load in
                #expect(load.request.method == .post && load.request.body == Data("a".utf8))
                try load.answer(SolidPicture(number), "Cache-Control: max-age=60")
            }
            #expect(response.origin == .remote && SolidPicture(number).matches(response.image))
        }
        #expect(fixture.manager.cachedImage(for: post("a")) == nil)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.contains(post("a").cacheKey.description) == false)
        #expect(fixture.loader.loadCount == 3)
    }

    @Test func withAFilterForKeysItIsCachedByMethodAndBody() async throws {
        let request = post("a", isCached: true)
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "") }
        #expect(try await fixture.manager.response(for: request).origin == .memoryCache)
        await forgetMemory()
        let stored = try await fixture.manager.response(for: request)
        #expect(stored.origin == .diskCache && SolidPicture(1).matches(stored.image))
        let others = [post("b", isCached: true), request.with { $0.method = .put }, WebImageRequest(url)]
        for (number, other) in others.enumerated() {
            let response = try await fixture.load(other, answeringWith: SolidPicture(10 + number))
            #expect(response.origin == .remote)
        }
        #expect(Set(([request] + others).map(\.cacheKey)).count == 4)
    }

    @Test func aCachedPostFollowsNoStore() async throws {
        let request = post("a", isCached: true)
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "Cache-Control: no-store") }
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.contains(request.cacheKey.description) == false)
    }

    @Test func requestsInProgressShareATransferIfTheirBodiesAreEqual() async throws {
        let results = Results()
        for body in ["a", "a", "b"] { fixture.manager.load(post(body), completion: results.note) }
        for _ in 0..<2 {
            let load = try await fixture.nextLoad()
            try load.answer(SolidPicture(load.request.body == Data("a".utf8) ? 1 : 2), "")
        }
        let images = try await results.wait(for: 3).map { try $0.get().image }
        #expect(images.filter(SolidPicture(1).matches).count == 2 && images.filter(SolidPicture(2).matches).count == 1)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test(arguments: [CachePolicy.cacheOnly, .offline]) func policiesWithoutAServerFail(_ policy: CachePolicy) async {
        let request = post("a").with { $0.cachePolicy = policy }
        await #expect(throws: WebImageError.notInCache(key: request.cacheKey.source)) {
            try await fixture.manager.image(for: request)
        }
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func aPostRemovesWhatIsStoredUnderGET() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        _ = try await fixture.load(post("a")) { try $0.answer(SolidPicture(2), "") }
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test func aRefreshSendsNoConditions() async throws {
        let request = post("a", isCached: true)
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        let response = try await fixture.load(request.with { $0.cachePolicy = .refresh }) { load in
            #expect(load.request.headers["If-None-Match"] == nil)
            try load.answer(SolidPicture(2), "ETag: \"2\"")
        }
        #expect(SolidPicture(2).matches(response.image))
    }

    @Test func theBodyGoesToNoOtherURL() async throws {
        let small = try ManagerFixture.url("small")
        let results = Results()
        // One that may be sent again.
        let request = post("a").with { request in
            request.method = .put
            request.lowResolutionURL = small
            request.alternatives = [small]
        }
        fixture.manager.load(request, completion: results.note)
        let loads = [try await fixture.nextLoad(), try await fixture.nextLoad()]
        let other = try #require(loads.first { $0.request.url == small })
        #expect(other.request.method == .get && other.request.body == nil)
        loads.first { $0.request.url == url }?.refuse(404)
        #expect(await results.wait(for: 1).count == 1 && results.errors == [.httpStatus(code: 404, url: url)])
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func aViewThatHasTheImageLoadsItAgain() {
        let request = post("a")
        #expect(request.isForSameImage(as: request) && !request.isAnswered(byImageOf: request))
        let cached = post("a", isCached: true)
        #expect(cached.isAnswered(byImageOf: cached))
    }
}
