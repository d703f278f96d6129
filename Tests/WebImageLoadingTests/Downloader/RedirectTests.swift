import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite struct RedirectTests {
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

    @Test func tellsTheAnswersOnTheWay() async throws {
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
        #expect(redirects.last?.headers.contains(HTTPField(name: "Location", value: last.absoluteString)) == true)
        #expect(recording.metrics?.redirectCount == 2)
    }

    @Test func followsAsManyAsAllowed() async throws {
        let url = try SharedServers.faults.get().url("/redirect-chain/allowed?left=10")
        #expect(try await downloader.body(url) == FaultServer.pattern(10))
    }

    @Test(arguments: ["/redirect-chain/one-too-many?left=11", "/redirect-loop/loop"])
    func givesUpAfterTheAllowedNumber(path: String) async throws {
        let faults = try SharedServers.faults.get()
        guard case .tooManyRedirects(limit: 10, _) = try await downloader.error(faults.url(path)) else {
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
        #expect(try await downloader.error(url) == .unsupportedScheme(scheme, url: targetURL))
    }

    @Test func reportsAStatusOfTheLastHopWithItsURL() async throws {
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
        var state = try DownloadState(LoaderRequest(url: url), configuration: .init())
        let head = TransferHead(statusCode: 302, fields: [HTTPField(name: "LOCATION", value: location)])
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
        var state = try DownloadState(LoaderRequest(url: url), configuration: .init())
        _ = state.receive(TransferHead(statusCode: 302, fields: [HTTPField(name: "Location", value: "/b")]))
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
