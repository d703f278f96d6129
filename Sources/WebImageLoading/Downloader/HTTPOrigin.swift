internal import FoundationEssentials

/// Scheme, host and port: what decides which connections a request may use and who may see its credentials.
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
