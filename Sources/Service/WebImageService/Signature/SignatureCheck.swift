internal import WebImageCore

/// Accepts signed paths.
struct SignatureCheck: Sendable {
    /// Any of them may have signed; without one, nothing is signed.
    let keys: [SigningKey]
    /// The length of signatures in bytes, 1 to 32.
    let byteCount: Int
    /// Texts that count as signatures of every path.
    let trusted: [String]

    /// - Parameter path: what is signed, beginning with a slash.
    func check(_ signature: String, of path: String) throws(Refusal) {
        guard !keys.isEmpty else { return }
        if trusted.contains(where: { $0.hasSameBytes(as: signature) }) { return }
        guard let bytes = Base64.bytes(in: signature), bytes.count == byteCount,
            // One text for each signature, so that caches and logs know it by its text.
            Base64.urlText(of: bytes).hasSameBytes(as: signature),
            keys.reduce(false, { $1.accepts(bytes, of: path) || $0 })
        else { throw .forbiddenSignature }
    }
}
