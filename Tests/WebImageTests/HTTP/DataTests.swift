import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

/// `data(for:)`: any answer, by the rules of HTTP.
@Suite(.timeLimit(.minutes(1))) struct DataTests {
    private let fixture: ManagerFixture
    private let url: URL
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("page")
        request = WebImageRequest(url, cachePolicy: .http)
    }

    private func data(
        _ request: WebImageRequest? = nil, method: LoaderRequest.Method = .get, body: Data? = nil,
        _ answer: (ScriptedLoad) throws -> Void
    ) async throws -> WebDataResponse {
        let request = (request ?? self.request).with { ($0.method, $0.body) = (method, body) }
        async let response = fixture.manager.dataResponse(for: request)
        try answer(await fixture.nextLoad())
        return try await response
    }

    private func stored(method: LoaderRequest.Method = .get) async throws -> WebDataResponse {
        try await fixture.manager.dataResponse(for: request.with { $0.method = method })
    }

    private let text = Data("<p>text</p>".utf8)

    @Test func anyResponseIsCachedWhileItIsFresh() async throws {
        for status in [200, 404, 500] {
            let url = try ManagerFixture.url("\(status)")
            let request = WebImageRequest(url, cachePolicy: .http)
            let first = try await data(request) { load in
                #expect(load.request.acceptsAnyAnswer)
                load.answer(text, status: status, "Content-Type: text/html\nCache-Control: max-age=60")
            }
            #expect(first.statusCode == status && first.data == text && first.origin == .remote)
            #expect(first.headerValue("age") == nil)
            fixture.time.advance(seconds: 59)
            let second = try await fixture.manager.dataResponse(for: request)
            #expect(second.statusCode == status && second.data == text && second.origin == .diskCache)
            #expect(second.headerValue("Age") == "59")
            #expect(second.headerValue("content-type") == "text/html")
            #expect(!second.isStale && !second.isConfirmed)
        }
        #expect(fixture.loader.loadCount == 3)
    }

    @Test func aResponseWithoutABodyIsCachedToo() async throws {
        _ = try await data { $0.answer(Data(), status: 204, "Cache-Control: max-age=60") }
        let response = try await stored()
        #expect(response.statusCode == 204 && response.data.isEmpty && response.origin == .diskCache)
    }

    @Test func a304UpdatesTheFieldsOfTheStoredResponse() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=1\nETag: \"1\"\nX-Number: 1") }
        fixture.time.advance(seconds: 5)
        let response = try await data { $0.confirm("Cache-Control: max-age=60\nX-Number: 2") }
        #expect(response.isConfirmed && response.statusCode == 200 && response.data == text)
        #expect(response.headerValue("x-number") == "2")
        #expect(try await stored().origin == .diskCache)
    }

    @Test func uncacheableResponsesAreNotStored() async throws {
        for headers in ["Cache-Control: no-store", "Vary: *"] {
            _ = try await data { $0.answer(text, status: 200, headers) }
            #expect(await fixture.cache.disk?.contains(url.absoluteString) == false)
        }
        // Errors without a lifetime, where none can be guessed.
        _ = try await data { $0.answer(text, status: 500) }
        #expect(await fixture.cache.disk?.contains(url.absoluteString) == false)
    }

    @Test func aHeadRequestUsesAndUpdatesAStoredGetResponse() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60\nETag: \"1\"") }
        let head = try await stored(method: .head)
        #expect(head.origin == .diskCache && head.data.isEmpty && head.headerValue("etag") == "\"1\"")
        fixture.time.advance(seconds: 60)
        _ = try await data(method: .head) { load in
            #expect(load.request.method == .head)
            load.answer(Data(), status: 200, "Cache-Control: max-age=100\nETag: \"1\"")
        }
        fixture.time.advance(seconds: 99)
        #expect(try await stored().origin == .diskCache)
        // Another tag shows that what is stored is no longer what the server has.
        fixture.time.advance(seconds: 1)
        _ = try await data(method: .head) { $0.answer(Data(), status: 200, "Cache-Control: max-age=100\nETag: \"2\"") }
        _ = try await data { $0.answer(text, status: 200) }
    }

    @Test func aHeadRequestRevalidatesAStoredGetResponse() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60\nETag: \"1\"") }
        fixture.time.advance(seconds: 60)
        let head = try await data(method: .head) { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            load.confirm()
        }
        #expect(head.statusCode == 200 && head.isConfirmed && head.data.isEmpty)
        #expect(try await stored().data == text)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func aHeadResponseAloneIsNotStored() async throws {
        for _ in 0..<2 {
            _ = try await data(method: .head) { $0.answer(Data(), status: 200, "Cache-Control: max-age=60") }
        }
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test(arguments: [LoaderRequest.Method.post, .put, .delete])
    func anUnsafeMethodIsSentAndInvalidatesTheStoredResponse(_ method: LoaderRequest.Method) async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60") }
        let picture = try await withPicture()
        let body = method == .delete ? nil : Data("new".utf8)
        let response = try await data(method: method, body: body) { load in
            #expect(load.request.method == method && load.request.body == body)
            load.answer(Data("done".utf8), status: 201, "Location: /picture")
        }
        #expect(response.statusCode == 201 && response.origin == .remote)
        #expect(await fixture.cache.disk?.count == 0)
        #expect(fixture.manager.cachedImage(for: picture) == nil)
    }

    /// The redirect is the answer to the method: what it led to may be anything.
    @Test(arguments: [200, 404]) func aPostWithARedirectInvalidatesTheTargetsStoredResponse(
        _ status: Int
    ) async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60") }
        let picture = try await withPicture()
        _ = try await data(method: .post, body: Data("new".utf8)) { load in
            load.redirect(303, "Location: /picture", to: picture.url)
            load.answer(Data("done".utf8), status: status)
        }
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
        #expect(fixture.manager.cachedImage(for: picture) == nil)
    }

    @Test func anUnsafeMethodWithAnInterruptedResponseStillInvalidates() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60") }
        _ = try? await data(method: .post) { load in
            load.begin(expectedByteCount: 10)
            load.end(.failure(.invalidResponse(reason: .truncated(expected: 10, received: 0), url: url)))
        }
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test(arguments: [401, 429, 503]) func anUncacheableErrorLeavesTheStoredResponse(_ status: Int) async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60\nETag: \"1\"") }
        fixture.time.advance(seconds: 60)
        let trouble = try await data { $0.answer(Data("no".utf8), status: status, "Cache-Control: no-store") }
        #expect(trouble.statusCode == status)
        let response = try await data { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            load.confirm()
        }
        #expect(response.data == text)
    }

    @Test func aFailedUnsafeMethodInvalidatesNothing() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60") }
        _ = try await data(method: .post) { $0.answer(Data(), status: 403) }
        #expect(try await stored().origin == .diskCache)
    }

    private func withPicture() async throws -> WebImageRequest {
        let picture = WebImageRequest(try ManagerFixture.url("picture"), cachePolicy: .http)
        async let response = fixture.manager.response(for: picture)
        try await fixture.nextLoad().answer(SolidPicture(1), "Cache-Control: max-age=60")
        _ = try await response
        return picture
    }

    @Test func rangesAndConditionsOfTheCallerBypassTheCache() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60\nETag: \"1\"") }
        for (name, value) in [("If-None-Match", "\"1\""), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")] {
            for policy in [CachePolicy.http, .cacheFirst] {
                let response = try await data(
                    WebImageRequest(url, cachePolicy: policy, headers: [name: value])
                ) { $0.confirm() }
                #expect(response.statusCode == 304 && response.origin == .remote)
            }
        }
        let part = WebImageRequest(url, cachePolicy: .http, headers: ["Range": "bytes=0-1"])
        let response = try await data(part) { $0.answer(Data("<p".utf8), status: 206, "Content-Range: bytes 0-1/11") }
        #expect(response.statusCode == 206)
        #expect(await fixture.cache.disk?.count == 1)
    }

    @Test func staleWhileRevalidateServesAtOnceAndRevalidatesInTheBackground() async throws {
        _ = try await data {
            $0.answer(text, status: 200, "Cache-Control: max-age=1, stale-while-revalidate=60\nETag: \"1\"")
        }
        fixture.time.advance(seconds: 30)
        let stale = try await stored()
        #expect(stale.isStale && stale.data == text)
        try await fixture.nextLoad().answer(
            Data("new".utf8), status: 200, "Cache-Control: max-age=1, stale-while-revalidate=60\nETag: \"2\"")
        // The next one asks behind it again; what it gets is what the first has fetched, once that is stored.
        while try await stored().data == text {}
    }

    @Test func aServerErrorIsReturnedUnlessStaleIfErrorApplies() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=1, stale-if-error=60") }
        fixture.time.advance(seconds: 30)
        let standIn = try await data { $0.answer(Data(), status: 503) }
        #expect(standIn.statusCode == 200 && standIn.isStale)
        fixture.time.advance(seconds: 60)
        #expect(try await data { $0.answer(Data(), status: 503) }.statusCode == 503)
    }

    @Test func storedDataThatIsNoImageIsLoadedAgainForAnImage() async throws {
        _ = try await data { $0.answer(text, status: 200, "Cache-Control: max-age=60") }
        async let response = fixture.manager.response(for: WebImageRequest(url))
        try await fixture.nextLoad().answer(SolidPicture(1), "Cache-Control: max-age=60")
        #expect(try await response.origin == .remote)
        // And what was an image's answer is data as well.
        #expect(try await stored().data == (try SolidPicture(1).png()))
    }

    @Test func anErrorWithoutItsBodyIsNoResponse() async throws {
        async let picture = fixture.manager.response(for: request)
        try await fixture.nextLoad().refuse(404, "Cache-Control: max-age=60")
        _ = try? await picture
        let response = try await data { $0.answer(text, status: 404, "Cache-Control: max-age=60") }
        #expect(response.data == text)
    }

    @Test func cacheOnlyAsksNoServer() async throws {
        let only = WebImageRequest(url, cachePolicy: .cacheOnly)
        await #expect(throws: WebImageError.notInCache(key: url.absoluteString)) {
            try await fixture.manager.dataResponse(for: only)
        }
        _ = try await data { $0.answer(text, status: 200) }
        #expect(try await fixture.manager.dataResponse(for: only).data == text)
        await #expect(throws: WebImageError.notInCache(key: "\(url.absoluteString)|method=POST")) {
            try await fixture.manager.dataResponse(for: only.with { $0.method = .post })
        }
    }

    @Test func cancellingTheTaskCancelsTheLoad() async throws {
        let task = Task { try await fixture.manager.dataResponse(for: request) }
        let load = try await fixture.nextLoad()
        task.cancel()
        try await load.cancellations.first()
        await #expect(throws: WebImageError.cancelled) { try await task.value }
    }

    // MARK: Errors

    @Test func aStoredErrorPageIsNoImage() async throws {
        let page = try SolidPicture(1).png()
        _ = try await data { $0.answer(page, status: 404, "Cache-Control: max-age=60") }
        await fixture.cache.disk?.flush()
        let response = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(2))
        #expect(response.origin == .remote && SolidPicture(2).matches(response.image))
    }

    /// What an image's load stores of an error is its head.
    @Test func theHeadOfAnErrorIsNoData() async throws {
        await #expect(throws: WebImageError.httpStatus(code: 404, url: url)) {
            try await fixture.load(request) { $0.refuse(404, "Cache-Control: max-age=60") }
        }
        await fixture.cache.disk?.flush()
        try #require(await fixture.cache.disk?.count == 1)
        for policy in [CachePolicy.cacheFirst, .http] {
            let response = try await data(WebImageRequest(url, cachePolicy: policy)) {
                $0.answer(text, status: 404, "Cache-Control: no-store")
            }
            #expect(response.data == text && response.origin == .remote)
        }
    }
}
