import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageLoading

/// What a downloader says about responses that another one loaded.
@Suite(.timeLimit(.minutes(3))) struct ServedAddressTests {
    private func blockReason(
        for text: String, from address: String?, _ change: (inout ImageDownloader.Configuration) -> Void = { _ in }
    ) throws -> WebImageError.BlockReason? {
        var configuration = ImageDownloader.Configuration.server
        change(&configuration)
        return try #require(SharingRules(of: ImageDownloader(configuration: configuration)))
            .blockReason(for: try #require(URL(string: text)), servedFrom: address)
    }

    @Test func anAddressIsCheckedAsThatOfAConnection() throws {
        #expect(try blockReason(for: "http://a.example/", from: "93.184.215.14") == nil)
        #expect(try blockReason(for: "http://a.example/", from: "10.0.0.1") == .host("10.0.0.1"))
        #expect(try blockReason(for: "http://a.example/", from: "::ffff:10.0.0.1") != nil)
        #expect(try blockReason(for: "http://a.example/", from: nil) == .unresolvedHost("a.example"))
        #expect(try blockReason(for: "http://a.example/", from: "?") == .unresolvedHost("a.example"))
        #expect(try blockReason(for: "http://a.example/", from: nil) { $0.addressPolicy = AddressPolicy() } == nil)
    }

    @Test func theURLIsCheckedWhateverTheAddress() throws {
        for host in ["127.0.0.1", "0x7f.1", "[::1]", "2130706433"] {
            #expect(try blockReason(for: "http://\(host)/", from: "93.184.215.14") != nil)
        }
        let denied = try blockReason(for: "http://a.example/", from: "93.184.215.14") {
            $0.addressPolicy.deniedHosts = [".example"]
        }
        #expect(denied == .host("a.example"))
    }

    /// The metrics then have the proxy's address.
    @Test func behindAProxyTheServersAddressIsUnknown() throws {
        let url = try #require(URL(string: "http://a.example/"))
        var configuration = ImageDownloader.Configuration()
        configuration.proxy = .none
        #expect(SharingRules(of: ImageDownloader(configuration: configuration))?.reportsServerAddress(of: url) == true)
        configuration.proxy = try .server(try #require(URL(string: "http://127.0.0.1:1")))
        #expect(
            SharingRules(of: ImageDownloader(configuration: configuration))?.reportsServerAddress(of: url) == false)
    }
}
