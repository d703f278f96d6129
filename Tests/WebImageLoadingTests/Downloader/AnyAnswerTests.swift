import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// For who wants to know what a server says, and not only its pictures.
@Suite struct AnyAnswerTests {
    private let downloader = ImageDownloader.forTests { $0.acceptableContentTypes = ["image/png"] }

    private func request(_ url: URL, headers: [String: String] = [:]) -> LoaderRequest {
        var request = LoaderRequest(url: url, headers: headers)
        request.acceptsAnyAnswer = true
        return request
    }

    @Test(arguments: [200, 201, 300, 301, 400, 404, 410, 418, 500, 503])
    func takesEveryStatusWithItsBody(code: Int) async throws {
        let url = try SharedServers.faults.get().url("/status/any?code=\(code)")
        let recording = downloader.record(request(url)).recording
        #expect(try await recording.body().starts(with: Data("<!doctype html>".utf8)))
        #expect(recording.response?.statusCode == code)
        #expect(recording.refused == nil && recording.isInOrder)
    }

    @Test(arguments: [("/empty/any", 200), ("/no-content/any", 204), ("/not-modified/any", 304)])
    func takesAnAnswerWithoutABody(path: String, status: Int) async throws {
        let recording = downloader.record(request(try SharedServers.faults.get().url(path))).recording
        #expect(try await recording.body().isEmpty)
        #expect(recording.response?.statusCode == status)
    }

    @Test func followsRedirects() async throws {
        let faults = try SharedServers.faults.get()
        let recording = downloader.record(request(try faults.url("/redirect/any?to=/status/at-last?code=404")))
            .recording
        try await recording.body()
        #expect(recording.response?.statusCode == 404)
        #expect(recording.response?.url == (try faults.url("/status/at-last?code=404")))
    }

    @Test func checksLengthsAndLimitsAllTheSame() async throws {
        let faults = try SharedServers.faults.get()
        let cut = try faults.url("/cut-body/any?size=100&sent=50")
        #expect(try await downloader.error(request(cut)) == .truncated(expected: 100, received: 50, url: cut))
        let strict = ImageDownloader.forTests { $0.maximumResponseByteCount = 10 }
        let long = try faults.url("/bytes/any?size=11")
        #expect(
            try await strict.error(request(long)) == .responseTooLarge(byteCount: 11, limit: 10, url: long))
        let bomb = try faults.url("/gzip-bomb/any?size=1000")
        #expect(try await downloader.error(request(bomb)) == .unsupportedContentCoding("gzip", url: bomb))
    }

    @Test func aPartThatNobodyAskedForIsNoAnswer() async throws {
        let url = try SharedServers.faults.get().url("/answer/part?code=206")
        let recording = downloader.record(request(url)).recording
        #expect(try await recording.error() == .httpStatus(code: 206, url: url))
        #expect(recording.refused?.statusCode == 206)
        #expect(try await downloader.body(request(url, headers: ["range": "bytes=0-9"])).count == 10)
    }

    @Test(arguments: [false, true]) func aConditionMayBeAnsweredWithNothingNew(takesAny: Bool) async throws {
        let nginx = try SharedServers.nginx.get()
        let url = try nginx.url("/small.png?conditional-\(takesAny)")
        let first = downloader.record(url).recording
        #expect(try await first.body().count == 5000)
        let tag = try #require(first.response?.headerValue("ETag"))
        var request = LoaderRequest(url: url, headers: ["If-None-Match": tag])
        request.acceptsAnyAnswer = takesAny
        let second = downloader.record(request).recording
        #expect(try await second.body().isEmpty)
        #expect(second.response?.statusCode == 304)
        #expect(second.response?.headerValue("ETag") == tag)
        #expect(second.response?.expectedByteCount == nil)
        #expect(second.isInOrder)
    }

    @Test func aConfirmationThatNobodyAskedForIsRefused() async throws {
        let url = try SharedServers.faults.get().url("/not-modified/unasked")
        #expect(try await downloader.error(url) == .httpStatus(code: 304, url: url))
        let recording = downloader.record(url, headers: ["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"])
            .recording
        try await recording.body()
        #expect(recording.response?.statusCode == 304)
    }
}

/// The head of an answer whose status is refused is told, for who keeps such answers.
@Suite struct RefusedAnswerTests {
    private let downloader = ImageDownloader.forTests()

    @Test(arguments: [404, 410, 500, 503]) func tellsTheHeadBeforeTheEnd(code: Int) async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.url("/answer/refused?code=\(code)&header=X-A:%20b&header=X-A:%20c")
        let recording = downloader.record(target).recording
        #expect(try await recording.error() == .httpStatus(code: code, url: target))
        let refused = try #require(recording.refused)
        #expect(refused.statusCode == code && refused.url == target)
        #expect(refused.headers.filter { $0.name == "X-A" }.map(\.value) == ["b", "c"])
        #expect(recording.response == nil && recording.byteCount == 0)
        #expect(recording.isInOrder)
    }

    @Test func tellsTheWayThere() async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/redirect/refused?to=/status/refused?code=404")
        let recording = downloader.record(url).recording
        _ = try await recording.error()
        #expect(recording.refused?.redirects.map(\.url) == [url])
    }

    @Test(arguments: ["/bytes/taken", "/empty/taken", "/cut-body/taken", "/redirect-loop/taken", "/reset/taken"])
    func tellsNothingWhereTheStatusIsNotTheReason(path: String) async throws {
        let recording = downloader.record(try SharedServers.faults.get().url(path)).recording
        _ = try await recording.error()
        #expect(recording.refused == nil)
    }

    @Test func tellsTheHeadThatAskedInVainForACredential() async throws {
        let downloader = ImageDownloader.forTests { $0.authenticationHandler = { _ in nil } }
        let url = try SharedServers.nginx.get().url("/private/small.png?refused")
        let recording = downloader.record(url).recording
        #expect(try await recording.error() == .httpStatus(code: 401, url: url))
        #expect(recording.refused?.headerValue("www-authenticate")?.hasPrefix("Basic") == true)
    }
}
