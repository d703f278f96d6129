internal import FoundationEssentials

extension URL {
    /// The one spelling of its host that rules, tables and libcurl go by: percent-decoded, in lower case, without a dot at
    /// the end, addresses in their usual form without brackets.
    ///
    /// `nil` where there is none, or where two readers might take it for two hosts: with anything but ASCII, which IDNA
    /// maps to other names (`xn--` names are the way to write those), or with what no name has (RFC 3986 §3.2.2).
    var canonicalHost: String? {
        guard var host = host(percentEncoded: false)?.lowercased() else { return nil }
        if host.contains(":") { return IPAddress(host) == nil ? nil : HostPattern.normalized(host) }
        if host.hasSuffix(".") { host.removeLast() }
        guard !host.isEmpty, !host.hasSuffix("."), host.utf8.allSatisfy(Self.isAllowedInName) else { return nil }
        return HostPattern.normalized(host)
    }

    /// With its host in that spelling, so that libcurl looks up and shows servers the one that was judged.
    var withCanonicalHost: URL {
        // libcurl reads every form of an IPv6 address as we do.
        guard let spelt = host(), let host = canonicalHost, host != spelt, !host.contains(":") else { return self }
        let text = absoluteString
        guard let slashes = text.firstRange(of: "://") else { return self }
        let rest = text[slashes.upperBound...]
        guard rest.hasPrefix(spelt) else { return self }
        return URL(string: text[..<slashes.upperBound] + host + rest.dropFirst(spelt.count)) ?? self
    }

    private static func isAllowedInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~!$&'()*+,;=".utf8.contains(byte)
        }
    }
}
