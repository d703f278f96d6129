internal import FoundationEssentials
internal import WebImage

/// What a command is asked to read: a URL, or the path of a file.
struct ImageInput: Sendable {
    /// As it was written on the command line.
    let text: String
    let url: URL

    /// - Throws: ``WebImageError/invalidURL(_:)``.
    init(_ text: String) throws(WebImageError) {
        self.text = text
        guard Self.hasScheme(text) else {
            url = URL(filePath: text, directoryHint: .notDirectory).absoluteURL
            return
        }
        guard let url = URL(string: text) else { throw .invalidURL(text) }
        self.url = url
    }

    var isFile: Bool { url.isFileURL }

    /// What `get` calls the place that a loader takes it from.
    var sourceName: String {
        switch url.scheme?.lowercased() {
        case "file": "file"
        case "data": "data"
        default: "network"
        }
    }

    /// `scheme://…` (RFC 3986, 3.1) or `data:…`; a path may hold a colon as well.
    private static func hasScheme(_ text: String) -> Bool {
        text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:\/\/|[Dd][Aa][Tt][Aa]:/) != nil
    }
}
