package import FoundationEssentials

/// Scheme, host and port. They decide which connections a request may use and which servers may get its credentials.
struct HTTPOrigin: Hashable {
    let scheme: String
    let host: String
    let port: Int

    /// `nil` for a URL that is not HTTP, has no ``Foundation/URL/canonicalHost`` or has a port beyond 65535.
    init?(_ url: URL) {
        guard Self.isHTTP(url), let scheme = url.scheme?.lowercased(), let host = url.canonicalHost,
            url.port.map({ (0...65_535).contains($0) }) ?? true
        else { return nil }
        self.scheme = scheme
        self.host = host
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// Whether `url` has an origin, without making one.
    static func exists(of url: URL) -> Bool {
        isHTTP(url) && url.hasCanonicalHost && url.port.map { (0...65_535).contains($0) } ?? true
    }

    static func isHTTP(_ url: URL) -> Bool {
        url.hasScheme("http", or: "https")
    }
}

extension URL {
    /// Whether the scheme is one of the names, which are in lower case. Schemes are letters, digits, `+`, `-` and `.` (RFC
    /// 3986 §3.1); only letters change with the bit that is set.
    func hasScheme(_ name: StaticString, or other: StaticString? = nil) -> Bool {
        // A URL holds its text, while it makes its scheme anew each time.
        let text = absoluteString
        return text.beginsWithScheme(name) || other.map(text.beginsWithScheme) == true
    }
}

extension String {
    /// Whether the text of a URL has this scheme, which is in lower case.
    package func beginsWithScheme(_ name: StaticString) -> Bool {
        let count = name.utf8CodeUnitCount
        return utf8.withContiguousStorageIfAvailable { bytes in
            bytes.count > count && bytes[count] == UInt8(ascii: ":")
                && (0..<count).allSatisfy { bytes[$0] | 0x20 == name.utf8Start[$0] }
        } ?? lowercased().hasPrefix("\(name):")
    }
}

extension URL {
    /// The spelling of the host that rules, tables and libcurl use: percent-decoded, in lower case, without a trailing
    /// dot, addresses in their usual form without brackets.
    ///
    /// `nil` if there is none, or if two parsers might read two different hosts. That is the case for characters
    /// outside ASCII, which IDNA maps to other names (write them as `xn--`), and for those that no name has (RFC 3986
    /// §3.2.2).
    var canonicalHost: String? { checkedHost.map(HostPattern.normalized) }

    /// Whether there is a ``canonicalHost``.
    var hasCanonicalHost: Bool { checkedHost != nil }

    /// The host in lower case, as two parsers read it.
    private var checkedHost: String? {
        guard var host = host(percentEncoded: false)?.lowercased() else { return nil }
        if host.contains(":") { return IPAddress(host) == nil ? nil : host }
        if host.hasSuffix(".") { host.removeLast() }
        guard !host.isEmpty, !host.hasSuffix("."), host.utf8.allSatisfy(Self.isAllowedInName) else { return nil }
        return host
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

extension URL {
    /// The URL without its fragment, which is not sent to servers. URLs with custom schemes keep it, since it may
    /// matter to their loader.
    package var withoutFragment: URL {
        let text = absoluteString
        guard let end = fragmentStart(in: text) else { return self }
        return URL(string: String(text[..<end])) ?? self
    }

    /// Like ``withoutFragment``, for a URL whose `absoluteString` is `text`.
    package func withoutFragment(_ text: String) -> String {
        fragmentStart(in: text).map { String(text[..<$0]) } ?? text
    }

    private func fragmentStart(in text: String) -> String.Index? {
        guard let start = text.utf8.firstIndex(of: UInt8(ascii: "#")),
            let scheme = scheme?.lowercased(), ["http", "https", "file", "data"].contains(scheme)
        else { return nil }
        return start
    }
}
