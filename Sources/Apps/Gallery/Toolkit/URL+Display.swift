import FoundationEssentials
import Glibc
import WebImageGTK

extension URL {
    /// The name for users: a file's name, or the host.
    var displayName: String {
        guard !isData else { return localized("Image data") }
        let path = isFileURL ? filePath.description : path(percentEncoded: false)
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        return name.isEmpty ? host() ?? displayText : name
    }

    /// The URL for users: without `user:password@`, and without the bytes that a `data:` URL contains.
    var displayText: String {
        guard !isData else { return absoluteString.prefix { $0 != "," } + ",…" }
        return CredentialRedaction.removingUserInformation(fromURL: absoluteString)
    }

    /// The path of a file, as users write it; otherwise ``displayText``.
    var locationText: String { isFileURL ? filePath.description : displayText }

    /// Whether the URL contains the file.
    var isData: Bool { scheme?.lowercased() == "data" }

    /// The URL that a text contains, also without its scheme: `example.org/a.jpg`.
    static func remote(_ text: String) -> URL? {
        if let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            ["http", "https", "data"].contains(scheme)
        {
            return url
        }
        let host = text.prefix { $0 != "/" }
        guard !text.hasPrefix("/"), !text.hasPrefix("."), !text.hasPrefix("~"),
            host.contains(".") || host.hasPrefix("localhost") || host.hasPrefix("[::1]"), text.contains("/"),
            access(text, F_OK) != 0
        else { return nil }
        // A server on this computer has no certificate as a rule.
        let name = host.prefix { $0 != ":" }
        let isLoopback = name == "localhost" || name.hasPrefix("127.") || host.hasPrefix("[::1]")
        return URL(string: (isLoopback ? "http://" : "https://") + text)
    }
}
