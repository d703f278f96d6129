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

    /// `scheme://…` (RFC 3986, 3.1); a path may hold a colon as well.
    private static func hasScheme(_ text: String) -> Bool {
        text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:\/\//) != nil
    }
}
