import FoundationEssentials
import WebImageLoading
import WebImageProcessing

extension WebImageRequest {
    /// What its picture is found by in memory; its ``ImageCacheKey/original`` finds the bytes on disk.
    public var cacheKey: ImageCacheKey { ImageCacheKey(source: source, variant: variant) }

    private var source: String {
        var text = url.absoluteString
        var credential = credential
        // Most URLs have no name and password, and few an @: looking for one is quick.
        if text.utf8.contains(UInt8(ascii: "@")) {
            let (bare, own) = url.separatedFromUserInfo
            text = bare.absoluteString
            credential = credential ?? own
        }
        if text.utf8.count > Self.longestAddress {
            text = "\(text.prefix(64))…|sha256=\(SHA256.hexDigest(of: Array(text.utf8)))"
        }
        if let digest = credentialDigest(credential) { text += "|credentials=\(digest)" }
        if options.contains(.useCredentialStorage) { text += "|credentials=stored" }
        if options.contains(.handleCookies) { text += "|cookies=jar" }
        if options.contains(.allowInvalidCertificates) { text += "|certificates=any" }
        return text
    }

    /// Stands for what the server is shown to be let in; `nil` when that is nothing.
    private func credentialDigest(_ credential: Credential?) -> String? {
        guard !headers.isEmpty || credential != nil else { return nil }
        var secrets =
            headers
            .map { (name: $0.key.lowercased(), value: $0.value) }
            .filter { Self.credentialHeaders.contains($0.name) }
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        if let credential { secrets.append((name: "credential", value: credential.identity)) }
        guard !secrets.isEmpty else { return nil }
        // Lengths keep fields apart, so that no two sets of headers give one text.
        let text = secrets.map { "\($0.name):\($0.value.utf8.count):\($0.value)" }.joined(separator: "\n")
        return SHA256.hexDigest(of: Array(text.utf8))
    }

    /// In bytes: longer than what servers and proxies are asked to support (8000, RFC 9110 §4.1), so that a server's
    /// pictures keep their URL for a key.
    private static let longestAddress = 8000

    private var variant: String? {
        var parts: [String] = []
        if let thumbnail, thumbnail.isBounded {
            parts.append("thumbnail=\(thumbnail.size.width)x\(thumbnail.size.height),\(thumbnail.mode.rawValue)")
        }
        if scale != 1 { parts.append("scale=\(scale)") }
        let identifier = ProcessorChain(processors).identifier
        if identifier != .identity { parts.append("processors=\(identifier)") }
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }

    /// What lets somebody in, and what asks for a part only.
    private static let credentialHeaders: Set = [
        "authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "x-auth-token", "x-access-token",
        "range",
    ]
}
