import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// The asynchronous hook before a load.
@Suite(.timeLimit(.minutes(1))) struct WillLoadTests {
    private let url: URL
    /// The refusals that the hook was called with.
    private let calls = LockBox<[Int?]>([])

    init() throws { url = try ManagerFixture.url("a") }

    private var callCount: Int { calls.withLock { $0.count } }

    /// A hook that adds a new token at each call.
    private func fixture(
        isCacheable: Bool = true, _ prepare: (@Sendable (LoaderRequest) async throws -> LoaderRequest)? = nil
    ) throws -> ManagerFixture {
        try ManagerFixture(isCacheable: isCacheable) { [calls] configuration in
            configuration.willLoad = { request, refusal in
                let number = calls.withLock { calls in
                    calls.append(refusal?.statusCode)
                    return calls.count
                }
                await Task.yield()
                if let prepare { return try await prepare(request) }
                var request = request
                request.headers["Authorization"] = "token \(number)"
                return request
            }
        }
    }

    @Test func changesWhatIsSentAndNotTheKey() async throws {
        let fixture = try fixture()
        let response = try await fixture.load(WebImageRequest(url)) { load in
            #expect(load.request.headers["Authorization"] == "token 1")
            try load.answer(SolidPicture(1), "")
        }
        #expect(response.origin == .remote && calls.withLock { $0 } == [nil])
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) != nil)
    }

    @Test func isNotCalledWhereCachesAnswer() async throws {
        let fixture = try fixture()
        _ = try await fixture.load(WebImageRequest(url)) { try $0.answer(SolidPicture(1), "") }
        #expect(try await fixture.manager.response(for: WebImageRequest(url)).origin == .memoryCache)
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: WebImageRequest(url)).origin == .diskCache)
        #expect(callCount == 1)
    }

    @Test func isCalledOnceForRequestsThatShareATransfer() async throws {
        let gate = Countdown()
        let fixture = try fixture { request in
            try await gate.wait()
            return request
        }
        let results = Results()
        for width in 1...3 {
            let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: width)))
            fixture.manager.load(request, completion: results.note)
        }
        gate.signal()
        try await fixture.nextLoad().answer(SolidPicture(1), "")
        #expect(await results.wait(for: 3).count == 3 && results.errors.isEmpty)
        #expect(callCount == 1 && fixture.loader.loadCount == 1)
    }

    @Test func itsErrorIsThatOfTheLoad() async throws {
        struct Trouble: Error {}
        let refused = WebImageError.blocked(reason: .hook, url: url)
        let known = try fixture { _ in throw refused }
        await #expect(throws: refused) { try await known.manager.image(for: WebImageRequest(url)) }
        let other = try fixture { _ in throw Trouble() }
        await #expect(throws: WebImageError.custom(id: "willLoad", message: "Trouble()")) {
            try await other.manager.image(for: WebImageRequest(url))
        }
        #expect(known.loader.loadCount + other.loader.loadCount == 0)
    }

    @Test func isCancelledWithTheLoad() async throws {
        let (started, cancelled) = (Countdown(), Countdown())
        let fixture = try fixture { request in
            started.signal()
            try? await Task.sleep(for: .seconds(600))
            if Task.isCancelled { cancelled.signal() }
            return request
        }
        let operation = fixture.manager.load(WebImageRequest(url))
        try await started.wait()
        operation.cancel()
        try await cancelled.wait()
        await #expect(throws: WebImageError.cancelled) { try await operation.response }
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func isCalledOnceMoreAfterA401() async throws {
        let fixture = try fixture()
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().refuse(401)
        let second = try await fixture.nextLoad()
        #expect(second.request.headers["Authorization"] == "token 2")
        try second.answer(SolidPicture(1), "")
        #expect(SolidPicture(1).matches(try await results.wait(for: 1)[0].get().image))
        #expect(calls.withLock { $0 } == [nil, 401])
    }

    @Test func aSecond401IsTheError() async throws {
        let fixture = try fixture()
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        for _ in 0..<2 { try await fixture.nextLoad().refuse(401) }
        #expect(await results.wait(for: 1).count == 1 && results.errors == [.httpStatus(code: 401, url: url)])
        #expect(callCount == 2 && fixture.loader.loadCount == 2)
    }

    @Test func anUnchangedRequestIsNotSentAgain() async throws {
        let fixture = try fixture { $0 }
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().refuse(401)
        #expect(await results.wait(for: 1).count == 1 && results.errors == [.httpStatus(code: 401, url: url)])
        #expect(callCount == 2 && fixture.loader.loadCount == 1)
    }

    @Test func otherErrorsDoNotCallItAgain() async throws {
        let fixture = try fixture()
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().refuse(403)
        #expect(await results.wait(for: 1).count == 1 && results.errors == [.httpStatus(code: 403, url: url)])
        #expect(callCount == 1)
    }

    @Test func isCalledForEachAttemptAndAlternative() async throws {
        let fixture = try fixture()
        let other = try ManagerFixture.url("b")
        let request = WebImageRequest(url).with { request in
            request.retryPolicy = RetryPolicy(maximumAttempts: 2, initialBackoff: .zero)
            request.alternatives = [other]
        }
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        var tokens: [String?] = []
        for url in [url, url, other] {
            let load = try await fixture.nextLoad()
            #expect(load.request.url == url)
            tokens.append(load.request.headers["Authorization"])
            if url == other {
                try load.answer(SolidPicture(1), "")
            } else {
                load.end(.failure(.transport(code: 56, message: "reset", url: url)))
            }
        }
        _ = try await results.wait(for: 1)[0].get()
        #expect(tokens == ["token 1", "token 2", "token 3"])
    }

    @Test func preparesRequestsForData() async throws {
        let fixture = try fixture()
        for method in [LoaderRequest.Method.get, .post] {
            async let response = fixture.manager.data(for: WebImageRequest(url).with { $0.method = method })
            let load = try await fixture.nextLoad()
            #expect(load.request.headers["Authorization"] != nil)
            // Any response is the answer.
            load.answer(Data("no".utf8), status: 401)
            #expect(try await response.response.statusCode == 401)
        }
        #expect(callCount == 2)
    }

    @Test func isNotCalledForFilesAndClosures() async throws {
        let fixture = try fixture()
        let directory = try TemporaryDirectory()
        let file = directory.url("a.png")
        try SolidPicture(1).png().write(to: file)
        var request = WebImageRequest(file)
        request.loaders = .shared
        _ = try await fixture.manager.image(for: request)
        let bytes = try SolidPicture(2).png()
        _ = try await fixture.manager.image(for: WebImageRequest(id: "closure") { bytes })
        #expect(callCount == 0)
    }
}
