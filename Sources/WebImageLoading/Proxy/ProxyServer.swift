public import FoundationEssentials
public import WebImageCore

/// A proxy, such as `http://proxy.example:3128` or `socks5h://127.0.0.1:1080`.
public struct ProxyServer: Sendable, Hashable {
    /// Its address, without a user name.
    public let url: URL
    /// For a proxy that asks for one; it is shown to nobody else.
    public let credential: Credential?

    /// Makes one.
    ///
    /// - Parameters:
    ///   - url: its scheme is `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`; with `socks4` and `socks5` this
    ///     machine looks up names, with the others the proxy does. The port is 1080 for SOCKS, 443 for https and 80 for
    ///     http unless it is given.
    ///   - credential: goes before `user:password@` in `url`.
    /// - Throws: ``WebImageError/unsupportedScheme(_:url:)``, ``WebImageError/invalidURL(_:)`` without a host, or
    ///   ``WebImageError/invalidHeader(name:)`` for a credential with control characters.
    public init(_ url: URL, credential: Credential? = nil) throws(WebImageError) {
        let (bare, own) = url.separatedFromUserInfo
        let scheme = bare.scheme?.lowercased() ?? ""
        guard Self.defaultPorts[scheme] != nil else { throw .unsupportedScheme(scheme, url: bare) }
        guard bare.canonicalHost != nil else { throw .invalidURL(bare.absoluteString) }
        let credential = credential ?? own
        guard credential?.isSendable ?? true else { throw .invalidHeader(name: "Proxy-Authorization") }
        self.url = bare
        self.credential = credential
    }

    var host: String { url.canonicalHost ?? "" }

    /// Whether this machine looks up names, and the proxy sees addresses alone.
    var looksUpNamesHere: Bool { ["socks4", "socks5"].contains(url.scheme?.lowercased()) }

    var port: Int { url.port ?? Self.defaultPorts[url.scheme?.lowercased() ?? ""] ?? 80 }

    /// As libcurl takes it: with the port, since its own default is 1080 for all of them.
    var text: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "\(url.scheme?.lowercased() ?? "http")://\(host):\(port)"
    }

    private static let defaultPorts = [
        "http": 80, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080,
    ]
}
