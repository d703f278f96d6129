internal import FoundationEssentials

/// Scheme, host and port: what decides which connections a request may use and who may see its credentials.
struct HTTPOrigin: Hashable {
    let scheme: String
    let host: String
    let port: Int

    /// `nil` for a URL that is not HTTP or has no host.
    init?(_ url: URL) {
        guard Self.isHTTP(url), let scheme = url.scheme?.lowercased(), let host = url.host(), !host.isEmpty else {
            return nil
        }
        self.scheme = scheme
        self.host = host.lowercased()
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    static func isHTTP(_ url: URL) -> Bool {
        let scheme = url.scheme?.lowercased()
        return scheme == "http" || scheme == "https"
    }
}
