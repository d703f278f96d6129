import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// The request on the wire is the wanted one, also after a redirect.
@Suite(.timeLimit(.minutes(3))) struct MethodTests {
    private let downloader = ImageDownloader.forTests()

    /// The request that `/mirror` has received.
    private struct Mirrored: Decodable {
        let method: String
        let headers: [String: String]
        let body: String
    }

    private func mirrored(
        _ method: LoaderRequest.Method, body: String? = nil, headers: [String: String] = [:], at path: String
    ) async throws -> Mirrored {
        var request = LoaderRequest(url: try SharedServers.faults.get().url(path), headers: headers)
        request.method = method
        request.body = body.map { Data($0.utf8) }
        return try JSONDecoder().decode(Mirrored.self, from: await downloader.body(request))
    }

    private static let purge = LoaderRequest.Method("PURGE") ?? .get

    @Test(
        arguments: [
            (.get, nil, nil), (.post, "a=1", "3"), (.post, nil, "0"), (.put, "p", "1"), (.put, nil, "0"),
            (.patch, "q", "1"),
            (.delete, nil, nil), (.delete, "d", "1"), (.options, nil, nil), (purge, nil, nil), (purge, "e", "1"),
        ] as [(LoaderRequest.Method, String?, String?)])
    func sendsMethodAndBody(method: LoaderRequest.Method, body: String?, length: String?) async throws {
        let request = try await mirrored(method, body: body, at: "/mirror/method")
        #expect(request.method == method.name)
        #expect(request.body == body ?? "")
        #expect(request.headers["content-length"] == length)
        #expect(request.headers["content-type"] == nil && request.headers["expect"] == nil)
    }

    @Test func sendsTheContentTypeAndActualLengthOfABody() async throws {
        let headers = ["Content-Type": "text/x", "content-length": "1", "Transfer-Encoding": "chunked"]
        let request = try await mirrored(.post, body: "abc", headers: headers, at: "/mirror/type")
        #expect(request.body == "abc")
        #expect(request.headers["content-type"] == "text/x" && request.headers["content-length"] == "3")
        #expect(request.headers["transfer-encoding"] == nil)
    }

    @Test func aLongBodyIsSentCompletelyAndNotReusedByTheNextRequest() async throws {
        let body = String(repeating: "0123456789", count: 300_000)
        let long = try await mirrored(.put, body: body, at: "/mirror/long")
        #expect(long.body.utf8.count == 3_000_000 && long.headers["expect"] == nil)
        let next = try await mirrored(.get, at: "/mirror/next")
        #expect(next.method == "GET" && next.body.isEmpty && next.headers["content-length"] == nil)
    }

    @Test(arguments: [.get, .head, .trace] as [LoaderRequest.Method])
    func refusesABodyWithAMethodThatAllowsNone(method: LoaderRequest.Method) async throws {
        let url = try SharedServers.faults.get().url("/mirror/refused")
        var request = LoaderRequest(url: url)
        (request.method, request.body) = (method, Data([1]))
        #expect(
            try await downloader.error(request)
                == .invalidRequest(reason: .unsupportedMethod(method.name, hasBody: true), url: url))
    }

    @Test(arguments: ["", "GE T", "GET\r\nX: y", "GÈT", "CONNECT", "A(B)"])
    func onlyTokensAreValidMethods(name: String) { #expect(LoaderRequest.Method(name) == nil) }

    @Test func methodsAreCaseSensitive() throws {
        #expect(LoaderRequest.Method("GET") == .get)
        #expect(try #require(LoaderRequest.Method("get")) != .get)
    }

    @Test func methodsAreSafeOrIdempotentAsDefined() {
        let all: [LoaderRequest.Method] = [.get, .head, .options, .trace, .put, .delete, .post, .patch, Self.purge]
        #expect(all.filter(\.isSafe) == [.get, .head, .options, .trace])
        #expect(all.filter(\.isIdempotent) == [.get, .head, .options, .trace, .put, .delete])
    }

    @Test func theDigestCoversTheMethodAndTheBodyIsSentOnce() async throws {
        let url = try SharedServers.faults.get().url("/digest/post")
        var request = LoaderRequest(url: url, credential: Credential(username: "user", password: "secret"))
        (request.method, request.body) = (.post, Data("a=1".utf8))
        #expect(try await downloader.body(request) == FaultServer.pattern(10))
    }
}

