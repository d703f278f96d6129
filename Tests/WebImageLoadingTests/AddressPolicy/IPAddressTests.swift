import Testing

@testable import WebImageLoading

@Suite struct IPAddressTests {
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
    func aNetworkHasItsAddresses(network: String, address: String, isInside: Bool) throws {
        let (network, address) = (try #require(IPNetwork(network)), try #require(IPAddress(address)))
        #expect(network.contains(address) == isInside)
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/a", "::/129", "example.org/8", ""])
    func refusesWhatIsNoNetwork(text: String) {
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
    func theServicesOfCloudsAreNotPublic(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(AddressPolicy.publicInternet.objection(to: address) != nil)
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
    func aPatternHasItsHosts(pattern: String, host: String, matches: Bool) {
        #expect(HostPattern(pattern).matches(host) == matches)
    }
}
