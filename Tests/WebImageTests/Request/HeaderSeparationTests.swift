import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// The requests that share responses, by their header fields.
@Suite(.timeLimit(.minutes(1))) struct HeaderSeparationTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test(arguments: ["X-Session", "Api-Token", "Private-Token"])
    func usersWithDifferentTokensGetTheirOwnImages(name: String) async throws {
        for number in 1...2 {
            let request = WebImageRequest(url, headers: [name: "user \(number)"])
            let response = try await fixture.load(request, answeringWith: SolidPicture(number))
            #expect(SolidPicture(number).matches(response.image))
        }
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        for number in 1...2 {
            let request = WebImageRequest(url, headers: [name: "user \(number)"])
            let response = try await fixture.manager.response(for: request)
            #expect(response.origin == .diskCache && SolidPicture(number).matches(response.image))
        }
    }

    @Test func requestsWithDifferentTracingHeadersShareATransfer() async throws {
        let results = Results()
        for number in 1...3 {
            let headers = ["traceparent": "00-\(number)", "X-Request-ID": "\(number)"]
            fixture.manager.load(WebImageRequest(url, headers: headers), completion: results.note)
        }
        // Without joining there is a load for each.
        let loads = Task { [loader = fixture.loader] in
            for await load in loader.loads { try load.answer(SolidPicture(1).png()) }
        }
        #expect(await results.wait(for: 3).count == 3)
        loads.cancel()
        #expect(fixture.loader.loadCount == 1)
    }

    @Test(arguments: [CachePolicy.cacheFirst, .http])
    func partialContentIsNeverUsedAsTheWholeImage(policy: CachePolicy) async throws {
        let part = WebImageRequest(url, cachePolicy: policy, headers: ["range": "bytes=0-99"])
        let whole = WebImageRequest(url, cachePolicy: policy)
        let small = try SolidPicture(1).png()
        for _ in 1...2 {
            let response = try await fixture.load(part) {
                $0.answer(small, status: 206, "Cache-Control: max-age=60\nContent-Range: bytes 0-99/200")
            }
            #expect(response.origin == .remote)
        }
        #expect(fixture.manager.cachedImage(for: whole) == nil)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)

        _ = try await fixture.load(whole) { try $0.answer(SolidPicture(2), "Cache-Control: max-age=60") }
        let response = try await fixture.load(part) {
            $0.answer(small, status: 206, "Cache-Control: max-age=60\nContent-Range: bytes 0-99/200")
        }
        #expect(SolidPicture(1).matches(response.image))
        let cached = try await fixture.manager.response(for: whole)
        #expect(cached.origin == .memoryCache && SolidPicture(2).matches(cached.image))
    }
}
