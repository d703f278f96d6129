internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// Which sources may be loaded, before the address policy of the downloader looks at addresses.
struct SourcePolicy: Sendable {
    private let patterns: [SourcePattern]
    private let hasFolder: Bool
    private let hasStore: Bool

    /// - Parameters:
    ///   - texts: the allowed beginnings; without any, everything that can be loaded.
    ///   - hasFolder: whether there is a folder for `local:` sources.
    ///   - hasStore: whether there is a store for `s3:` sources.
    init(_ texts: [String], hasFolder: Bool, hasStore: Bool) {
        patterns = texts.map { SourcePattern($0) }
        (self.hasFolder, self.hasStore) = (hasFolder, hasStore)
    }

    /// Returns the URL of a source.
    func url(of text: String) throws(Refusal) -> URL {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased() else {
            throw .invalid("The source is not a URL.")
        }
        switch scheme {
        case "http", "https":
            guard url.host()?.isEmpty == false else { throw .invalid("The source has no host.") }
        case "local" where hasFolder, "s3" where hasStore: break
        default: throw .forbiddenSource
        }
        // Text before an @ could pass for the host.
        guard url.user() == nil, url.password() == nil else { throw .forbiddenSource }
        // A path that leaves its folder again passes no pattern and no folder.
        let path = url.path(percentEncoded: false)
        guard !Self.leavesFolder(path) else { throw .forbiddenSource }
        guard !patterns.isEmpty else { return url }
        guard patterns.contains(where: { $0.matches(url) }) else { throw .forbiddenSource }
        return url
    }

    /// Whether http and https sources are limited.
    var isLimited: Bool { !patterns.isEmpty }

    /// Whether a redirect may lead to an address.
    func allowsRedirect(to url: URL) -> Bool {
        guard isLimited, let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme) else { return true }
        return (try? self.url(of: url.absoluteString)) != nil
    }

    private static func leavesFolder(_ path: String) -> Bool {
        path.utf8.contains(0) || path.split(separator: "/").contains { $0 == ".." || $0 == "." }
    }
}

extension ImageDownloader {
    /// Returns a downloader with these limits, which may be this one.
    ///
    /// - Parameter sources: those that redirects may lead to.
    func bounded(byteCount: Int64, _ sources: SourcePolicy) -> ImageDownloader {
        guard sources.isLimited || configuration.maximumResponseByteCount > byteCount else { return self }
        var configuration = configuration
        configuration.maximumResponseByteCount = min(configuration.maximumResponseByteCount, byteCount)
        if sources.isLimited {
            let handler = configuration.redirectHandler
            configuration.redirectHandler = { response, target in
                guard let url = handler.map({ $0(response, target) }) ?? target, sources.allowsRedirect(to: url) else {
                    return nil
                }
                return url
            }
        }
        return ImageDownloader(configuration: configuration)
    }
}
