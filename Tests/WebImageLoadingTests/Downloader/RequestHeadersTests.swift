import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct RequestHeadersTests {
    private let downloader = ImageDownloader.forTests { $0.headers["X-Default"] = "default" }

    private func echo(_ url: URL, headers: [String: String] = [:]) async throws -> [String: String] {
        try JSONDecoder().decode([String: String].self, from: try await downloader.body(url, headers: headers))
    }

    @Test func sendsDefaultHeadersOverriddenByTheRequest() async throws {
        let url = try SharedServers.faults.get().url("/echo/own")
        let echo = try await echo(url, headers: ["x-default": "own", "X-Own": "1", "X-Empty": ""])
        #expect(echo["user-agent"]?.hasPrefix("swift-web-image/") == true)
        #expect(echo["accept"] == "image/*,*/*;q=0.8")
        #expect(echo["accept-encoding"] == "identity")
        #expect(echo["x-default"] == "own")
        #expect(echo["x-own"] == "1")
        #expect(echo["x-empty"]?.isEmpty == true)
    }

    @Test func reportsTheHeadersItWouldSend() async throws {
        let url = try SharedServers.faults.get().url("/echo/told")
        let request = LoaderRequest(url: url, headers: ["X-DEFAULT": "own", "B": "b"])
        let hooked = ImageDownloader.forTests { configuration in
            configuration.requestModifier = { request in
                var request = request
                request.headers["X-Modifier"] = request.url.path()
                return request
            }
        }
        for downloader in [downloader, hooked] {
            let fields = downloader.requestHeaders(for: request)
            #expect(fields.map { $0.name.lowercased() } == fields.map { $0.name.lowercased() }.sorted())
            var echo = try await downloader.echo(request)
            echo["host"] = nil
            #expect(Dictionary(uniqueKeysWithValues: fields.map { ($0.name.lowercased(), $0.value) }) == echo)
            #expect(ImageLoaderGroup([downloader]).asLoader.requestHeaders(for: request) == fields)
        }
        #expect(FileLoader().requestHeaders(for: request).map(\.name) == ["B", "X-DEFAULT"])
        #expect(ImageLoaderGroup().asLoader.requestHeaders(for: request).isEmpty)
    }

    @Test func reportsTheHeadersItWouldSendEvenIfAHookRefuses() throws {
        let downloader = ImageDownloader.forTests { $0.requestModifier = { _ in nil } }
        let request = LoaderRequest(url: try #require(URL(string: "http://h/")), headers: ["B": "b"])
        #expect(downloader.requestHeaders(for: request).contains(HTTPHeader(name: "B", value: "b")))
    }

    @Test(arguments: [
        ("X-A", "a\r\nX-Injected: 1"), ("X-A", "a\nb"), ("X-A", "a\0b"), ("X A", "a"), ("X:A", "a"), ("", "a"),
        ("X-A\r\nX-Injected", "1"),
    ])
    func refusesAHeaderWithLineBreaks(name: String, value: String) async throws {
        let faults = try SharedServers.faults.get()
        let url = try faults.url("/echo/refused")
        #expect(
            try await downloader.error(url, headers: [name: value])
                == .invalidRequest(reason: .invalidHeader(name: name), url: url))
        #expect(try await faults.statistics().requests["/echo/refused"] == nil)
    }

    /// A dictionary's order is another one in each process; with so many names chance cannot be right.
    @Test func theFirstOfNamesThatDifferOnlyInCaseIsUsed() throws {
        let names = ["X-TOKEN", "X-TOKEn", "X-ToKEN", "X-Token", "X-tOKEN", "X-token", "x-TOKEN", "x-Token", "x-token"]
        let headers = Dictionary(uniqueKeysWithValues: names.map { ($0, "value of " + $0) })
        let url = try #require(URL(string: "http://h/"))
        #expect(try RequestHeaders(headers, of: url).fields == [HTTPHeader(name: "X-TOKEN", value: "value of X-TOKEN")])
        #expect(LoaderRequest(url: url, headers: headers).identity.headers == ["x-token": "value of X-TOKEN"])

        var configuration = ImageDownloader.Configuration()
        configuration.headers = headers
        #expect(try configuration.prepared(LoaderRequest(url: url)).headers == ["X-TOKEN": "value of X-TOKEN"])
        let own = LoaderRequest(url: url, headers: ["x-tokeN": "own"])
        #expect(try configuration.prepared(own).headers == ["x-tokeN": "own"])
    }

    private static let secrets = ["Authorization": "Bearer s", "Cookie": "a=b", "X-Api-Key": "k"]

    @Test func sendsAllHeadersOnARedirectToTheSameOrigin() async throws {
        let url = try SharedServers.faults.get().url("/redirect/same?to=/echo/same")
        let echo = try await echo(url, headers: Self.secrets)
        #expect(echo["authorization"] == "Bearer s")
        #expect(echo["cookie"] == "a=b")
        #expect(echo["x-api-key"] == "k")
        #expect(echo["x-default"] == "default")
    }

    @Test func sendsOnlyHarmlessHeadersToAnotherOrigin() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.otherOriginURL("/echo/other")
        let echo = try await echo(faults.url("/redirect/other?to=\(target)"), headers: Self.secrets)
        #expect(Set(echo.keys) == ["host", "accept", "accept-encoding", "user-agent"])
        #expect(echo["host"] == "127.0.0.1:\(faults.otherPort)")
    }

    @Test func droppedHeadersStayDroppedOnARedirectBack() async throws {
        let faults = try SharedServers.faults.get()
        let back = try faults.url("/echo/back")
        let there = try faults.otherOriginURL("/redirect/back?to=\(back)")
        let echo = try await echo(faults.url("/redirect/back?to=\(there)"), headers: Self.secrets)
        #expect(echo["authorization"] == nil && echo["cookie"] == nil && echo["x-api-key"] == nil)
    }
}

