import FoundationEssentials
import Testing
import WebImage
import WebImageTesting

/// The loader for tests, with a manager as a program has one.
@Suite(.timeLimit(.minutes(1))) struct TestImageLoaderTests {
    private let url: URL
    private let loader = TestImageLoader()
    private let manager: WebImageManager

    init() throws {
        url = try #require(URL(string: "https://example.org/a.png"))
        manager = WebImageManager(configuration: .testing(loader))
    }

    @Test func answersWithAnImage() async throws {
        loader.answer(url, with: .image(try .testPattern(width: 8, height: 6)))
        let response = try await manager.response(for: WebImageRequest(url))
        #expect(response.image.pixels.size == PixelSize(width: 8, height: 6))
        #expect(response.head?.headerValue("Content-Type") == "image/png")
        #expect(try await manager.response(for: WebImageRequest(url)).origin == .memoryCache)
        #expect(loader.requests.map(\.url) == [url] && manager.counters.memoryHits == 1)
    }

    @Test func answersWithAnAnimation() async throws {
        loader.answer(url, with: .image(try .testAnimation(frameCount: 4)))
        #expect(try await manager.image(at: url).animation?.frames.count == 4)
    }

    @Test func answersWithStatusesAndErrors() async throws {
        await #expect(throws: WebImageError.httpStatus(code: 404, url: url)) { try await manager.image(at: url) }
        loader.answer(url, with: .response(503))
        await #expect(throws: WebImageError.httpStatus(code: 503, url: url)) { try await manager.image(at: url) }
        #expect(try await manager.data(for: WebImageRequest(url, cachePolicy: .reload)).response.statusCode == 503)
        let reset = WebImageError.transport(code: 56, message: "reset", url: url)
        loader.answer(url, with: .failure(reset))
        await #expect(throws: reset) { try await manager.image(at: url) }
        #expect(loader.requests.count == 4 && loader.runningCount == 0)
    }

    @Test func aClosureAnswersOtherURLs() async throws {
        let loader = TestImageLoader { .response(200, body: Data($0.url.path().utf8)) }
        let manager = WebImageManager(configuration: .testing(loader))
        #expect(try await manager.data(for: WebImageRequest(url)).data == Data("/a.png".utf8))
    }

    @Test func aDelayPassesWhenTheClockIsAdvanced() async throws {
        loader.answer(url, with: .image(try .testPattern()), after: .seconds(2))
        let operation = manager.load(WebImageRequest(url))
        try await loader.waitForRequests()
        loader.clock.advance(by: .milliseconds(1999))
        #expect(operation.state == .loading(received: 0, expected: nil) && loader.runningCount == 1)
        loader.clock.advance(by: .milliseconds(1))
        #expect(try await operation.response.origin == .remote)
        #expect(loader.runningCount == 0 && loader.clock.sleeperCount == 0)
    }

    @Test func aCancelledLoadIsCounted() async throws {
        loader.answer(url, with: .image(try .testPattern()), after: .seconds(2))
        let operation = manager.load(WebImageRequest(url))
        try await loader.waitForRequests()
        operation.cancel()
        await #expect(throws: WebImageError.cancelled) { try await operation.response }
        #expect(loader.cancelledCount == 1 && loader.runningCount == 0 && loader.clock.sleeperCount == 0)
    }

    @Test func retriesWaitForTheClock() async throws {
        loader.answer(url, with: .response(503))
        var request = WebImageRequest(url)
        request.retryPolicy = RetryPolicy(maximumAttempts: 2, initialBackoff: .seconds(3))
        let operation = manager.load(request)
        try await loader.clock.waitForSleepers()
        loader.answer(url, with: .image(try .testPattern()))
        loader.clock.advance(by: .seconds(3))
        #expect(try await operation.response.attempts.map(\.wait) == [.none, .backoff(.seconds(3))])
    }

    @Test func theAgeOfResponsesFollowsTheClock() async throws {
        let file = try CodecRegistry.shared.encode(.testPattern(), as: .png)
        loader.answer(url, with: .response(200, headers: ["Cache-Control": "max-age=60"], body: file))
        let request = WebImageRequest(url, cachePolicy: .http)
        _ = try await manager.image(for: request)
        loader.clock.advance(by: .seconds(59))
        _ = try await manager.image(for: request)
        #expect(loader.requests.count == 1)
        loader.clock.advance(by: .seconds(1))
        _ = try await manager.image(for: request)
        #expect(loader.requests.count == 2)
    }

    @Test func waitingForRequestsEndsWithItsTask() async {
        let wait = Task { [loader] in try await loader.waitForRequests() }
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
    }
}
