internal import FoundationEssentials

/// Scheme, host and port. They decide which connections a request may use and which servers may get its credentials.
struct HTTPOrigin: Hashable {
    let scheme: String
    let host: String
    let port: Int

    /// `nil` for a URL that is not HTTP or has no ``Foundation/URL/canonicalHost``.
    init?(_ url: URL) {
        guard Self.isHTTP(url), let scheme = url.scheme?.lowercased(), let host = url.canonicalHost else {
            return nil
        }
        self.scheme = scheme
        self.host = host
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    static func isHTTP(_ url: URL) -> Bool {
        let scheme = url.scheme?.lowercased()
        return scheme == "http" || scheme == "https"
    }
}

extension URL {
    /// The spelling of the host that rules, tables and libcurl use: percent-decoded, in lower case, without a trailing dot, addresses in
    /// their usual form without brackets.
    ///
    /// `nil` if there is none, or if two parsers might read two different hosts. That is the case for characters outside ASCII, which
    /// IDNA maps to other names (write them as `xn--`), and for those that no name has (RFC 3986 §3.2.2).
    var canonicalHost: String? {
        guard var host = host(percentEncoded: false)?.lowercased() else { return nil }
        if host.contains(":") { return IPAddress(host) == nil ? nil : HostPattern.normalized(host) }
        if host.hasSuffix(".") { host.removeLast() }
        guard !host.isEmpty, !host.hasSuffix("."), host.utf8.allSatisfy(Self.isAllowedInName) else { return nil }
        return HostPattern.normalized(host)
    }

    /// The URL with its host in that spelling, so that libcurl uses the host that was checked.
    var withCanonicalHost: URL {
        // libcurl reads all forms of IPv6 addresses the same way.
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