/// RFC 9110, 15.4.
@Suite(.timeLimit(.minutes(3))) struct RedirectedMethodTests {
    @Test(
        arguments: [
            (301, .get, .get), (301, .post, .get), (301, .put, .put), (301, .head, .head),
            (302, .get, .get), (302, .post, .get), (302, .delete, .delete), (302, .head, .head),
            (303, .get, .get), (303, .post, .get), (303, .put, .get), (303, .delete, .get), (303, .head, .head),
            (307, .get, .get), (307, .post, .post), (307, .head, .head), (308, .post, .post), (308, .put, .put),
        ] as [(Int, LoaderRequest.Method, LoaderRequest.Method)])
    func theStatusDeterminesTheRedirectedMethod(
        status: Int, method: LoaderRequest.Method, expected: LoaderRequest.Method
    ) throws {
        let hop = try Self.hop(after: status, method: method, to: "/b")
        #expect(hop.method == expected)
        #expect(hop.content == (method.forbidsBody || expected.forbidsBody ? nil : Data([1])))
        // It stays what was sent, unless the request becomes another.
        #expect(hop.headers.contains("content-type") == (method == expected))
        #expect(hop.headers.contains("authorization"))
    }

    @Test func anotherOriginGetsTheBodyAndItsTypeButNoSecrets() throws {
        let hop = try Self.hop(after: 307, method: .post, to: "http://elsewhere/b")
        #expect(hop.content == Data([1]))
        #expect(hop.headers.fields.map(\.name).sorted() == ["Accept", "Content-Type"])
        let fetched = try Self.hop(after: 303, method: .post, to: "http://elsewhere/b")
        #expect(fetched.headers.fields.map(\.name) == ["Accept"])
    }

    private static func hop(
        after status: Int, method: LoaderRequest.Method, to location: String
    ) throws -> DownloadState.Hop {
        var request = LoaderRequest(
            url: try #require(URL(string: "http://h/a")),
            headers: ["Accept": "*/*", "Authorization": "x", "Content-Type": "y", "X-Key": "z"])
        request.method = method
        if !method.forbidsBody { request.body = Data([1]) }
        let state = try DownloadState(request, environment: DownloadEnvironment(.init()))
        let head = TransferHead(statusCode: status, fields: [HTTPHeader(name: "Location", value: location)])
        _ = state.receive(head)
        guard case .redirected(let hop) = state.conclude(.complete) else {
            Issue.record("not followed")
            return state.hop
        }
        return hop
    }

    @Test func a308RepeatsThePost() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.otherOriginURL("/mirror/posted-again").absoluteString
        var request = LoaderRequest(url: try faults.url("/redirect/post?code=308&to=\(target)"))
        (request.method, request.body) = (.post, Data("a=1".utf8))
        let body = String(decoding: try await ImageDownloader.forTests().body(request), as: UTF8.self)
        #expect(body.contains(#""method": "POST""#) && body.contains(#""body": "a=1""#))
    }
}

