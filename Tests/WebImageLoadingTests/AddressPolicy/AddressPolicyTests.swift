import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct AddressPolicyTests {
    @Test(arguments: [
        "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1",
        "2001::1", "2001:db8::1", "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
        "2a00::5efe:127.0.0.1",
    ])
    func publicInternetExcludesAddress(address: String) throws {
        let address = try #require(IPAddress(address))
        #expect(AddressPolicy.publicInternet.blockReason(for: address) == .host(address.description))
        #expect(AddressPolicy().blockReason(for: address) == nil)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1",
        "223.255.255.255", "2606:4700::1111", "2a00::1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::",
    ])
    func publicInternetIncludesAddress(address: String) throws {
        #expect(AddressPolicy.publicInternet.blockReason(for: try #require(IPAddress(address))) == nil)
    }

    @Test func exceptionsTakePrecedenceOverDenials() throws {
        var policy = AddressPolicy.publicInternet
        policy.allowedNetworks = ["10.1.0.0/16"]
        #expect(policy.blockReason(for: try #require(IPAddress("10.1.2.3"))) == nil)
        #expect(policy.blockReason(for: try #require(IPAddress("10.2.2.3"))) != nil)
    }

    private static func server(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageDownloader {
        var configuration = ImageDownloader.Configuration.server
        change(&configuration)
        return ImageDownloader(configuration: configuration)
    }

    /// However it is written, it is the socket's address that counts.
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"), ("[::1]", "::1"), ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"), ("0", "0.0.0.0"),
        ("localhost", "127.0.0.1"), ("a.localhost", "127.0.0.1"), ("1.1.1.1@127.0.0.1", "127.0.0.1"),
        ("rebound.test", "127.0.0.1"), ("%31%32%37.0.0.1", "127.0.0.1"),
    ])
    func theServerPresetDoesNotReachThisMachine(host: String, address: String) async throws {
        let faults = try SharedServers.faults.get()
        let downloader = Self.server { $0.hostAddresses = ["rebound.test": ["127.0.0.1"]] }
        let url = try #require(URL(string: "http://\(host):\(faults.port)/bytes/blocked"))
        guard case .blocked(.host(let found), let blocked) = try await downloader.error(url) else {
            Issue.record("\(String(describing: try await downloader.error(url)))")
            return
        }
        #expect(blocked == url.separatedFromUserInfo.url)
        // A name may stand for both of the machine's addresses.
        #expect(found == address || host.hasSuffix("localhost") && found == "::1")
        #expect(try await faults.statistics().requests["/bytes/blocked"] == nil)
    }

    @Test func eachRedirectTargetIsChecked() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = Self.server { configuration in
            configuration.addressPolicy.allowedNetworks = ["127.0.0.2/32"]
            configuration.hostAddresses = ["public.test": ["127.0.0.2"]]
        }
        let port = try refusedPort()
        let server = try NGINXServer(
            locations: "listen 127.0.0.2:\(port); location /hop { return 302 \(try faults.url("/bytes/hop")); }")
        let url = try #require(URL(string: "http://public.test:\(port)/hop"))
        let target = try faults.url("/bytes/hop")
        #expect(try await downloader.error(url) == .blocked(reason: .host("127.0.0.1"), url: target))
        #expect(try await faults.statistics().requests["/bytes/hop"] == nil)
        #expect(try await server.accessLog().map(\.status) == [302])
    }

    /// The last of several redirects leads to a forbidden name or address.
    @Test(arguments: 1...3) func theTargetOfALaterRedirectIsChecked(redirectCount: Int) async throws {
        let faults = try SharedServers.faults.get()
        let downloader = Self.server { configuration in
            configuration.addressPolicy.allowedNetworks = ["127.0.0.2/32"]
            configuration.addressPolicy.deniedHosts = ["denied.test"]
            configuration.hostAddresses = ["public.test": ["127.0.0.2"], "denied.test": ["127.0.0.2"]]
        }
        let port = try refusedPort()
        let path = "/bytes/after-\(redirectCount)"
        let address = try faults.url(path)
        let name = try #require(URL(string: "http://denied.test:\(port)/image"))
        func hops(_ kind: String, to target: URL) -> String {
            (1...redirectCount).map { hop in
                let next = hop == redirectCount ? target.absoluteString : "/\(kind)/\(hop + 1)"
                return "location = /\(kind)/\(hop) { return 302 \(next); }"
            }.joined(separator: " ")
        }
        let server = try NGINXServer(
            locations: "listen 127.0.0.2:\(port); location = /image { return 204; } \(hops("address", to: address)) "
                + hops("name", to: name))
        for (kind, target, host) in [("address", address, "127.0.0.1"), ("name", name, "denied.test")] {
            let url = try #require(URL(string: "http://public.test:\(port)/\(kind)/1"))
            #expect(try await downloader.error(url) == .blocked(reason: .host(host), url: target))
        }
        #expect(try await faults.statistics().requests[path] == nil)
        #expect(try await server.accessLog().map(\.status) == Array(repeating: 302, count: redirectCount * 2))
    }

    @Test func aReusedConnectionIsCheckedAgain() async throws {
        let server = try NGINXServer()
        try server.write(FaultServer.pattern(100), to: "a.png")
        let isOpen = LockBox(true)
        var configuration = CurlTransport.Configuration(connectTimeout: .seconds(15))
        configuration.addressCheck = { address in
            isOpen.withLock { $0 } ? nil : .host(address.description)
        }
        let downloader = ImageDownloader(
            configuration: .server.allowingLoopback, transport: CurlTransport(configuration))
        let url = try server.url("/a.png")
        #expect(try await downloader.body(url) == FaultServer.pattern(100))
        #expect(try await downloader.body(url) == FaultServer.pattern(100))
        isOpen.withLock { $0 = false }
        let error = try await downloader.error(url)
        #expect(error == .blocked(reason: .host("127.0.0.1"), url: url))
        #expect(error?.description.contains("allowedNetworks") == true)
        let log = try await server.accessLog()
        #expect(log.count == 2 && Set(log.map(\.connection)).count == 1)
    }

    /// One of two addresses is forbidden, and what goes wrong with the other is said.
    @Test func aForbiddenAddressDoesNotHideOtherFailures() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { configuration in
            configuration.addressPolicy.deniedNetworks = ["127.0.0.2/32"]
            configuration.hostAddresses = ["two.test": ["127.0.0.2", "127.0.0.1"], "one.test": ["127.0.0.2"]]
        }
        func url(_ host: String) throws -> URL {
            try #require(URL(string: "http://\(host):\(faults.port)/reset/two"))
        }
        guard case .transport = try await downloader.error(url("two.test")) else {
            Issue.record("\(String(describing: try await downloader.error(url("two.test"))))")
            return
        }
        let one = try url("one.test")
        #expect(try await downloader.error(one) == .blocked(reason: .host("127.0.0.2"), url: one))
    }

    @Test func hostsAreAllowedAndDenied() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { configuration in
            configuration.hostAddresses = Dictionary(
                uniqueKeysWithValues: ["a.good.test", "b.good.test", "bad.test"].map { ($0, ["127.0.0.1"]) })
            configuration.addressPolicy.allowedHosts = [".good.test"]
            configuration.addressPolicy.deniedHosts = ["b.good.test"]
        }
        func url(_ host: String) throws -> URL {
            try #require(URL(string: "http://\(host):\(faults.port)/bytes/hosts"))
        }
        #expect(try await downloader.body(url("a.good.test")) == FaultServer.pattern(1000))
        for host in ["b.good.test", "bad.test", "B.GOOD.test", "b.good.test."] {
            let url = try url(host)
            #expect(try await downloader.error(url) == .blocked(reason: .host(host), url: url))
        }
        let redirect = try #require(
            URL(string: "http://a.good.test:\(faults.port)/redirect/hosts?to=http://bad.test:\(faults.port)/"))
        let target = try #require(URL(string: "http://bad.test:\(faults.port)/"))
        #expect(try await downloader.error(redirect) == .blocked(reason: .host("bad.test"), url: target))
    }

    @Test func schemesAreAllowed() async throws {
        let downloader = ImageDownloader.forTests { $0.addressPolicy.schemes = ["https"] }
        let url = try SharedServers.faults.get().url("/bytes/schemes")
        #expect(try await downloader.error(url) == .blocked(reason: .scheme("http"), url: url))
    }
}

