import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageProcessing
@testable import WebImageCaching

/// The settings of a manager for all requests, and the decisions of its hooks.
@Suite(.timeLimit(.minutes(1))) struct HookTests {
    private let url: URL

    init() throws { url = try ManagerFixture.url("a") }

    @Test func managerHeadersAreAddedAndFiltered() async throws {
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { request in
                let defaults = ["User-Agent": "manager", "X-Own": "manager", "X-Path": request.url.path()]
                request.headers.merge(defaults) { own, _ in own }
            }
        }
        fixture.manager.load(WebImageRequest(url, headers: ["X-Own": "request"])) { _ in }
        let headers = try await fixture.nextLoad().request.headers
        #expect(headers["User-Agent"] == "manager")
        #expect(headers["X-Own"] == "request")
        #expect(headers["X-Path"] == "/a")
        fixture.manager.cancelAll()
    }

    @Test func theRequestOfAViewIsProcessedOnce() async throws {
        let count = LockBox(0)
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { _ in count.withLock { $0 += 1 } }
        }
        let result = try await fixture.show(WebImageRequest(url), SolidPicture(1))
        #expect(try result?.get().origin == .remote)
        #expect(count.withLock { $0 } == 1)
    }

    /// That may call code of the program, such as a downloader's request modifier.
    @Test func theLoaderIsAskedForItsHeadersOnlyIfTheyMatter() async throws {
        let fixture = try ManagerFixture()
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        let count = fixture.loader.headerRequestCount
        let response = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(response.origin == .diskCache)
        #expect(fixture.loader.headerRequestCount == count)
    }

    @Test func theFieldsOfARequestAreNeededOnlyWhereAnEarlierResponseVaries() {
        let (table, date) = (ProvenanceTable(), Date())
        func record(_ headers: [HTTPHeader]) -> ResponseRecord {
            ResponseRecord(
                CachedResponse(
                    statusCode: 200, headers: headers, requestHeaders: [HTTPHeader(name: "Accept", value: "a")],
                    requestTime: date, responseTime: date))
        }
        var callCount = 0
        func adopt(_ record: ResponseRecord) {
            table.adopt(record, source: "source") {
                callCount += 1
                return [HTTPHeader(name: "Accept", value: "b")]
            }
        }
        let (plain, varying, other, latest) = (
            record([]), record([HTTPHeader(name: "Vary", value: "Accept")]), record([]), ResponseRecord(nil)
        )
        adopt(plain)
        adopt(varying)
        #expect(plain.isSuperseded && callCount == 0)
        adopt(other)
        #expect(!varying.isSuperseded && callCount == 1, "it answers requests with another Accept")
        adopt(latest)
        #expect(other.isSuperseded && !varying.isSuperseded && callCount == 2)
    }

    @Test func theManagersCredentialAndTimeLimitApplyToRequestsWithoutThem() async throws {
        let (mine, own) = (Credential(username: "m", password: "p"), Credential(username: "o", password: "p"))
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { request in
                request.credential = request.credential ?? mine
                request.idleTimeout = request.idleTimeout ?? .seconds(7)
                request.totalTimeout = request.totalTimeout ?? .seconds(70)
            }
        }
        fixture.manager.load(WebImageRequest(url)) { _ in }
        let first = try await fixture.nextLoad().request
        #expect(first.credential == mine)
        #expect(first.idleTimeout == .seconds(7))
        #expect(first.totalTimeout == .seconds(70))
        var request = WebImageRequest(url, credential: own, idleTimeout: .seconds(1))
        request.totalTimeout = .seconds(10)
        fixture.manager.load(request) { _ in }
        let second = try await fixture.nextLoad().request
        #expect(second.credential == own)
        #expect(second.idleTimeout == .seconds(1))
        #expect(second.totalTimeout == .seconds(10))
        #expect(fixture.manager.cacheKey(for: WebImageRequest(url)) != WebImageRequest(url).cacheKey)
        fixture.manager.cancelAll()
    }

    /// A program keeps what changes in a value of its own.
    @Test func settingsChangeBetweenLoads() async throws {
        let settings = LockBox((timeout: Duration.seconds(1), filter: { @Sendable (url: URL) in url.absoluteString }))
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { request in
                let (timeout, filter) = settings.withLock { $0 }
                (request.idleTimeout, request.cacheKeyFilter) = (timeout, filter)
            }
        }
        _ = try await fixture.load(WebImageRequest(url)) { load in
            #expect(load.request.idleTimeout == .seconds(1))
            try load.answer(SolidPicture(1), "")
        }
        settings.withLock { $0 = (.seconds(2), { $0.path() }) }
        #expect(fixture.manager.cacheKey(for: WebImageRequest(url)).source == "/a")
        _ = try await fixture.load(WebImageRequest(url)) { load in
            #expect(load.request.idleTimeout == .seconds(2))
            try load.answer(SolidPicture(2), "")
        }
    }

    @Test func sharedProcessorsApplyToRequestsWithoutProcessors() async throws {
        let shared = ProbeProcessor(name: "shared", red: 3)
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { request in
                if request.processors.isEmpty, request.userInfo["original"] == nil {
                    request.processors = [shared.erased]
                }
            }
        }
        let response = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(response.image.pixels[0, 0].x == 4)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url))?.pixels[0, 0].x == 4)
        #expect(fixture.cache.image(inMemoryFor: WebImageRequest(url).cacheKey) == nil, "not under the original's key")
        let own = WebImageRequest(url, processors: [ProbeProcessor(name: "own", red: 5).erased])
        #expect(try await fixture.manager.image(for: own).pixels[0, 0].x == 6)
        var without = WebImageRequest(url)
        without.userInfo["original"] = true
        #expect(try await fixture.manager.image(for: without).pixels[0, 0].x == 1)
    }

    @Test func theOptionsProcessorSeesRequestsFirst() async throws {
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { request in
                if request.url.lastPathComponent == "a" { request.originalCacheAccess.store = [] }
                request.userInfo["seen"] = true
            }
        }
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let other = WebImageRequest(try ManagerFixture.url("b"))
        _ = try await fixture.load(other, answeringWith: SolidPicture(1))
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.contains(WebImageRequest(url).cacheKey.source) == false)
        #expect(await fixture.cache.disk?.contains(other.cacheKey.source) == true)
        let operation = fixture.manager.load(WebImageRequest(url)) { _ in }
        #expect(operation.request.userInfo["seen"] as? Bool == true)
    }

    @Test func theManagersKeyFilterAppliesUnlessTheRequestHasOne() async throws {
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { $0.cacheKeyFilter = $0.cacheKeyFilter ?? { $0.path() } }
        }
        let signed = try ManagerFixture.url("a?signature=1")
        #expect(fixture.manager.cacheKey(for: WebImageRequest(signed)).source == "/a")
        var own = WebImageRequest(signed)
        own.cacheKeyFilter = { _ in "own" }
        #expect(fixture.manager.cacheKey(for: own).source == "own")
    }

    @Test func shouldLoadRefuses() async throws {
        let fixture = try ManagerFixture { $0.shouldLoad = { $0.url.lastPathComponent != "a" } }
        let allowed = WebImageRequest(try ManagerFixture.url("b"))
        _ = try await fixture.load(allowed, answeringWith: SolidPicture(1))
        #expect(try await fixture.manager.response(for: allowed).origin == .memoryCache)
        await #expect(throws: WebImageError.blocked(reason: .hook, url: url)) {
            try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        }
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func shouldLoadIsAskedOnceMemoryAndDiskHaveMissed() async throws {
        let (asked, isAllowed) = (LockBox<[String]>([]), LockBox(true))
        let fixture = try ManagerFixture {
            $0.shouldLoad = { request in
                asked.withLock { $0.append(request.url.lastPathComponent) }
                return isAllowed.withLock { $0 }
            }
        }
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(asked.withLock { $0 } == ["a"])
        isAllowed.withLock { $0 = false }
        #expect(try await fixture.manager.response(for: WebImageRequest(url)).origin == .memoryCache)
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: WebImageRequest(url)).origin == .diskCache)
        let processed = WebImageRequest(url, processors: [ProbeProcessor(name: "a").erased])
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: processed).origin == .diskCache)
        #expect(asked.withLock { $0 } == ["a"], "the caches had it")
        await #expect(throws: WebImageError.blocked(reason: .hook, url: url)) {
            try await fixture.manager.response(for: WebImageRequest(url, cachePolicy: .reload))
        }
        let other = WebImageRequest(try ManagerFixture.url("b"), processors: [ProbeProcessor(name: "b").erased])
        await #expect(throws: WebImageError.blocked(reason: .hook, url: other.url)) {
            try await fixture.manager.response(for: other)
        }
        #expect(asked.withLock { $0 } == ["a", "a", "b"])
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func aRefusedRequestIsServedStaleImages() async throws {
        let isAllowed = LockBox(true)
        let fixture = try ManagerFixture { $0.shouldLoad = { _ in isAllowed.withLock { $0 } } }
        let request = WebImageRequest(url, cachePolicy: .http)
        _ = try await fixture.load(request) {
            try $0.answer(SolidPicture(1), "Cache-Control: max-age=1, stale-while-revalidate=60")
        }
        isAllowed.withLock { $0 = false }
        fixture.time.advance(seconds: 30)
        #expect(SolidPicture(1).matches(try await fixture.manager.response(for: request).image))
        fixture.time.advance(seconds: 60)
        await #expect(throws: WebImageError.blocked(reason: .hook, url: url)) {
            try await fixture.manager.response(for: request)
        }
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func shouldLoadIsAskedAboutTheLowResolutionURLToo() async throws {
        let fixture = try ManagerFixture { $0.shouldLoad = { $0.url.lastPathComponent != "small" } }
        var request = WebImageRequest(url)
        request.lowResolutionURL = try ManagerFixture.url("small")
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func willCacheDecidesWhatIsCachedInMemory() async throws {
        let fixture = try ManagerFixture {
            $0.willCache = { image, request in
                guard request.url.lastPathComponent != "secret" else { return nil }
                var image = image
                image.extendedData = Data("kept".utf8)
                return image
            }
        }
        let secret = WebImageRequest(try ManagerFixture.url("secret"))
        _ = try await fixture.load(secret, answeringWith: SolidPicture(1))
        #expect(fixture.manager.cachedImage(for: secret) == nil)
        let processed = WebImageRequest(url, processors: [ProbeProcessor(name: "a").erased])
        let response = try await fixture.load(processed, answeringWith: SolidPicture(1))
        #expect(response.image.extendedData == nil)
        #expect(fixture.manager.cachedImage(for: processed)?.extendedData == Data("kept".utf8))
    }

    @Test func didFinishIsCalledForEveryResult() async throws {
        let ends = LockBox<[String]>([])
        let fixture = try ManagerFixture {
            $0.didFinish = { operation, result in
                let end = (try? result.get()).map { "\($0.origin)" } ?? "failed"
                ends.withLock { $0.append("\(operation.request.url.lastPathComponent) \(end)") }
            }
        }
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        _ = await results.wait(for: 2)
        fixture.manager.load(WebImageRequest(try ManagerFixture.url("b")), completion: results.note).cancel()
        _ = await results.wait(for: 3)
        #expect(ends.withLock { $0 } == ["a remote", "a memoryCache", "b failed"])
    }

    // MARK: Transforms

    @Test func aClosureWithAnIDIsCached() async throws {
        let fixture = try ManagerFixture()
        let runs = LockBox(0)
        func request() -> WebImageRequest {
            WebImageRequest(
                url,
                processors: [
                    .transform(id: "same") { image, _ in
                        runs.withLock { $0 += 1 }
                        return image
                    }
                ])
        }
        let response = try await fixture.load(request(), answeringWith: SolidPicture(1))
        #expect(response.image.isTransformed)
        #expect(try await fixture.manager.response(for: request()).origin == .memoryCache)
        #expect(runs.withLock { $0 } == 1)
    }

    @Test func aClosureWithoutAnIDRunsEachTime() async throws {
        let fixture = try ManagerFixture()
        let runs = LockBox(0)
        let request = WebImageRequest(
            url,
            processors: [
                .transform { image, _ in
                    runs.withLock { $0 += 1 }
                    return image
                }
            ])
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(fixture.manager.cachedImage(for: request) == nil)
        #expect(try await fixture.manager.response(for: request).origin == .diskCache)
        #expect(runs.withLock { $0 } == 2)
    }

    @Test func aClosureThatChangesTheFirstFrameMakesAStill() async throws {
        let fixture = try ManagerFixture()
        let request = WebImageRequest(
            url,
            processors: [
                .transform(id: "red") { image, _ in
                    var image = image
                    image.pixels = try SolidPicture(200).image().pixels
                    return image
                }
            ])
        let image = try await fixture.load(request, answeringWith: TestAnimation.gif([1, 2])).image
        #expect(image.animation == nil)
        #expect(image.data == nil)
        #expect(SolidPicture(200).matches(image))
    }

    @Test func aClosuresErrorIsTheRequestsError() async throws {
        struct Trouble: Error {}
        let fixture = try ManagerFixture()
        let request = WebImageRequest(url, processors: [.transform(id: "bad") { _, _ in throw Trouble() }])
        let error = await #expect(throws: WebImageError.self) {
            try await fixture.load(request, answeringWith: SolidPicture(1))
        }
        #expect(error == .processing(identifier: "transform(id:bad)", reason: .failed("Trouble()"), url: url))
    }

    @Test func didFinishIsCalledForMemoryHits() async throws {
        let ends = LockBox(0)
        let fixture = try ManagerFixture { $0.didFinish = { _, _ in ends.withLock { $0 += 1 } } }
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        _ = try await fixture.manager.image(for: WebImageRequest(url))
        #expect(ends.withLock { $0 } == 2)
    }

    @Test func userInfoIsReturnedWithTheResponse() async throws {
        let fixture = try ManagerFixture()
        for expected in [ImageOrigin.remote, .memoryCache] {
            var request = WebImageRequest(url)
            request.userInfo["row"] = "\(expected)"
            let response =
                expected == .remote
                ? try await fixture.load(request, answeringWith: SolidPicture(1))
                : try await fixture.manager.response(for: request)
            #expect(response.origin == expected)
            #expect(response.userInfo["row"] as? String == "\(expected)")
        }
    }

    @Test func anOptionsProcessorDoesNotMakeAsyncFunctionsBlock() async throws {
        let thread = TaskThreadDecoder()
        let fixture = try ManagerFixture { $0.optionsProcessor = { $0.options.insert(.queryDiskSync) } }
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        var request = WebImageRequest(url)
        let codecs = CodecRegistry()
        codecs.register(thread)
        request.codecs = codecs
        _ = try await TaskThreadDecoder.$isInTask.withValue(true) { try await fixture.manager.image(for: request) }
        #expect(!thread.hasRunInTask.withLock { $0 })
    }
}

/// Notes whether it is run by a task that waits for it.
private final class TaskThreadDecoder: ImageDecoder {
    @TaskLocal static var isInTask = false
    let format = ImageFormat.png
    let hasRunInTask = LockBox(false)
    private let real = CodecRegistry()

    func info(of data: Data) throws(WebImageError) -> ImageInfo { try real.info(of: data) }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        if Self.isInTask { hasRunInTask.withLock { $0 = true } }
        return try real.decode(data, options: options)
    }
}
