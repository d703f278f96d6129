internal import WebImageLoading
internal import WebImageService

/// Accepts requests that have the secret of the server: `Authorization: Bearer SECRET`.
struct BearerCheck: Sendable {
    private let secret: [UInt8]

    /// - Parameter secret: empty for none, which accepts every request.
    init(secret: String) { self.secret = Array(secret.utf8) }

    func accepts(_ request: ServiceRequest) -> Bool {
        guard !secret.isEmpty else { return true }
        let fields = request.headers.filter { $0.isNamed("Authorization") }
        guard fields.count == 1, let words = fields.first?.value.split(separator: " ", maxSplits: 1), words.count == 2,
            words[0].lowercased() == "bearer"
        else { return false }
        // The time depends on what the client sent, and tells nothing about the secret.
        let word = words[1].utf8
        let difference = word.enumerated().reduce(UInt8(word.count == secret.count ? 0 : 1)) { difference, byte in
            difference | (byte.element ^ secret[byte.offset % secret.count])
        }
        return difference == 0
    }
}
