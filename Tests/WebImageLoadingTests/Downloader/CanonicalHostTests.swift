import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageLoading

/// One host has one spelling, whatever the URL says.
@Suite struct CanonicalHostTests {
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
    func aHostThatCanBeReadInTwoWaysIsRefused(host: String) throws {
        let url = try Self.url("http://\(host)/")
        #expect(throws: WebImageError.invalidURL(url.absoluteString)) {
            try DownloadState(LoaderRequest(url: url), configuration: .init())
        }
        var policy = AddressPolicy()
        policy.deniedHosts = ["internal.example"]
        guard case .host = policy.objection(to: url) else {
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
            LoaderRequest(url: Self.url("https://\(host)/")), configuration: configuration)
        #expect(state.hop.access.pinnedPublicKeys == [Self.pin])
        #expect(state.hop.access.addresses == ["127.0.0.1"])
    }

    @Test func libcurlGetsTheHostThatWasJudged() async throws {
        let port = try SharedServers.faults.get().port
        let downloader = ImageDownloader.forTests { $0.hostAddresses = ["canon.localhost": ["127.0.0.1"]] }
        let url = try Self.url("http://C%61non.LOCALHOST.:\(port)/echo/canonical")
        #expect(try await downloader.echo(LoaderRequest(url: url))["host"] == "canon.localhost:\(port)")
    }

    @Test(arguments: ["internal.example.", "%69nternal.example", "INTERNAL.example"])
    func aDeniedHostIsDeniedInEverySpelling(host: String) throws {
        var policy = AddressPolicy()
        policy.deniedHosts = ["internal.example"]
        #expect(try policy.objection(to: Self.url("http://\(host)/")) != nil)
        #expect(try policy.objection(to: Self.url("http://other.example/")) == nil)
    }
}
