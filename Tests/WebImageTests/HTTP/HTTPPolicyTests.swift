import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// `.http`: the server's word decides whether memory and disk may answer.
@Suite(.timeLimit(.minutes(1))) struct HTTPPolicyTests {
    private let fixture: ManagerFixture
    private let url: URL
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
        request = WebImageRequest(url, cachePolicy: .http)
    }

    /// Loads `request`, answered by `answer`.
    private func load(
        _ request: WebImageRequest? = nil, _ answer: @escaping @Sendable (ScriptedLoad) throws -> Void
    ) async throws -> WebImageResponse {
        try await fixture.load(request ?? self.request, answer)
    }

    /// Loads `request` from memory and disk only.
    private func loadAlone(_ request: WebImageRequest? = nil) async throws -> WebImageResponse {
        try await fixture.manager.response(for: request ?? self.request)
    }

    @Test func aFreshResponseComesFromMemoryAndDisk() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        fixture.time.advance(seconds: 59)
        #expect(fixture.manager.cachedImage(for: request) != nil)
        #expect(try await loadAlone().origin == .memoryCache)
        fixture.cache.memory.removeAll()
        #expect(try await loadAlone().origin == .diskCache)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func aStaleResponseIsRevalidatedAndFreshAgain() async throws {
        _ = try await load {
            try $0.answer(
                SolidPicture(1),
                "Cache-Control: max-age=60\nETag: \"1\"\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
        }
        var small = request
        small.thumbnail = Thumbnail(.pixels(width: 4, height: 4))
        _ = try await loadAlone(small)
        fixture.time.advance(seconds: 60)
        #expect(fixture.manager.cachedImage(for: request) == nil)

        let response = try await load { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            #expect(load.request.headers["If-Modified-Since"] == "Sun, 06 Nov 1994 08:49:37 GMT")
            load.confirm("Cache-Control: max-age=100")
        }
        #expect(response.origin == .diskCache)
        #expect(SolidPicture(1).matches(response.image))
        // One source of truth: every size is fresh again, in memory and on disk.
        fixture.time.advance(seconds: 99)
        #expect(fixture.manager.cachedImage(for: request) != nil)
        #expect(fixture.manager.cachedImage(for: small) != nil)
        fixture.cache.memory.removeAll()
        #expect(try await loadAlone().origin == .diskCache)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func aChangedImageReplacesEverySizeOfTheOldOne() async throws {
        var small = request
        small.thumbnail = Thumbnail(.pixels(width: 4, height: 4))
        _ = try await load(small) { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"") }
        fixture.time.advance(seconds: 60)
        let changed = try await load { try $0.answer(SolidPicture(2), "Cache-Control: max-age=60\nETag: \"2\"") }
        #expect(changed.origin == .remote && !changed.isUnchanged)
        #expect(SolidPicture(2).matches(changed.image))
        // No policy answers with the old one, although it is in memory.
        small.cachePolicy = .cacheFirst
        #expect(fixture.manager.cachedImage(for: small) == nil)
        let again = try await loadAlone(small)
        #expect(again.origin == .memoryCache, "it is made of the new one")
        #expect(SolidPicture(2).matches(again.image))
        #expect(fixture.manager.cachedImage(for: small) != nil)
    }

    @Test func aNoStoreResponseIsOnlyInMemoryAndOnlyForCacheFirst() async throws {
        var lenient = request
        lenient.cachePolicy = .cacheFirst
        _ = try await load(lenient) { try $0.answer(SolidPicture(1), "Cache-Control: no-store") }
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
        #expect(fixture.manager.cachedImage(for: lenient) != nil)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        _ = try await load { try $0.answer(SolidPicture(2), "Cache-Control: no-store") }
        // Loaded by HTTP it is not kept at all, and the old one is out of date.
        #expect(fixture.manager.cachedImage(for: lenient) == nil)
    }

    @Test func noStoreRemovesTheOldResponseFromDisk() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"") }
        fixture.time.advance(seconds: 60)
        _ = try await load { try $0.answer(SolidPicture(2), "Cache-Control: no-store") }
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
    }

    /// The rules for storing that only HTTP minds must not hide those that hold for everybody.
    @Test(arguments: ["Range: bytes=0-", "If-None-Match: \"0\"", "Cache-Control: no-store"])
    func noStoreNeverReachesTheDiskWithAnyRequest(_ field: String) async throws {
        let parts = field.split(separator: ": ").map(String.init)
        for policy in [CachePolicy.cacheFirst, .http, .reload] {
            let request = WebImageRequest(url, cachePolicy: policy, headers: [parts[0]: parts[1]])
            _ = try await load(request) { try $0.answer(SolidPicture(1), "Cache-Control: no-store") }
            await fixture.cache.disk?.flush()
            #expect(await fixture.cache.disk?.count == 0)
            fixture.cache.memory.removeAll()
        }
    }

    @Test func noStoreRemovesVaryingResponsesFromDiskToo() async throws {
        func request(_ language: String) -> WebImageRequest {
            WebImageRequest(url, cachePolicy: .http, headers: ["Accept-Language": language])
        }
        for (number, ending) in ["none", "no-store", "304", "404"].enumerated() {
            for language in ["de", "en"] {
                _ = try await load(request(language)) {
                    try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nVary: Accept-Language\nETag: \"1\"")
                }
                fixture.time.advance(seconds: 1)
            }
            await fixture.cache.disk?.flush()
            #expect(await fixture.cache.disk?.count == 2, "\(number)")
            guard ending != "none" else {
                await fixture.cache.clear()
                continue
            }
            fixture.time.advance(seconds: 60)
            _ = try? await load(request("de")) { load in
                switch ending {
                case "304": load.confirm("Cache-Control: no-store")
                case "404": load.refuse(404)
                default: try load.answer(SolidPicture(2), "Cache-Control: no-store")
                }
            }
            await fixture.cache.disk?.flush()
            #expect(await fixture.cache.disk?.count == 0, "\(ending)")
            fixture.cache.memory.removeAll()
        }
    }

    @Test func aResponseThatCannotBeReusedIsOnDiskForCacheFirst() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nVary: *") }
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) != nil)
        _ = try await load { try $0.answer(SolidPicture(2), "Cache-Control: max-age=60\nVary: *") }
        fixture.cache.memory.removeAll()
        #expect(SolidPicture(2).matches(try await loadAlone(WebImageRequest(url)).image))
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func responsesSeparatedByVaryAreStoredSideBySide() async throws {
        func request(_ language: String) -> WebImageRequest {
            WebImageRequest(url, cachePolicy: .http, headers: ["Accept-Language": language])
        }
        let headers = "Cache-Control: max-age=60\nVary: Accept-Language"
        for (number, language) in ["de", "en", "fr"].enumerated() {
            _ = try await load(request(language)) { try $0.answer(SolidPicture(number + 1), headers) }
            fixture.time.advance(seconds: 1)
        }
        for (number, language) in ["de", "en", "fr"].enumerated() {
            let response = try await loadAlone(request(language))
            #expect(SolidPicture(number + 1).matches(response.image))
        }
        #expect(fixture.loader.loadCount == 3)
        // No other policy confuses them; one that was not requested before is loaded.
        var lenient = request("it")
        lenient.cachePolicy = .cacheFirst
        _ = try await load(lenient) { try $0.answer(SolidPicture(4), headers) }
        #expect(fixture.loader.loadCount == 4)
        // Those that answered by disk are there still, after one of them was replaced.
        fixture.time.advance(seconds: 60)
        _ = try await load(request("de")) { try $0.answer(SolidPicture(9), headers) }
        var old = request("en")
        old.cachePolicy = .cacheOnly
        fixture.cache.memory.removeAll()
        #expect(SolidPicture(2).matches(try await loadAlone(old).image))
        #expect(SolidPicture(9).matches(try await loadAlone(request("de")).image))
    }

    @Test func theLatestEightVaryingResponsesAreStored() async throws {
        func request(_ number: Int) -> WebImageRequest {
            WebImageRequest(url, cachePolicy: .http, headers: ["Accept-Language": "l\(number)"])
        }
        for number in 0..<11 {
            _ = try await load(request(number)) {
                try $0.answer(SolidPicture(number), "Cache-Control: max-age=60\nVary: Accept-Language")
            }
            fixture.time.advance(seconds: 1)
        }
        #expect(await fixture.cache.disk?.count == 9)
        var only = request(2)
        only.cachePolicy = .cacheOnly
        fixture.cache.memory.removeAll()
        #expect(SolidPicture(2).matches(try await loadAlone(only).image))
        only = request(1)
        only.cachePolicy = .cacheOnly
        await #expect(throws: WebImageError.notInCache(key: url.absoluteString)) { try await loadAlone(only) }
    }

    @Test func anErrorWithALifetimeIsCached() async throws {
        let missing = WebImageError.httpStatus(code: 404, url: url)
        await #expect(throws: missing) { try await load { $0.refuse(404, "Cache-Control: max-age=60") } }
        fixture.time.advance(seconds: 59)
        await #expect(throws: missing) { try await loadAlone() }
        #expect(fixture.loader.loadCount == 1)
        // It is no image for requests that accept any stored response.
        _ = try await load(WebImageRequest(url)) { try $0.answer(SolidPicture(1), "") }
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func anErrorForOneLanguageLeavesTheImagesOfOthers() async throws {
        func request(_ language: String) -> WebImageRequest {
            WebImageRequest(url, cachePolicy: .http, headers: ["Accept-Language": language])
        }
        let headers = "Cache-Control: max-age=60\nVary: Accept-Language"
        _ = try await load(request("de")) { try $0.answer(SolidPicture(1), headers) }
        for _ in 0..<2 {
            await #expect(throws: WebImageError.httpStatus(code: 404, url: url)) {
                if fixture.loader.loadCount == 1 {
                    _ = try await load(request("en")) { $0.refuse(404, headers) }
                } else {
                    _ = try await loadAlone(request("en"))
                }
            }
        }
        fixture.cache.memory.removeAll()
        #expect(SolidPicture(1).matches(try await loadAlone(request("de")).image))
        #expect(fixture.loader.loadCount == 2)
    }

    @Test(arguments: [404, 410]) func aNotFoundErrorRemovesTheStoredResponse(_ status: Int) async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        fixture.time.advance(seconds: 60)
        await #expect(throws: WebImageError.self) { try await load { $0.refuse(status) } }
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func aServerErrorLeavesTheStoredResponse() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        fixture.time.advance(seconds: 60)
        await #expect(throws: WebImageError.httpStatus(code: 503, url: url)) { try await load { $0.refuse(503) } }
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) != nil)
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) != nil)
    }

    @Test(arguments: [0, 503]) func staleIfErrorServesTheStoredResponse(_ status: Int) async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60, stale-if-error=60") }
        fixture.time.advance(seconds: 100)
        let response = try await load { load in
            if status == 0 {
                load.end(.failure(.timedOut(after: .seconds(1), url: url)))
            } else {
                load.refuse(status)
            }
        }
        #expect(response.origin == .diskCache)
        fixture.time.advance(seconds: 100)
        await #expect(throws: WebImageError.self) { try await load { $0.refuse(500) } }
    }

    @Test func aMismatching304IsFollowedByAnUnconditionalRequest() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"") }
        fixture.time.advance(seconds: 60)
        async let response = fixture.manager.response(for: request)
        try await fixture.nextLoad().confirm("ETag: \"2\"")
        let second = try await fixture.nextLoad()
        #expect(second.request.headers["If-None-Match"] == nil)
        try second.answer(SolidPicture(2), "ETag: \"2\"")
        #expect(SolidPicture(2).matches(try await response.image))
    }

    /// Dates of two places may agree by chance, and tags too.
    @Test func a304FromANewRedirectTargetDoesNotConfirmTheOldOne() async throws {
        let places = try ["first", "second"].map(ManagerFixture.url)
        let validator = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
        _ = try await load { load in
            load.redirect(302, to: places[0])
            try load.answer(SolidPicture(1), validator)
        }
        let response = try await load { load in
            load.redirect(302, to: places[0])
            load.confirm()
        }
        #expect(SolidPicture(1).matches(response.image))
        async let other = fixture.manager.response(for: request)
        let question = try await fixture.nextLoad()
        question.redirect(302, to: places[1])
        question.confirm()
        let second = try await fixture.nextLoad()
        #expect(second.request.headers["If-Modified-Since"] == nil)
        second.redirect(302, to: places[1])
        try second.answer(SolidPicture(2), validator)
        #expect(SolidPicture(2).matches(try await other.image))
    }

    @Test func aClockSetBackMakesResponsesStale() async throws {
        _ = try await load { try $0.answer(SolidPicture(1), "Cache-Control: max-age=6000\nETag: \"1\"") }
        fixture.time.advance(seconds: -3600)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        _ = try await load { $0.confirm() }
        #expect(fixture.manager.cachedImage(for: request) != nil)
    }

    @Test(arguments: [
        (302, "", true), (302, "Cache-Control: max-age=30", false), (301, "", false),
        (301, "Cache-Control: no-cache", true),
    ])
    func aResponseIsFreshNoLongerThanItsRedirects(
        _ status: Int, _ headers: String, isConfirmedEachTime: Bool
    ) async throws {
        _ = try await load { load in
            load.redirect(status, headers)
            try load.answer(SolidPicture(1), "Cache-Control: max-age=60")
        }
        #expect((fixture.manager.cachedImage(for: request) == nil) == isConfirmedEachTime)
        fixture.time.advance(seconds: 31)
        let isLimited = headers.contains("max-age")
        #expect((fixture.manager.cachedImage(for: request) == nil) == (isConfirmedEachTime || isLimited))
    }

    @Test func aLoaderWithoutHTTPLoadsEachTime() async throws {
        let fixture = try ManagerFixture()
        for number in 1...2 {
            async let response = fixture.manager.response(for: request)
            let load = try await fixture.nextLoad()
            load.answerWithoutHead(try SolidPicture(number).png())
            #expect(SolidPicture(number).matches(try await response.image))
        }
    }

    @Test func memoryServesFreshResponsesWithoutADisk() async throws {
        let fixture = try ManagerFixture(hasDisk: false)
        async let response = fixture.manager.response(for: request)
        try await fixture.nextLoad().answer(SolidPicture(1), "Cache-Control: max-age=60")
        _ = try await response
        #expect(fixture.manager.cachedImage(for: request) != nil)
        fixture.time.advance(seconds: 60)
        #expect(fixture.manager.cachedImage(for: request) == nil)
    }
}
