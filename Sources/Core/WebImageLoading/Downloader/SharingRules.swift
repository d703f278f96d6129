package import FoundationEssentials
package import WebImageCore

/// What a cache that machines share needs to know of a downloader, and header fields do not show. Such a cache replaces
/// transfers, so it must respect the rules that hold for them.
package struct SharingRules: Sendable {
    private let configuration: ImageDownloader.Configuration
    private let environment: DownloadEnvironment

    /// The rules of a downloader; `nil` for other loaders, which have none.
    package init?(of loader: any ImageLoader) {
        guard let downloader = loader as? ImageDownloader else { return nil }
        (configuration, environment) = (downloader.configuration, downloader.environment)
    }

    /// Whether the response may be for this loader only: it has a credential of its own, or decrypts bodies.
    package func hasPrivateAccess(for request: LoaderRequest) -> Bool {
        configuration.addedCredential(to: request) != nil || configuration.authenticationHandler != nil
            || configuration.decryptor != nil
    }

    /// Returns why the loader must not deliver a response of `url` that came from `address`; `nil` if it may.
    ///
    /// Applies the ``AddressPolicy`` as the transport does for its own connections. Without an address, only that one
    /// can look the name up.
    ///
    /// - Parameter address: of the server; `nil` if it is unknown.
    package func blockReason(for url: URL, servedFrom address: String?) -> WebImageError.BlockReason? {
        let policy = configuration.addressPolicy
        if let reason = policy.blockReason(for: url) { return reason }
        guard !policy.deniedNetworks.isEmpty else { return nil }
        if let proxy = try? environment.proxies.server(for: url) { return policy.blockReason(for: url, through: proxy) }
        let host = url.canonicalHost ?? ""
        if let literal = IPAddress(host: host), let reason = policy.blockReason(for: literal) { return reason }
        guard let address = address.flatMap({ IPAddress($0) }) else { return .unresolvedHost(host) }
        return policy.blockReason(for: address)
    }

    /// Whether the loader would accept the response: its status, type and length.
    package func accepts(_ response: CachedResponse, byteCount: Int) -> Bool {
        let head = TransferHead(statusCode: response.statusCode, fields: response.headers)
        return byteCount <= configuration.maximumResponseByteCount
            && configuration.refusal(of: head, url: URL(filePath: "/")) == nil
    }

    /// Whether the address in the metrics is the server's, and not a proxy's.
    package func reportsServerAddress(of url: URL) -> Bool {
        do { return try environment.proxies.server(for: url) == nil } catch { return false }
    }
}
