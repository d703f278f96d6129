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
        // What is before an @ could pass for the host.
        guard url.user() == nil, url.password() == nil else { throw .forbiddenSource }
        // A path that leaves its folder again passes no pattern and no folder.
        let path = url.path(percentEncoded: false)
        guard !Self.leavesFolder(path) else { throw .forbiddenSource }
        guard !patterns.isEmpty else { return url }
        let labels = (url.host() ?? "").lowercased().split(separator: ".")
        let isAllowed = patterns.contains { $0.matches(scheme, labels, url.port, path.isEmpty ? "/" : path) }
        guard isAllowed else { throw .forbiddenSource }
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

/// The beginning of allowed sources, such as `https://*.example.com/photos/` or `s3://bucket/`.
struct SourcePattern: Sendable {
    private let scheme: String
    /// Labels, of which `*` stands for any one; `nil` for any host.
    private let labels: [Substring]?
    private let port: Substring?
    private let path: String

    init(_ text: String) {
        let parts = text.firstRange(of: "://").map { (text[..<$0.lowerBound], text[$0.upperBound...]) }
        scheme = (parts?.0 ?? "").lowercased()
        let rest = parts?.1 ?? text[...]
        let authority = rest.prefix { $0 != "/" }
        let path = rest.dropFirst(authority.count)
        self.path = path.isEmpty ? "/" : String(path)
        let pieces = authority.lowercased().split(separator: ":", maxSplits: 1)
        port = pieces.count == 2 ? pieces[1] : nil
        labels = pieces.first.map { $0.split(separator: ".") }
    }

    /// - Parameter host: its labels, in lower case.
    func matches(_ scheme: String, _ host: [Substring], _ port: Int?, _ path: String) -> Bool {
        guard scheme == self.scheme, self.port == port.map({ "\($0)"[...] }), path.hasPrefix(self.path) else {
            return false
        }
        guard let labels else { return true }
        return labels.count == host.count && zip(labels, host).allSatisfy { $0 == "*" || $0 == $1 }
    }
}
