import FoundationEssentials
import Testing
@testable import WebImage
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

    /// The rule of the manager holds for memory, disk and transfers; a request's own takes precedence.
    @Test func theManagersHarmlessHeadersShareImages() async throws {
        let fixture = try ManagerFixture { $0.harmlessHeaders.insert("Test-ID") }
        let results = Results()
        for number in 1...3 {
            fixture.manager.load(WebImageRequest(url, headers: ["Test-ID": "\(number)"]), completion: results.note)
        }
        let loads = Task { [loader = fixture.loader] in
            for await load in loader.loads { try load.answer(SolidPicture(1).png()) }
        }
        #expect(await results.wait(for: 3).count == 3)
        #expect(fixture.loader.loadCount == 1)
        let other = WebImageRequest(url, headers: ["test-id": "4"])
        #expect(fixture.manager.cachedImage(for: other) != nil)
        #expect(fixture.manager.cacheKey(for: other) == WebImageRequest(url).cacheKey)
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: other).origin == .diskCache)
        var separate = other
        separate.harmlessHeaders = .standard
        #expect(fixture.manager.cachedImage(for: separate) == nil)
        #expect(try await fixture.manager.response(for: separate).origin == .remote)
        loads.cancel()
    }

    @Test func aHeaderWithManyValuesIsReportedOnce() async throws {
        let messages = LockBox<[String]>([])
        let fixture = try ManagerFixture {
            $0.log = { level, text in if level == .warning { messages.withLock { $0.append(text()) } } }
        }
        let loads = Task { [loader = fixture.loader] in
            for await load in loader.loads { try load.answer(SolidPicture(1).png()) }
        }
        var traces: [String] = []
        for number in 1...20 {
            // Users' credentials differ; so do request numbers.
            let headers = ["X-Number": "v\(number)", "Authorization": "a\(number)", "X-Request-ID": "\(number)"]
            let operation = fixture.manager.load(WebImageRequest(url, headers: headers))
            _ = try await operation.response
            traces.append(operation.traceDescription)
        }
        loads.cancel()
        let warnings = traces.filter { $0.contains("harmlessHeaders") }
        #expect(warnings.count == 1 && warnings[0].contains("X-Number") && !warnings[0].contains("v8"))
        #expect(messages.withLock { $0 }.count == 1 && messages.withLock { $0[0] }.contains("X-Number"))
    }

    @Test func fewValuesOfAHeaderAreNotReported() async throws {
        let loads = Task { [loader = fixture.loader] in
            for await load in loader.loads { try load.answer(SolidPicture(1).png()) }
        }
        for number in 1...40 {
            let url = try ManagerFixture.url("\(number / 5)")
            let operation = fixture.manager.load(WebImageRequest(url, headers: ["X-Size": "\(number % 5)"]))
            _ = try await operation.response
            #expect(!operation.traceDescription.contains("harmlessHeaders"))
        }
        loads.cancel()
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
