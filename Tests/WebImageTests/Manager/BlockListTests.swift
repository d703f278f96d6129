import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCoding

/// URLs that are not tried again for now.
@Suite(.timeLimit(.minutes(1))) struct BlockListTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    private func fail(_ request: WebImageRequest, with error: WebImageError) async throws {
        await #expect(throws: error.concerning(request.url)) {
            try await fixture.load(request) { $0.end(.failure(error)) }
        }
    }

    private var notFound: WebImageError { .httpStatus(code: 404, url: url) }

    @Test func blocksOnlyRequestsWithTheOption() async throws {
        try await fail(WebImageRequest(url), with: notFound)
        #expect(!fixture.manager.isBlocked(url))
        let asking = WebImageRequest(url).ignoringFailedURLs
        try await fail(asking, with: notFound)
        try #require(fixture.manager.blockedURLs == [url])
        await #expect(throws: WebImageError.blocked(reason: .failedBefore(code: 200), url: url)) {
            try await fixture.manager.image(for: asking)
        }
        #expect(fixture.loader.loadCount == 2)
        let image = try SolidPicture(1).image()
        fixture.manager.store(image, for: WebImageRequest(url))
        #expect(try await fixture.manager.response(for: asking).origin == .memoryCache, "memory still answers")
        #expect(fixture.manager.isBlocked(url), "only a load takes it off")
    }

    @Test func theListIsCheckedAfterADiskMiss() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let asking = WebImageRequest(url).ignoringFailedURLs
        let reloading = WebImageRequest(url, cachePolicy: .reload).ignoringFailedURLs
        try await fail(reloading, with: notFound)
        try #require(fixture.manager.isBlocked(url))
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: asking).origin == .diskCache)
        await #expect(throws: WebImageError.blocked(reason: .failedBefore(code: 200), url: url)) {
            try await fixture.manager.response(for: reloading)
        }
        #expect(fixture.loader.loadCount == 2)
    }

    @Test(arguments: [401, 407]) func aMissingCredentialDoesNotBlockTheURL(status: Int) async throws {
        let refusal = WebImageError.httpStatus(code: status, url: url)
        #expect(refusal.isLasting)
        try await fail(WebImageRequest(url).ignoringFailedURLs, with: refusal)
        #expect(fixture.manager.blockedURLs.isEmpty)
        _ = try await fixture.load(WebImageRequest(url).ignoringFailedURLs, answeringWith: SolidPicture(1))
    }

    @Test func aSuccessfulLoadUnblocksItsURL() async throws {
        try await fail(WebImageRequest(url).ignoringFailedURLs, with: notFound)
        try await fail(WebImageRequest(url), with: notFound)
        #expect(fixture.manager.isBlocked(url), "it was loaded in spite of the list, and failed again")
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(!fixture.manager.isBlocked(url))
    }

    @Test func temporaryErrorsDoNotBlock() async throws {
        let passing: [WebImageError] = [
            .cancelled, .timedOut(after: .seconds(1), url: url), .transport(code: 7, message: "", url: url),
            .httpStatus(code: 503, url: url), .httpStatus(code: 500, url: url), .httpStatus(code: 429, url: url),
            .invalidResponse(reason: .truncated(expected: 2, received: 1), url: url), .notInCache(key: ""),
            .outOfResources(reason: .memory(byteCount: 1)),
        ]
        #expect(passing.allSatisfy { !$0.isLasting })
        for error in passing { try await fail(WebImageRequest(url).ignoringFailedURLs, with: error) }
        #expect(fixture.manager.blockedURLs.isEmpty)
        #expect(WebImageError.httpStatus(code: 410, url: url).isLasting)
        #expect(WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: []).isLasting)
    }

    @Test func aURLCanBeUnblocked() async throws {
        try await fail(WebImageRequest(url).ignoringFailedURLs, with: notFound)
        fixture.manager.unblock(url)
        #expect(!fixture.manager.isBlocked(url))
        try await fail(WebImageRequest(url).ignoringFailedURLs, with: notFound)
        fixture.manager.unblockAll()
        #expect(fixture.manager.blockedURLs.isEmpty)
    }

    @Test func theHookDecides() async throws {
        let fixture = try ManagerFixture { $0.shouldBlock = { _, error in error.code == 202 } }
        func fail(_ error: WebImageError) async throws {
            let results = Results()
            fixture.manager.load(WebImageRequest(url).ignoringFailedURLs, completion: results.note)
            try await fixture.nextLoad().end(.failure(error))
            _ = await results.wait(for: 1)
        }
        try await fail(notFound)
        #expect(!fixture.manager.isBlocked(url))
        try await fail(.timedOut(after: .seconds(1), url: url))
        #expect(fixture.manager.isBlocked(url))
    }

    @Test func theHookIsNotAskedAboutCancellations() async throws {
        let fixture = try ManagerFixture { $0.shouldBlock = { _, _ in true } }
        let results = Results()
        // Of the request, and of its loader.
        for number in 1...2 {
            let operation = fixture.manager.load(
                WebImageRequest(url).ignoringFailedURLs, completion: results.note)
            let load = try await fixture.nextLoad()
            if number == 1 { operation.cancel() } else { load.end(.failure(.cancelled)) }
            _ = await results.wait(for: number)
            try #require(fixture.manager.blockedURLs.isEmpty)
        }
    }

    @Test func fragmentsDoNotCount() throws {
        let list = BlockList(duration: .seconds(60))
        let (first, second) = (URL(string: "http://host/a#b"), URL(string: "http://host/a#c"))
        list.add(try #require(first), .invalidResponse(reason: .emptyBody, url: try #require(first)))
        #expect(list.code(for: try #require(second)) != nil)
        #expect(list.urls == [try #require(URL(string: "http://host/a"))])
        list.remove(try #require(second))
        #expect(list.urls.isEmpty)
    }

    @Test func entriesExpire() throws {
        let clock = LockBox(BootTime.now)
        let list = BlockList(duration: .seconds(300), now: { clock.withLock { $0 } })
        list.add(url, notFound)
        clock.withLock { $0 = $0 + .seconds(299) }
        #expect(list.code(for: url) == 200)
        clock.withLock { $0 = $0 + .seconds(1) }
        #expect(list.code(for: url) == nil)
        #expect(list.urls.isEmpty)
    }

    @Test(arguments: [(Duration.zero, false), (.seconds(300), true)])
    func theManagerBlocksForItsDuration(duration: Duration, isBlocked: Bool) async throws {
        let fixture = try ManagerFixture { $0.blockDuration = duration }
        let notFound = self.notFound
        await #expect(throws: notFound) {
            try await fixture.load(WebImageRequest(url).ignoringFailedURLs) { $0.end(.failure(notFound)) }
        }
        #expect(fixture.manager.isBlocked(url) == isBlocked)
    }

    @Test func isBounded() throws {
        let list = BlockList(duration: .seconds(300))
        for number in 0...BlockList.limit { list.add(try ManagerFixture.url("\(number)"), notFound) }
        #expect(list.urls.count <= BlockList.limit)
        #expect(list.code(for: try ManagerFixture.url("0")) == nil, "the oldest went")
        #expect(list.code(for: try ManagerFixture.url("\(BlockList.limit)")) != nil)
    }

    @Test func anErrorOfOneRequestsLimitsDoesNotBlockOthers() async throws {
        var narrow = WebImageRequest(url).ignoringFailedURLs
        narrow.decodingLimits = DecodingLimits(pixelCount: 10)
        await #expect(throws: WebImageError.self) {
            try await fixture.load(narrow, answeringWith: SolidPicture(1))
        }
        #expect(!fixture.manager.isBlocked(url))
    }

    @Test func aCancelledLoadBlocksNothing() async throws {
        let fixture = try ManagerFixture { $0.shouldBlock = { _, _ in true } }
        let results = Results()
        let operation = fixture.manager.load(WebImageRequest(url).ignoringFailedURLs, completion: results.note)
        _ = try await fixture.nextLoad()
        operation.cancel()
        _ = await results.wait(for: 1)
        #expect(!fixture.manager.isBlocked(url))
    }

    @Test func theReasonIsThatOfTheLoadThatFailed() async throws {
        let fixture = try ManagerFixture { $0.shouldBlock = { _, _ in true } }
        let (asking, notFound) = (WebImageRequest(url).ignoringFailedURLs, self.notFound)
        await #expect(throws: notFound) { try await fixture.load(asking) { $0.end(.failure(notFound)) } }
        for _ in 0..<3 {
            await #expect(throws: WebImageError.blocked(reason: .failedBefore(code: 200), url: url)) {
                try await fixture.manager.image(for: asking)
            }
        }
    }
}
