internal import FoundationEssentials
internal import WebImageCore

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
        guard !Self.leavesFolder(url) else { throw .forbiddenSource }
        guard patterns.isEmpty || patterns.contains(where: { $0.matches(url, scheme: scheme) }) else {
            throw .forbiddenSource
        }
        return url
    }

    private static func leavesFolder(_ url: URL) -> Bool {
        url.path(percentEncoded: false).split(separator: "/").contains { $0 == ".." || $0 == "." }
            || url.path(percentEncoded: false).utf8.contains(0)
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

    func matches(_ url: URL, scheme: String) -> Bool {
        guard scheme == self.scheme else { return false }
        let host = (url.host() ?? "").lowercased().split(separator: ".")
        if let labels {
            guard labels.count == host.count, zip(labels, host).allSatisfy({ $0 == "*" || $0 == $1 }) else {
                return false
            }
        }
        if port.map({ "\(url.port ?? 0)" != $0 }) ?? (url.port != nil) { return false }
        let path = url.path(percentEncoded: false)
        return (path.isEmpty ? "/" : path).hasPrefix(self.path)
    }
}
