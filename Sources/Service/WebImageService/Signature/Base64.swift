internal import FoundationEssentials

/// Base64 with the alphabet of URLs and without padding (RFC 4648, 5).
enum Base64 {
    static func urlText(of bytes: some Sequence<UInt8>) -> String {
        let text = Data(bytes).base64EncodedString().utf8.prefix { $0 != UInt8(ascii: "=") }
        return String(
            decoding: text.map {
                $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
            },
            as: UTF8.self)
    }

    /// Reads either alphabet, with or without padding; `nil` for other text.
    static func bytes(in text: some StringProtocol) -> [UInt8]? {
        var characters = text.utf8.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        while characters.last == UInt8(ascii: "=") { characters.removeLast() }
        // One character more than a multiple of four has no byte.
        guard characters.count % 4 != 1, !characters.contains(UInt8(ascii: "=")) else { return nil }
        characters += [UInt8](repeating: UInt8(ascii: "="), count: (4 - characters.count % 4) % 4)
        return Data(base64Encoded: Data(characters)).map { [UInt8]($0) }
    }
}
