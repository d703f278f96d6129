import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// Policies that show what is stored while the server is asked: `.refresh`, and `stale-while-revalidate` under `.http`.
@Suite(.timeLimit(.minutes(1))) struct RefreshTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    /// The events of a load.
    private enum Seen: Equatable {
        case preview(Int)
        case end(Int, isUnchanged: Bool)
        case failure(WebImageError)
    }

    /// Reads the events of a request to their end; `answer` is what the server does once the preview is there, or at
    /// once.
    private func events(
        of request: WebImageRequest, afterPreview: Bool = true, _ answer: (ScriptedLoad) throws -> Void
    ) async throws -> [Seen] {
        var seen: [Seen] = []
        var isAnswered = false
        if !afterPreview {
            // The decode of the preview and the answer race; whatever the order, the events are the same.
        }
        var iterator = fixture.manager.events(for: request).makeAsyncIterator()
        if !afterPreview {
            let load = try await fixture.nextLoad()
            try answer(load)
            isAnswered = true
        }
        while let event = await iterator.next(isolation: nil) {
            switch event {
            case .progress: break
            case .preview(let image):
                seen.append(.preview(number(of: image)))
                if !isAnswered {
                    try answer(await fixture.nextLoad())
                    isAnswered = true
                }
            case .finished(.success(let response)):
                seen.append(.end(number(of: response.image), isUnchanged: response.isUnchanged))
            case .finished(.failure(let error)): seen.append(.failure(error))
            }
        }
        return seen
    }

    private func number(of image: Image) -> Int { Int(image.pixels[0, 0].x) }

    private func store(_ headers: String, keepsInMemory: Bool) async throws {
        async let response = fixture.manager.response(for: WebImageRequest(url, cachePolicy: .http))
        try await fixture.nextLoad().answer(SolidPicture(1), headers)
        _ = try await response
        if !keepsInMemory { fixture.cache.memory.removeAll() }
    }

    @Test(arguments: [false, true], [false, true])
    func theStoredImageIsThePreviewAndTheResultWhenConfirmed(_ isInMemory: Bool, _ afterPreview: Bool) async throws {
        try await store("ETag: \"1\"\nCache-Control: max-age=60", keepsInMemory: isInMemory)
        let seen = try await events(
            of: WebImageRequest(url, cachePolicy: .refresh), afterPreview: afterPreview
        ) { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            #expect(load.request.headers["Cache-Control"] == "max-age=0")
            load.confirm()
        }
        #expect(seen == [.preview(1), .end(1, isUnchanged: true)])
    }

    @Test(arguments: [false, true]) func aChangedImageFollowsThePreview(_ isInMemory: Bool) async throws {
        try await store("ETag: \"1\"", keepsInMemory: isInMemory)
        let seen = try await events(of: WebImageRequest(url, cachePolicy: .refresh)) {
            try $0.answer(SolidPicture(2), "ETag: \"2\"")
        }
        #expect(seen == [.preview(1), .end(2, isUnchanged: false)])
    }

    @Test func aServerErrorFailsUnlessStaleIfErrorApplies() async throws {
        try await store("ETag: \"1\"\nCache-Control: max-age=60", keepsInMemory: true)
        let refresh = WebImageRequest(url, cachePolicy: .refresh)
        let seen = try await events(of: refresh) { $0.refuse(503) }
        #expect(seen == [.preview(1), .failure(.httpStatus(code: 503, url: url))])
        let confirmed = try await events(of: refresh) { $0.confirm("Cache-Control: max-age=60, stale-if-error=60") }
        #expect(confirmed == [.preview(1), .end(1, isUnchanged: true)])
        let standIn = try await events(of: refresh) { $0.refuse(503) }
        #expect(standIn == [.preview(1), .end(1, isUnchanged: true)])
    }

    @Test func freshImmutableImagesAreNotRevalidated() async throws {
        try await store("ETag: \"1\"\nCache-Control: max-age=60, immutable", keepsInMemory: false)
        let response = try await fixture.manager.response(for: WebImageRequest(url, cachePolicy: .refresh))
        #expect(response.origin == .diskCache)
        #expect(fixture.loader.loadCount == 1)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url, cachePolicy: .refresh)) != nil)
        fixture.time.advance(seconds: 60)
        let seen = try await events(of: WebImageRequest(url, cachePolicy: .refresh)) { $0.confirm() }
        #expect(seen == [.preview(1), .end(1, isUnchanged: true)])
    }

    @Test func bytesThatAreNoImageLeaveTheStoredOne() async throws {
        _ = try await fixture.load(WebImageRequest(url)) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        await #expect(throws: WebImageError.self) {
            try await fixture.load(WebImageRequest(url, cachePolicy: .refresh)) { load in
                load.answer(Data("<html>".utf8), status: 200, "ETag: \"2\"")
            }
        }
        #expect(SolidPicture(1).matches(try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))))
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == (try SolidPicture(1).png()))
    }

    @Test func anImageThatIsNotStoredIsLoaded() async throws {
        async let response = fixture.manager.response(for: WebImageRequest(url, cachePolicy: .refresh))
        try await fixture.nextLoad().answer(SolidPicture(3), "")
        #expect(try await response.origin == .remote)
    }

    @Test func anImageStoredWithoutItsHeadIsAPreviewAndLoadedAgain() async throws {
        fixture.cache.disk?.store(try SolidPicture(1).png(), for: url.absoluteString)
        let seen = try await events(of: WebImageRequest(url, cachePolicy: .refresh)) { load in
            #expect(load.request.headers["If-None-Match"] == nil)
            try load.answer(SolidPicture(2), "")
        }
        #expect(seen == [.preview(1), .end(2, isUnchanged: false)])
    }

    @Test func aProcessedImageIsShownAndConfirmedWithoutProcessingAgain() async throws {
        let processor = ProbeProcessor(name: "p", red: 10)
        try await store("ETag: \"1\"", keepsInMemory: false)
        var request = WebImageRequest(url, cachePolicy: .refresh, processors: [processor.erased])
        let seen = try await events(of: request) { $0.confirm() }
        #expect(seen == [.preview(11), .end(11, isUnchanged: true)])
        #expect(processor.runCount == 1)
        // Once in memory, the processed image itself is the preview.
        let again = try await events(of: request) { $0.confirm() }
        #expect(again == [.preview(11), .end(11, isUnchanged: true)])
        #expect(processor.runCount == 1)
        request.cachePolicy = .cacheFirst
        #expect(fixture.manager.cachedImage(for: request) != nil)
    }

    @Test func changedBytesAreProcessedAgain() async throws {
        let processor = ProbeProcessor(name: "p", red: 10)
        try await store("ETag: \"1\"", keepsInMemory: false)
        let request = WebImageRequest(url, cachePolicy: .refresh, processors: [processor.erased])
        let seen = try await events(of: request) { try $0.answer(SolidPicture(2), "ETag: \"2\"") }
        #expect(seen == [.preview(11), .end(12, isUnchanged: false)])
    }

    @Test(arguments: [false, true])
    func staleWhileRevalidateShowsTheStaleImageFirst(_ isInMemory: Bool) async throws {
        try await store("ETag: \"1\"\nCache-Control: max-age=10, stale-while-revalidate=60", keepsInMemory: isInMemory)
        fixture.time.advance(seconds: 30)
        let request = WebImageRequest(url, cachePolicy: .http)
        let seen = try await events(of: request) { try $0.answer(SolidPicture(2), "Cache-Control: max-age=10") }
        #expect(seen == [.preview(1), .end(2, isUnchanged: false)])
    }

    @Test func staleWhileRevalidateEndsWithTheStaleImageWhenTheServerIsDown() async throws {
        try await store("Cache-Control: max-age=10, stale-while-revalidate=60", keepsInMemory: false)
        fixture.time.advance(seconds: 30)
        let url = url
        let seen = try await events(of: WebImageRequest(url, cachePolicy: .http)) {
            $0.end(.failure(.transport(code: 7, message: "refused", url: url)))
        }
        #expect(seen == [.preview(1), .end(1, isUnchanged: true)])
    }

    @Test func aDamagedStoredImageIsLoadedAgainAfterTheConfirmation() async throws {
        let png = try SolidPicture(1).png()
        let metadata = CachedResponse(
            statusCode: 200, headers: [HTTPHeader(name: "ETag", value: "\"1\"")], requestHeaders: [],
            requestTime: fixture.time.now, responseTime: fixture.time.now
        ).encoded
        fixture.cache.disk?.store(
            png.prefix(png.count - 20), for: url.absoluteString,
            attributes: DiskCache.Attributes(responseMetadata: metadata))
        async let response = fixture.manager.response(for: WebImageRequest(url, cachePolicy: .refresh))
        try await fixture.nextLoad().confirm()
        try await fixture.nextLoad().answer(SolidPicture(2), "")
        #expect(SolidPicture(2).matches(try await response.image))
    }

    @Test func cancellingStopsTheRevalidation() async throws {
        try await store("ETag: \"1\"", keepsInMemory: false)
        let results = Results()
        let operation = fixture.manager.load(
            WebImageRequest(url, cachePolicy: .refresh), completion: results.note)
        let load = try await fixture.nextLoad()
        operation.cancel()
        try await load.cancellations.first()
        _ = await results.wait(for: 1)
        #expect(results.errors == [.cancelled])
    }

    @Test func aHundredRefreshesEndOnceEachWithPreviewsOnlyBefore() async throws {
        var random = SplitMix64(seed: 8)
        try await store("ETag: \"1\"\nCache-Control: max-age=5, stale-while-revalidate=5", keepsInMemory: false)
        for round in 0..<100 {
            let request = WebImageRequest(
                url, cachePolicy: [.refresh, .http].randomElement(using: &random) ?? .http,
                thumbnail: Bool.random(using: &random) ? Thumbnail(.pixels(width: 4, height: 4)) : nil)
            if Bool.random(using: &random) { fixture.cache.memory.removeAll() }
            fixture.time.advance(seconds: 6)
            let answer = Int.random(in: 0..<4, using: &random)
            let url = url
            let seen = try await events(of: request, afterPreview: false) { load in
                switch answer {
                case 0: load.confirm()
                case 1:
                    try load.answer(
                        SolidPicture(round), "ETag: \"\(round)\"\nCache-Control: max-age=5, stale-while-revalidate=5")
                case 2: load.refuse(500)
                default: load.end(.failure(.timedOut(after: .seconds(1), url: url)))
                }
            }
            let ends = seen.filter { if case .preview = $0 { false } else { true } }
            #expect(ends.count == 1)
            #expect(seen.last.map { ends.contains($0) } == true)
        }
    }
}