/// One host has one spelling, whatever the URL says.
@Suite(.timeLimit(.minutes(3))) struct CanonicalHostTests {
    private static let pin = Data(repeating: 1, count: 32).base64EncodedString()

    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test(arguments: [
        ("http://pin.example/a?b#c", "pin.example", "http://pin.example/a?b#c"),
        ("http://p%69n.example:81/%69", "pin.example", "http://pin.example:81/%69"),
        ("http://PIN.example./", "pin.example", "http://pin.example/"),
        ("http://p%69n.example%2e/", "pin.example", "http://pin.example/"),
        ("http://0x7f.1/", "127.0.0.1", "http://127.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:81/", "::1", "http://[0:0:0:0:0:0:0:1]:81/"),
    ])
    func everySpellingIsTheSameHost(text: String, host: String, onTheWire: String) throws {
        let url = try Self.url(text)
        #expect(HTTPOrigin(url)?.host == host)
        #expect(url.withCanonicalHost.absoluteString == onTheWire)
    }

    /// IDNA takes a soft hyphen, fullwidth letters and an ideographic full stop for other names.
    @Test(arguments: [
        "inter%C2%ADnal.example", "%EF%BD%89nternal.example", "internal%E3%80%82example", "internal%ff.example",
        "internal%00.example",
        "internal%2fexample", "internal%40example", "internal%20example", "internal..", ".", "%2e",
    ])
    func anAmbiguousHostIsRefused(host: String) throws {
        let url = try Self.url("http://\(host)/")
        #expect(throws: WebImageError.invalidURL(url.absoluteString)) {
            try DownloadState(LoaderRequest(url: url), environment: DownloadEnvironment(.init()))
        }
        var policy = AddressPolicy()
        policy.deniedHosts = ["internal.example"]
        guard case .host = policy.blockReason(for: url) else {
            Issue.record("allowed")
            return
        }
    }

    @Test(arguments: ["pin.example", "PIN.Example", "pin.example."], ["pin.example", "p%69n.example", "PIN.example."])
    func pinsAndAddressesAreFoundBySpellingsOfTheHost(key: String, host: String) throws {
        var configuration = ImageDownloader.Configuration()
        configuration.pinnedPublicKeys = [key: [Self.pin]]
        configuration.hostAddresses = [key: ["127.0.0.1"]]
        let state = try DownloadState(
            LoaderRequest(url: Self.url("https://\(host)/")), environment: DownloadEnvironment(configuration))
        #expect(state.hop.access.pinnedPublicKeys == [Self.pin])
        #expect(state.hop.access.addresses == ["127.0.0.1"])
    }

    @Test func libcurlGetsTheHostThatWasChecked() async throws {
        let port = try SharedServers.faults.get().port
        let downloader = ImageDownloader.forTests { $0.hostAddresses = ["canon.localhost": ["127.0.0.1"]] }
        let url = try Self.url("http://C%61non.LOCALHOST.:\(port)/echo/canonical")
        #expect(try await downloader.echo(LoaderRequest(url: url))["host"] == "canon.localhost:\(port)")
    }

    @Test(arguments: ["internal.example.", "%69nternal.example", "INTERNAL.example"])
    func aDeniedHostIsDeniedInEverySpelling(host: String) throws {
        var policy = AddressPolicy()
        policy.deniedHosts = ["internal.example"]
        #expect(try policy.blockReason(for: Self.url("http://\(host)/")) != nil)
        #expect(try policy.blockReason(for: Self.url("http://other.example/")) == nil)
    }
}
