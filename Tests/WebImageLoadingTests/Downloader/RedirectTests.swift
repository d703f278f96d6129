import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct RedirectTests {
    private let downloader = ImageDownloader.forTests()

    @Test(arguments: [301, 302, 303, 307, 308]) func followsARedirect(code: Int) async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/redirect/follow?code=\(code)&to=/bytes/follow?size=77")
        let recording = downloader.record(url).recording
        #expect(try await recording.body() == FaultServer.pattern(77))
        #expect(recording.isInOrder)
        #expect(recording.response?.statusCode == 200)
        #expect(recording.response?.url == (try faults.url("/bytes/follow?size=77")))
    }

    @Test func reportsTheRedirectResponses() async throws {
        let faults = try SharedServers.faults.get()
        let last = try faults.url("/bytes/way?size=7")
        let second = try faults.otherOriginURL("/redirect/way?code=301&to=\(last.absoluteString)")
        let to = second.absoluteString.replacing("&", with: "%26")
        let first = try faults.url("/redirect/way?code=307&to=\(to)")
        let recording = downloader.record(first).recording
        try await recording.body()
        let redirects = try #require(recording.response?.redirects)
        #expect(redirects.map(\.url) == [first, second])
        #expect(redirects.map(\.statusCode) == [307, 301])
        #expect(redirects.last?.headers.contains(HTTPHeader(name: "Location", value: last.absoluteString)) == true)
        #expect(recording.metrics?.redirectCount == 2)
    }

    @Test func followsAsManyAsAllowed() async throws {
        let url = try SharedServers.faults.get().url("/redirect-chain/allowed?left=10")
        #expect(try await downloader.body(url) == FaultServer.pattern(10))
    }

    @Test(arguments: ["/redirect-chain/one-too-many?left=11", "/redirect-loop/loop"])
    func givesUpAfterTheAllowedNumber(path: String) async throws {
        let faults = try SharedServers.faults.get()
        guard case .invalidResponse(.tooManyRedirects(limit: 10), _) = try await downloader.error(faults.url(path))
        else {
            Issue.record("followed on")
            return
        }
        let path = try faults.url(path).path()
        #expect(try await faults.statistics().requests[path] == 11)
    }

    @Test(arguments: [("file:///etc/passwd", "file"), ("ftp://127.0.0.1/a", "ftp"), ("data:image/png,x", "data")])
    func refusesToLeaveHTTP(target: String, scheme: String) async throws {
        let url = try SharedServers.faults.get().url("/redirect/leave?to=\(target)")
        let targetURL = try #require(URL(string: target))
        #expect(try await downloader.error(url) == .invalidRequest(reason: .unsupportedScheme(scheme), url: targetURL))
    }

    @Test func reportsAStatusOfTheFinalResponseWithItsURL() async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/redirect/status?to=/status/after?code=410")
        #expect(try await downloader.error(url) == .httpStatus(code: 410, url: faults.url("/status/after?code=410")))
    }

    @Test(arguments: [
        ("target.png", "http://h:81/a/target.png"), ("../t", "http://h:81/t"), ("/t%2Fu", "http://h:81/t%2Fu"),
        ("?q=1", "http://h:81/a/b?q=1"), ("//i/t", "http://i/t"), ("https://i:82/t", "https://i:82/t"),
        ("./t?u#v", "http://h:81/a/t?u#v"), ("t u", "http://h:81/a/t%20u"),
    ])
    func resolvesLocationsAgainstTheRequest(location: String, expected: String) throws {
        let url = try #require(URL(string: "http://h:81/a/b?c"))
        let state = try DownloadState(LoaderRequest(url: url), environment: DownloadEnvironment(.init()))
        let head = TransferHead(statusCode: 302, fields: [HTTPHeader(name: "LOCATION", value: location)])
        let (response, disposition) = state.receive(head)
        #expect(response == nil && disposition == .proceed)
        guard case .redirected(let hop) = state.conclude(.complete) else {
            Issue.record("not followed")
            return
        }
        #expect(hop.url.absoluteString == expected)
    }

    @Test func aRedirectWithALongPageIsFollowedWithoutReadingItAll() throws {
        let url = try #require(URL(string: "http://h/"))
        let state = try DownloadState(LoaderRequest(url: url), environment: DownloadEnvironment(.init()))
        _ = state.receive(TransferHead(statusCode: 302, fields: [HTTPHeader(name: "Location", value: "/b")]))
        let piece = Data(count: DownloadState.discardedByteLimit)
        #expect(state.receive(piece) == (false, .proceed))
        #expect(state.receive(Data([1])) == (false, .stop))
        guard case .redirected(let hop) = state.conclude(.stopped) else {
            Issue.record("not followed")
            return
        }
        #expect(hop.url.path() == "/b")
    }
}

