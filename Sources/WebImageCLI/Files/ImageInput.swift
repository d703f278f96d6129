internal import FoundationEssentials
internal import WebImage

/// An input of a command: a URL, a file path, or `-` for standard input.
struct ImageInput: Sendable {
    /// The text on the command line.
    let text: String
    let url: URL

    /// Stands for standard input; a file with that name is `./-`.
    static let standardInput = "-"

    /// - Throws: ``WebImageError/invalidURL(_:reason:)``.
    init(_ text: String) throws(WebImageError) {
        self.text = text
        if text == Self.standardInput {
            url = StandardInput.request.url
            return
        }
        guard Self.hasScheme(text) else {
            url = URL(filePath: text, directoryHint: .notDirectory).absoluteURL
            return
        }
        guard let url = URL(string: text) else { throw .invalidURL(text) }
        self.url = url
    }

    var isFile: Bool { url.isFileURL }

    var isStandardInput: Bool { text == Self.standardInput }

    /// The name in messages.
    static func displayName(of text: String) -> String {
        text == standardInput ? StandardInput.name : CredentialRedaction.removingUserInformation(from: text)
    }

    /// The value of `source` in reports of `get`.
    var sourceName: String {
        if isStandardInput { return "stdin" }
        return switch url.scheme?.lowercased() {
        case "file": "file"
        case "data": "data"
        default: "network"
        }
    }

    /// Whether the text starts with `scheme://` (RFC 3986, 3.1) or `data:`; paths may contain colons, too.
    private static func hasScheme(_ text: String) -> Bool {
        text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:\/\/|[Dd][Aa][Tt][Aa]:/) != nil
    }
}
