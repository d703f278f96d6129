internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading
internal import WebImageService

/// Accepts requests that have the secret of the server: `Authorization: Bearer SECRET`.
struct BearerCheck: Sendable {
    /// `nil` for no secret.
    private let digest: String?

    /// - Parameter secret: empty for none, which accepts every request.
    init(secret: String) { digest = secret.isEmpty ? nil : Self.digest(of: secret[...]) }

    func accepts(_ request: ServiceRequest) -> Bool {
        guard let digest else { return true }
        let fields = request.headers.filter { $0.isNamed("Authorization") }
        guard fields.count == 1, let words = fields.first?.value.split(separator: " ", maxSplits: 1), words.count == 2,
            words[0].lowercased() == "bearer"
        else { return false }
        // Digests have one length, so that the time tells nothing.
        return SHA256.areEqual(Self.digest(of: words[1]).utf8, digest.utf8)
    }

    private static func digest(of text: Substring) -> String { SHA256.hexDigest(of: Array(text.utf8)) }
}
