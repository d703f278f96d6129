import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// The head of the server's response, wherever an image comes from.
@Suite(.timeLimit(.minutes(1))) struct ResponseHeadTests {
    private let fixture: ManagerFixture
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        request = WebImageRequest(try ManagerFixture.url("a"))
    }

    @Test func isKnownFromServerMemoryAndDisk() async throws {
        let first = try await fixture.load(request) { load in
            try load.answer(SolidPicture(1), "Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT\nConnection: close")
        }
        let head = try #require(first.head)
        #expect(head.statusCode == 200 && head.url == request.url)
        #expect(head.headerValue("last-modified") == "Tue, 15 Nov 1994 12:45:26 GMT")
        #expect(head.headerValue("Connection") == nil && head.headerValue("Age") == nil)
        let thumbnail = request.with { $0.thumbnail = Thumbnail(.pixels(width: 4)) }
        for request in [request, thumbnail] {
            let response = try await fixture.manager.response(for: request)
            #expect(response.origin == .memoryCache && response.head?.statusCode == 200)
            #expect(response.head?.headerValue("Last-Modified") == "Tue, 15 Nov 1994 12:45:26 GMT")
            #expect(response.head?.headerValue("Age") != nil)
        }
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        let processed = request.with { $0.processors = [ProbeProcessor(name: "a").erased] }
        let response = try await fixture.manager.response(for: processed)
        #expect(response.origin == .diskCache)
        #expect(response.head?.headerValue("Last-Modified") == "Tue, 15 Nov 1994 12:45:26 GMT")
    }

    @Test func isThatOfTheImageAfterAConfirmation() async throws {
        let request = request.with { $0.cachePolicy = .http }
        _ = try await fixture.load(request) {
            try $0.answer(SolidPicture(1), "Cache-Control: max-age=60\nETag: \"1\"\nX-Number: 1")
        }
        fixture.time.advance(seconds: 100)
        let response = try await fixture.load(request) { $0.confirm("Cache-Control: max-age=70\nX-Number: 2") }
        #expect(SolidPicture(1).matches(response.image) && response.head?.statusCode == 200)
        #expect(response.head?.headerValue("X-Number") == "2" && response.head?.headerValue("ETag") == "\"1\"")
    }

    @Test func hasTheURLAfterRedirects() async throws {
        let target = try ManagerFixture.url("target")
        let response = try await fixture.load(request) { load in
            load.redirect(302, to: target)
            try load.answer(SolidPicture(1), "")
        }
        #expect(response.head?.url == target)
    }

    @Test func imagesWithoutHTTPHaveNone() async throws {
        let bytes = try SolidPicture(1).png()
        #expect(try await fixture.load(request) { $0.answerWithoutHead(bytes) }.head == nil)
        let closure = WebImageRequest(id: "closure") { bytes }
        #expect(try await fixture.manager.response(for: closure).head == nil)
        let stored = WebImageRequest(try ManagerFixture.url("stored"))
        fixture.manager.store(try SolidPicture(2).image(), for: stored)
        #expect(try await fixture.manager.response(for: stored).head == nil)
    }
}
