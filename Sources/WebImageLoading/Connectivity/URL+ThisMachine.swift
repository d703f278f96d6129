package import FoundationEssentials

extension URL {
    /// Whether no network is needed for it: a file, a `data:` URL, or a server on the loopback interface.
    package var isOnThisMachine: Bool {
        if ["file", "data"].contains(scheme?.lowercased()) { return true }
        guard let host = canonicalHost else { return false }
        // RFC 6761, 6.3.
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        guard let address = IPAddress(host: host) else { return false }
        return IPNetwork.loopback.contains { $0.contains(address) }
    }
}

extension IPNetwork {
    fileprivate static let loopback = ["127.0.0.0/8", "::1/128"].compactMap { IPNetwork($0) }
}
