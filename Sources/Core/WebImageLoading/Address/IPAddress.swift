internal import Glibc

/// An IPv4 or IPv6 address.
struct IPAddress: Sendable, Equatable, CustomStringConvertible {
    /// Whether it has 32 bits, not 128.
    let isIPv4: Bool
    /// Its bits as a number, the first byte highest.
    let bits: UInt128

    init(isIPv4: Bool, bits: UInt128) {
        self.isIPv4 = isIPv4
        self.bits = bits
    }

    /// Reads the usual forms, such as `192.0.2.1` and `2001:db8::1`. A zone (`%eth0`) is ignored.
    init?(_ text: String) {
        let text = String(text.prefix { $0 != "%" })
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(four)
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self.init(six)
    }

    /// Reads a URL's host, with every form of IPv4 that lookups accept: `0x7f.1`, `2130706433`, `0177.0.0.1`.
    init?(host: String) {
        var text = host[...]
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        if text.hasSuffix(".") { text = text.dropLast() }
        var four = in_addr()
        if inet_aton(String(text), &four) != 0 {
            self.init(four)
            return
        }
        self.init(String(text))
    }

    /// Reads a socket address; `nil` for one that is neither IPv4 nor IPv6.
    init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= MemoryLayout<sockaddr>.size else { return nil }
        switch Int32(address.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET where address.count >= MemoryLayout<sockaddr_in>.size:
            self.init(address.loadUnaligned(as: sockaddr_in.self).sin_addr)
        case AF_INET6 where address.count >= MemoryLayout<sockaddr_in6>.size:
            self.init(address.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default: return nil
        }
    }

    private init(_ address: in_addr) {
        self.init(isIPv4: true, bits: UInt128(UInt32(bigEndian: address.s_addr)))
    }

    private init(_ address: in6_addr) {
        let bits = withUnsafeBytes(of: address) { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } }
        self.init(isIPv4: false, bits: bits)
    }

    /// The usual form, as ``init(_:)`` reads it.
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isIPv4 {
            var address = in_addr(s_addr: UInt32(truncatingIfNeeded: bits).bigEndian)
            inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
        } else {
            var bytes = bits.bigEndian
            inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
        }
        return text.withUnsafeBufferPointer {
            String(decoding: $0.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// The IPv4 addresses that packets to this IPv6 address may reach through translation or a tunnel.
    var embeddedIPv4: [IPAddress] {
        guard !isIPv4 else { return [] }
        func four(_ bits: UInt128) -> IPAddress { IPAddress(isIPv4: true, bits: bits & 0xFFFF_FFFF) }
        // ::ffff:a.b.c.d mapped; ::a.b.c.d compatible; ::ffff:0:a.b.c.d translated (RFC 4291 §2.5.5, RFC 2765).
        if [0xFFFF, 0, 0xFFFF_0000].contains(bits >> 32), bits > 1 { return [four(bits)] }
        // 64:ff9b::/96, NAT64 (RFC 6052).
        if bits >> 32 == 0x0064_FF9B_0000_0000_0000_0000 { return [four(bits)] }
        // 2002::/16, 6to4 (RFC 3056).
        if bits >> 112 == 0x2002 { return [four(bits >> 80)] }
        // 2001::/32, Teredo: the server, and the client with inverted bits (RFC 4380 §4).
        if bits >> 96 == 0x2001_0000 { return [four(bits >> 64), four(~bits)] }
        // …:0:5efe:a.b.c.d, ISATAP (RFC 5214 §6.1); the local bit may be set.
        if bits >> 32 & 0xFDFF_FFFF == 0x5EFE { return [four(bits)] }
        return []
    }
}

/// A range of addresses with the same first bits, such as `10.0.0.0/8` or `fc00::/7`.
struct IPNetwork: Sendable, CustomStringConvertible {
    private let address: IPAddress
    private let prefixLength: Int

    /// Reads CIDR notation or a single address; `nil` for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let width: Int64 = address.isIPv4 ? 32 : 128
        guard let length = parts.count == 1 ? width : parts[1].decimalNumber, length <= width else { return nil }
        self.init(address, prefixLength: Int(length))
    }

    private init(_ address: IPAddress, prefixLength: Int) {
        let hostBits = UInt128((address.isIPv4 ? 32 : 128) - prefixLength)
        // Shifts beyond the width give 0, so that a prefix of 0 covers everything.
        self.address = IPAddress(isIPv4: address.isIPv4, bits: (address.bits >> hostBits) << hostBits)
        self.prefixLength = prefixLength
    }

    /// Whether the network contains `other`. IPv4 addresses are in no IPv6 network, and the reverse.
    func contains(_ other: IPAddress) -> Bool {
        other.isIPv4 == address.isIPv4 && IPNetwork(other, prefixLength: prefixLength).address == address
    }

    var description: String { "\(address)/\(prefixLength)" }

    /// The networks of ``AddressPolicy/publicInternet``.
    static let nonPublic = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
        "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    ]
    static let everything = ["0.0.0.0/0", "::/0"].compactMap(IPNetwork.init)
    static let loopback = ["127.0.0.0/8", "::1/128"].compactMap(IPNetwork.init)
}
