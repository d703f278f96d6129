import FoundationEssentials
import WebImageCore

/// A proxy; see ``ImageDownloader/Proxy/server(_:credential:bypassing:)``.
struct ProxyServer: Sendable, Equatable {
    /// Its address, without a user name.
    let url: URL
    let credential: Credential?

    init(_ url: URL, credential: Credential? = nil) throws(WebImageError) {
        let (bare, own) = url.separatedFromUserInfo
        let scheme = bare.scheme?.lowercased() ?? ""
        guard Self.defaultPorts[scheme] != nil else {
            throw .invalidRequest(reason: .unsupportedScheme(scheme), url: bare)
        }
        guard bare.canonicalHost != nil else { throw .invalidURL(bare.absoluteString) }
        let credential = credential ?? own
        guard credential?.isSendable ?? true else {
            throw .invalidRequest(reason: .invalidHeader(name: "Proxy-Authorization"), url: bare)
        }
        self.url = bare
        self.credential = credential
    }

    var host: String { url.canonicalHost ?? "" }

    /// Whether this machine looks up names, so that the proxy gets only addresses.
    var looksUpNamesHere: Bool { ["socks4", "socks5"].contains(url.scheme?.lowercased()) }

    var port: Int { url.port ?? Self.defaultPorts[url.scheme?.lowercased() ?? ""] ?? 80 }

    /// In libcurl's form, with the port: libcurl's default is 1080 for all schemes.
    var text: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "\(url.scheme?.lowercased() ?? "http")://\(host):\(port)"
    }

    private static let defaultPorts = [
        "http": 80, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080,
    ]
}