/// Requests that accept any response, not only images.
@Suite(.timeLimit(.minutes(3))) struct AnyResponseTests {
    private let downloader = ImageDownloader.forTests { $0.acceptableContentTypes = ["image/png"] }

    private func request(_ url: URL, headers: [String: String] = [:]) -> LoaderRequest {
        var request = LoaderRequest(url: url, headers: headers)
        request.acceptsAnyAnswer = true
        return request
    }

    @Test(arguments: [200, 201, 300, 301, 400, 404, 410, 418, 500, 503])
    func acceptsEveryStatusWithItsBody(code: Int) async throws {
        let url = try SharedServers.faults.get().url("/status/any?code=\(code)")
        let recording = downloader.record(request(url)).recording
        #expect(try await recording.body().starts(with: Data("<!doctype html>".utf8)))
        #expect(recording.response?.statusCode == code)
        #expect(recording.refused == nil && recording.isInOrder)
    }

    @Test(arguments: [("/empty/any", 200), ("/no-content/any", 204), ("/not-modified/any", 304)])
    func acceptsAResponseWithoutABody(path: String, status: Int) async throws {
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

    @Test func stillChecksLengthsAndLimits() async throws {
        let faults = try SharedServers.faults.get()
        let cut = try faults.url("/cut-body/any?size=100&sent=50")
        #expect(
            try await downloader.error(request(cut))
                == .invalidResponse(reason: .truncated(expected: 100, received: 50), url: cut))
        let strict = ImageDownloader.forTests { $0.maximumResponseByteCount = 10 }
        let long = try faults.url("/bytes/any?size=11")
        #expect(
            try await strict.error(request(long))
                == .invalidResponse(reason: .bodyTooLong(byteCount: 11, limit: 10), url: long))
        let bomb = try faults.url("/gzip-bomb/any?size=1000")
        #expect(
            try await downloader.error(request(bomb)) == .invalidResponse(reason: .contentCoding("gzip"), url: bomb))
    }

    @Test func partialContentThatWasNotRequestedIsRefused() async throws {
        let url = try SharedServers.faults.get().url("/answer/part?code=206")
        let recording = downloader.record(request(url)).recording
        #expect(try await recording.error() == .httpStatus(code: 206, url: url))
        #expect(recording.refused?.statusCode == 206)
        #expect(try await downloader.body(request(url, headers: ["range": "bytes=0-9"])).count == 10)
    }

    @Test(arguments: [false, true]) func aConditionalRequestMayBeAnsweredWith304(takesAny: Bool) async throws {
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

    @Test func a304WithoutAConditionIsRefused() async throws {
        let url = try SharedServers.faults.get().url("/not-modified/unasked")
        #expect(try await downloader.error(url) == .httpStatus(code: 304, url: url))
        let recording = downloader.record(url, headers: ["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"])
            .recording
        try await recording.body()
        #expect(recording.response?.statusCode == 304)
    }
}

/// The head of a response with a refused status is reported, so that it can be cached.
@Suite(.timeLimit(.minutes(3))) struct RefusedResponseTests {
    private let downloader = ImageDownloader.forTests()

    @Test(arguments: [404, 410, 500, 503]) func reportsTheHeadBeforeTheEnd(code: Int) async throws {
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

    @Test func reportsTheRedirects() async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/redirect/refused?to=/status/refused?code=404")
        let recording = downloader.record(url).recording
        _ = try await recording.error()
        #expect(recording.refused?.redirects.map(\.url) == [url])
    }

    @Test(arguments: ["/bytes/taken", "/empty/taken", "/cut-body/taken", "/redirect-loop/taken", "/reset/taken"])
    func reportsNoResponseIfTheStatusIsNotTheReason(path: String) async throws {
        let recording = downloader.record(try SharedServers.faults.get().url(path)).recording
        _ = try await recording.error()
        #expect(recording.refused == nil)
    }

    @Test func reportsTheHeadOfAnUnansweredChallenge() async throws {
        let downloader = ImageDownloader.forTests { $0.authenticationHandler = { _ in nil } }
        let url = try SharedServers.nginx.get().url("/private/small.png?refused")
        let recording = downloader.record(url).recording
        #expect(try await recording.error() == .httpStatus(code: 401, url: url))
        #expect(recording.refused?.headerValue("www-authenticate")?.hasPrefix("Basic") == true)
    }
}
