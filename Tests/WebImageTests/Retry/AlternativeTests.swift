import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCore

/// Where else an image is looked for.
@Suite(.timeLimit(.minutes(1))) struct AlternativeTests {
    private let picture = SolidPicture(8)
    private let second: URL
    private let third: URL

    init() throws { (second, third) = (try ManagerFixture.url("second"), try ManagerFixture.url("third")) }

    @Test func theNextURLIsTriedAtOnceAfterAPermanentError() async throws {
        let fixture = try AttemptFixture()
        let operation = fixture.start { $0.alternatives = [second, third] }
        try await fixture.nextLoad().refuse(404)
        let load = try await fixture.nextLoad()
        #expect(load.request.url == second && fixture.clock.pendingCallCount == 0)
        load.end(.failure(.certificate(reason: .expired, url: second)))
        let last = try await fixture.nextLoad()
        #expect(last.request.url == third)
        try last.answer(picture.png())
        let response = try await fixture.result().get()
        #expect(response.url == fixture.url && picture.matches(response.image))
        #expect(operation.attempts.map(\.url) == [fixture.url, second, third])
        #expect(operation.attempts.map(\.number) == [1, 2, 3])
    }

    @Test func theImageIsCachedUnderTheFirstURL() async throws {
        let fixture = try AttemptFixture()
        fixture.start { $0.alternatives = [second] }
        try await fixture.nextLoad().refuse(404)
        try await fixture.nextLoad().answer(picture.png())
        _ = try await fixture.result().get()
        let manager = fixture.manager.manager
        #expect(
            manager.cachedImage(for: WebImageRequest(fixture.url)) != nil
                && manager.cachedImage(for: WebImageRequest(second)) == nil)
        let disk = try #require(fixture.manager.cache.disk)
        await disk.flush()
        #expect(try await disk.data(for: WebImageRequest(fixture.url).cacheKey.source) == picture.png())
        #expect(await disk.count == 1)
    }

    @Test func theBytesOfAFileAreNotStoredUnderTheFirstURL() async throws {
        let fixture = try ManagerFixture { $0.loaders.add(FileLoader()) }
        let file = try fixture.directory.write(picture.png(), to: "local.png")
        let request = WebImageRequest(try ManagerFixture.url("a")).with { $0.alternatives = [file] }
        let response = try await fixture.load(request) { $0.refuse(404) }
        #expect(picture.matches(response.image))
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test func allAttemptsOfAURLPrecedeTheNextURL() async throws {
        let fixture = try AttemptFixture(policy: RetryPolicy(maximumAttempts: 2))
        let operation = fixture.start { $0.alternatives = [second] }
        var urls: [URL] = []
        for _ in 1...4 {
            let load = try await fixture.nextLoad()
            urls.append(load.request.url)
            load.end(.failure(fixture.reset(load.request.url)))
            fixture.clock.advance(by: .seconds(1))
        }
        #expect(urls == [fixture.url, fixture.url, second, second])
        #expect(operation.attempts.map(\.wait) == [.none, .backoff(.seconds(0.5)), .none, .backoff(.seconds(0.5))])
        #expect(await fixture.error() == fixture.reset())
    }

    @Test func theErrorIsTheFirstURLsIfAllFail() async throws {
        let fixture = try AttemptFixture()
        let operation = fixture.start { $0.alternatives = [second] }
        try await fixture.nextLoad().refuse(410)
        try await fixture.nextLoad().refuse(404)
        #expect(await fixture.error() == .httpStatus(code: 410, url: fixture.url))
        #expect(
            operation.attempts.map(\.error) == [
                .httpStatus(code: 410, url: fixture.url), .httpStatus(code: 404, url: second),
            ])
    }

    @Test func aURLWithoutALoaderIsSkipped() async throws {
        let fixture = try AttemptFixture()
        let unknown = try #require(URL(string: "gopher://h/a"))
        let operation = fixture.start { $0.alternatives = [unknown, second] }
        try await fixture.nextLoad().refuse(404)
        try await fixture.nextLoad().answer(picture.png())
        _ = try await fixture.result().get()
        #expect(operation.attempts[1].error == .invalidRequest(reason: .unsupportedScheme("gopher"), url: unknown))
    }

    @Test func attemptsRevealNoPasswords() async throws {
        let fixture = try AttemptFixture()
        let secret = try #require(URL(string: "scripted://user:secret@host/a"))
        let operation = fixture.start { request in
            request.url = secret
            request.alternatives = [secret.appending(path: "b")]
        }
        try await fixture.nextLoad().refuse(404)
        try await fixture.nextLoad().end(.failure(fixture.reset()))
        #expect(
            operation.attempts.map(\.url.absoluteString) == [
                "scripted://host/a", "scripted://host/a/b", "scripted://host/a/b",
            ])
    }

    @Test func anInvalidRequestTriesNoAlternative() async throws {
        let fixture = try AttemptFixture()
        fixture.start { $0.alternatives = [second] }
        let error = WebImageError.invalidRequest(reason: .invalidHeader(name: "X"), url: second)
        try await fixture.nextLoad().end(.failure(error))
        #expect(await fixture.error() == error)
        #expect(fixture.loadCount == 1)
    }

    @Test func anotherOriginGetsNoSecrets() async throws {
        let fixture = try AttemptFixture()
        fixture.start { request in
            request.alternatives = [second]
            request.headers = ["Authorization": "s", "X-Key": "k", "User-Agent": "u"]
            request.credential = Credential(username: "u", password: "p")
        }
        try await fixture.nextLoad().refuse(404)
        let load = try await fixture.nextLoad()
        // Schemes other than HTTP have no origin to share.
        #expect(Set(load.request.headers.keys) == ["Accept", "User-Agent"])
        #expect(load.request.credential == nil)
        #expect(load.request.headers["Accept"]?.contains("image/png") == true)
    }

    @Test func noAlternativeStartsAfterTheTimeLimit() async throws {
        let policy = RetryPolicy(maximumAttempts: 1, timeLimit: .seconds(10))
        for (seconds, loadCount) in [(9.0, 2), (10, 1)] {
            let fixture = try AttemptFixture(policy: policy)
            let operation = fixture.start { $0.alternatives = [second] }
            let load = try await fixture.nextLoad()
            fixture.clock.advance(by: .seconds(seconds))
            load.refuse(404)
            #expect(fixture.loadCount == loadCount)
            operation.cancel()
        }
    }

    /// The first server may have done what was asked.
    @Test func aRequestThatMustNotBeRepeatedHasNoAlternative() async throws {
        let (loader, errors) = (ScriptedLoader(), LockBox<[WebImageError]>([]))
        let alternatives = AlternativesLoader(loader, alternatives: [second], strategy: RetryPolicy.none) { _ in
            loader
        }
        var request = LoaderRequest(url: try ManagerFixture.url("first"))
        request.method = .post
        let task = alternatives.load(request, priority: .normal) { event in
            if case .finished(.failure(let error)) = event { errors.withLock { $0.append(error) } }
        }
        try await loader.loads.first().refuse(404)
        #expect(errors.withLock { $0 } == [.httpStatus(code: 404, url: request.url)])
        #expect(loader.loadCount == 1)
        withExtendedLifetime(task) {}
    }
}
