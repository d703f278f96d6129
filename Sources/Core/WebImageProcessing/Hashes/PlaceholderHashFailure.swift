internal import WebImageCore

/// Why a BlurHash or ThumbHash is invalid.
enum PlaceholderHashFailure: Error, Hashable {
    /// The length in bytes differs from the length that the first bytes specify, or is too short for those.
    case wrongLength(byteCount: Int, expected: Int)
    /// The byte at `offset` is not a valid character.
    case invalidCharacter(offset: Int)
    /// The value at `offset` is one that encoders never write.
    case valueOutOfRange(offset: Int)

    /// The error to throw, which shows the beginning of the hash.
    func error(about hash: String, format: String) -> WebImageError {
        let fault =
            switch self {
            case .wrongLength(let byteCount, let expected): "it has \(byteCount) bytes instead of \(expected)"
            case .invalidCharacter(let offset): "byte \(offset) is not a valid character"
            case .valueOutOfRange(let offset): "the value at byte \(offset) is out of range"
            }
        return .decoding(
            format: ImageFormat(name: format, mimeType: "", fileExtension: ""),
            reason: .corrupt("'\(hash.prefix(200))': \(fault)"))
    }
}
