internal import SystemText
internal import WebImageCore

/// A key with its salt, which sign paths.
///
/// ```swift
/// if let key = SigningKey(hexKey: "943b421c9eb07c83", hexSalt: "520f986b998545b4") {
///     let path = "/rs:fill:300:300/plain/https://example.org/photo.jpg"
///     print("/" + key.signature(of: path) + path)
/// }
/// ```
public struct SigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: [UInt8]
    private let salt: [UInt8]

    /// Creates a key from hexadecimal digits, as they are written in settings.
    ///
    /// - Returns: `nil` for an empty key or text that is not hexadecimal. The salt may be empty.
    public init?(hexKey: String, hexSalt: String) {
        guard let key = Self.bytes(inHex: hexKey), !key.isEmpty, let salt = Self.bytes(inHex: hexSalt) else {
            return nil
        }
        (self.key, self.salt) = (key, salt)
    }

    /// Returns the signature of a path: the beginning of an HMAC-SHA256 of salt and path, in the form of base64 for URLs,
    /// without padding.
    ///
    /// - Parameters:
    ///   - path: what is behind the signature in a URL; begins with a slash. For a description, `/info` and what is behind the signature.
    ///   - byteCount: the length of the signature before it is encoded, 1 to 32; 32 by default.
    public func signature(of path: String, byteCount: Int = 32) -> String {
        Base64.urlText(of: code(of: path).prefix(min(max(byteCount, 1), 32)))
    }

    /// Whether `signature` is that of a path.
    func accepts(_ signature: [UInt8], of path: String) -> Bool {
        !signature.isEmpty && SHA256.areEqual(code(of: path).prefix(signature.count), signature)
    }

    private func code(of path: String) -> [UInt8] {
        SHA256.authenticationCode(of: salt + Array(path.utf8), key: key)
    }

    static func bytes(inHex text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = PercentEncodedBytes.value(ofDigits: digits[index..<index + 2]) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Hides the key.
    public var description: String { "a hidden key" }
    /// Empty, so that `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
