extension SHA256 {
    /// Returns the HMAC-SHA256 (RFC 2104) of `message`. It proves that the message is from one who knows the key.
    package static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        let blockByteCount = 64
        var block = key.count > blockByteCount ? digest(of: key) : key
        block += [UInt8](repeating: 0, count: blockByteCount - block.count)
        let inner = digest(of: block.map { $0 ^ 0x36 } + message)
        return digest(of: block.map { $0 ^ 0x5C } + inner)
    }

    /// Whether two codes are equal. It compares all bytes in any case, so that the time tells nothing about the right code.
    package static func areEqual(_ code: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        code.count == other.count && zip(code, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