@Suite(.timeLimit(.minutes(3))) struct RedirectPolicyTests {
    @Test func aClosureSeesEachRedirect() async throws {
        let faults = try SharedServers.faults.get()
        let seen = LockBox<[(response: LoaderResponse, target: URL)]>([])
        let downloader = ImageDownloader.forTests { configuration in
            configuration.redirectHandler = { response, target in
                seen.withLock { $0.append((response, target)) }
                return target
            }
        }
        let url = try faults.url("/redirect-chain/seen?left=2")
        #expect(try await downloader.body(url) == FaultServer.pattern(10))
        let urls = try [2, 1, 0].map { try faults.url("/redirect-chain/seen?left=\($0)") }
        let redirects = seen.withLock { $0 }
        #expect(redirects.map(\.response.url) == [urls[0], urls[1]])
        #expect(redirects.map(\.target) == [urls[1], urls[2]])
        #expect(redirects.map(\.response.statusCode) == [302, 302])
        #expect(redirects.map(\.response.redirects.count) == [0, 1])
    }

    @Test func aClosureMayDeny() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.redirectHandler = { _, _ in nil } }
        let url = try faults.url("/redirect/denied?to=/bytes/denied")
        let target = try faults.url("/bytes/denied")
        #expect(try await downloader.error(url) == .blocked(reason: .redirect(to: target), url: url))
        #expect(try await faults.statistics().requests["/bytes/denied"] == nil)
    }

    @Test func aClosureMayRewrite() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.otherOriginURL("/echo/rewritten")
        let downloader = ImageDownloader.forTests { $0.redirectHandler = { _, _ in target } }
        let request = LoaderRequest(url: try faults.url("/redirect/rewritten?to=/none"), headers: ["Cookie": "a=b"])
        let recording = downloader.record(request).recording
        let echo = try JSONDecoder().decode([String: String].self, from: try await recording.body())
        #expect(recording.response?.url == target)
        #expect(echo["cookie"] == nil)
    }

    @Test func aRewrittenTargetIsCheckedToo() async throws {
        let url = try SharedServers.faults.get().url("/redirect/rewritten-away?to=/none")
        let file = try #require(URL(string: "file:///etc/passwd"))
        let downloader = ImageDownloader.forTests { $0.redirectHandler = { _, _ in file } }
        #expect(try await downloader.error(url) == .invalidRequest(reason: .unsupportedScheme("file"), url: file))
    }

    @Test func redirectsDoNotDowngradeEncryption() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.url("/bytes/downgraded")
        let server = try NGINXServer(
            certificates: [.valid], locations: "location /down { return 302 \(target); }")
        let authority = try TestCertificates.shared.get().authority
        let url = try server.secureURL("/down")
        let strict = ImageDownloader.forTests { $0.certificateAuthorities = .file(authority) }
        #expect(try await strict.error(url) == .blocked(reason: .insecureRedirect(to: target), url: url))
        #expect(try await faults.statistics().requests["/bytes/downgraded"] == nil)
        // Not by a rewrite either.
        let rewriting = ImageDownloader.forTests { configuration in
            configuration.certificateAuthorities = .file(authority)
            configuration.redirectHandler = { _, _ in target }
        }
        #expect(try await rewriting.error(url) == .blocked(reason: .insecureRedirect(to: target), url: url))

        let lax = ImageDownloader.forTests { configuration in
            configuration.certificateAuthorities = .file(authority)
            configuration.allowsInsecureRedirects = true
        }
        #expect(try await lax.body(url) == FaultServer.pattern(1000))
    }
}
