extension SHA256 {
    /// Returns the HMAC-SHA256 (RFC 2104) of `message` in lowercase hexadecimal. It proves that the message is from one who
    /// knows the key.
    package static func hexAuthenticationCode(of message: [UInt8], key: [UInt8]) -> String {
        let blockByteCount = 64
        var block = key.count > blockByteCount ? digest(of: key) : key
        block += [UInt8](repeating: 0, count: blockByteCount - block.count)
        let inner = digest(of: block.map { $0 ^ 0x36 } + message)
        return hexDigest(of: block.map { $0 ^ 0x5C } + inner)
    }
}
