internal import FoundationEssentials
internal import WebImage

/// What a command is asked to read: a URL, the path of a file, or `-` for standard input.
struct ImageInput: Sendable {
    /// As it was written on the command line.
    let text: String
    let url: URL

    /// How standard input is written; a file of that name is `./-`.
    static let standardInput = "-"

    /// - Throws: ``WebImageError/invalidURL(_:)``.
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

    /// As it is called in lines for people.
    static func displayName(of text: String) -> String {
        text == standardInput ? StandardInput.name : CredentialRedaction.removingUserInformation(from: text)
    }

    /// What `get` calls the place that a loader takes it from.
    var sourceName: String {
        if isStandardInput { return "stdin" }
        return switch url.scheme?.lowercased() {
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