extension ImageDownloader.Configuration {
    fileprivate var allowingLoopback: Self {
        var copy = self
        copy.addressPolicy = AddressPolicy()
        return copy
    }
}

@Suite(.timeLimit(.minutes(3))) struct IPAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("::1", "::1"), ("2001:DB8::1", "2001:db8::1"), ("fe80::1%eth0", "fe80::1"),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1"), ("255.255.255.255", "255.255.255.255"),
    ])
    func readsAndWritesTheUsualForms(text: String, shown: String) {
        #expect(IPAddress(text)?.description == shown)
    }

    @Test(arguments: ["", "1.2.3", "0x7f.1", "256.0.0.1", "example.org", "::1::", "1.2.3.4.5"])
    func refusesAnythingElse(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("2130706433", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"), ("[::1]", "::1"), ("127.0.0.1.", "127.0.0.1"), ("0", "0.0.0.0"),
    ])
    func readsHostsAsLookUpsDo(host: String, shown: String) {
        #expect(IPAddress(host: host)?.description == shown)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3/8", "10.9.9.9", true),
        ("0.0.0.0/0", "1.2.3.4", true), ("::/0", "1.2.3.4", false), ("::/0", "ff02::1", true),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1/32", "192.0.2.0", false), ("fc00::/7", "fdff::1", true),
        ("fc00::/7", "fe00::1", false), ("2001:db8::/33", "2001:db8:8000::", false),
    ])
    func aNetworkContainsItsAddresses(network: String, address: String, isInside: Bool) throws {
        let (network, address) = (try #require(IPNetwork(network)), try #require(IPAddress(address)))
        #expect(network.contains(address) == isInside)
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/a", "::/129", "example.org/8", ""])
    func refusesInvalidNetworks(text: String) {
        #expect(IPNetwork(text) == nil)
    }

    @Test(arguments: [
        ("::ffff:10.0.0.1", ["10.0.0.1"]), ("::10.0.0.1", ["10.0.0.1"]), ("::ffff:0:10.0.0.1", ["10.0.0.1"]),
        ("64:ff9b::10.0.0.1", ["10.0.0.1"]), ("2002:a00:1::", ["10.0.0.1"]),
        ("2001:0:a00:1:0:0:f5ff:fffe", ["10.0.0.1", "10.0.0.1"]), ("fe80::5efe:10.0.0.1", ["10.0.0.1"]),
        ("2a00::200:5efe:10.0.0.1", ["10.0.0.1"]), ("::1", []), ("::", []), ("2a00::1", []), ("10.0.0.1", []),
    ])
    func findsTheIPv4AddressInside(text: String, expected: [String]) throws {
        #expect(try #require(IPAddress(text)).embeddedIPv4.map(\.description) == expected)
    }

    @Test(arguments: ["127.0.0.1", "169.254.169.254", "168.63.129.16", "fd00::1"])
    func cloudServiceAddressesAreNotPublic(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(AddressPolicy.publicInternet.blockReason(for: address) != nil)
    }

    @Test(arguments: [
        ("example.org", "EXAMPLE.org.", true), ("example.org", "a.example.org", false),
        (".example.org", "example.org", true), (".example.org", "a.b.example.org", true),
        (".example.org", "badexample.org", false), ("*.example.org", "a.example.org", true),
        ("*.example.org", "example.org", false), ("img*.example.org", "img12.example.org", true),
        ("img*.example.org", "imag.example.org", false), ("*", "anything", true), ("a*a", "a", false),
        ("*a*b*", "xxaxxbxx", true), ("*a*b*", "xxbxxaxx", false), ("[::1]", "::1", true),
        ("0:0:0:0:0:0:0:1", "[::1]", true), ("127.0.0.1", "0x7f.1", true),
    ])
    func aPatternMatchesItsHosts(pattern: String, host: String, matches: Bool) {
        #expect(HostPattern(pattern).matches(host) == matches)
    }
}
