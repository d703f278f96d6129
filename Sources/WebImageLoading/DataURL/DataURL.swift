internal import FoundationEssentials
internal import WebImageCore

/// A `data:` URL taken apart: `data:[<media type>][;base64],<data>`.
struct DataURL {
    /// As the URL has it, with its parameters.
    let mediaType: String
    /// Of a long one only the beginning: errors are shown and logged.
    let urlForErrors: URL
    private let isBase64: Bool
    private let encodedBody: ArraySlice<UInt8>

    init(_ url: URL) throws(WebImageError) {
        // The fragment is none of the data.
        let text = Array(url.absoluteString.utf8.prefix { $0 != UInt8(ascii: "#") })
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { throw .invalidURL(url.absoluteString) }
        let content = text[(colon + 1)...]
        guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else {
            throw .invalidDataURL("it has no comma before its data")
        }
        urlForErrors =
            text.count <= 256 ? url : URL(string: String(decoding: text.prefix(64), as: UTF8.self) + "…") ?? url
        encodedBody = content[(comma + 1)...]
        // Spaces arrive as %20: Foundation encodes what may not stand in a URL.
        var type = Self.trimmed(String(decoding: Self.percentDecoded(content[..<comma]), as: UTF8.self)[...])
        isBase64 = Self.removeBase64(from: &type)
        type = Self.trimmed(type)
        // What a media type without a type stands for (RFC 2397, 2).
        mediaType =
            type.isEmpty ? "text/plain;charset=US-ASCII" : type.hasPrefix(";") ? "text/plain" + type : String(type)
    }

    /// The data itself.
    func body(limit: Int64) throws(WebImageError) -> Data {
        let bytes = Self.percentDecoded(encodedBody)
        guard isBase64 else { return try checked(Data(bytes), limit: limit) }
        var digits = Data(bytes.filter { !Self.isWhiteSpace($0) })
        if digits.count.isMultiple(of: 4) {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { throw .invalidDataURL("its base64 text ends in the middle of a byte") }
        // Data's decoder wants the padding that browsers do without.
        digits.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - digits.count % 4) % 4))
        guard let body = Data(base64Encoded: digits) else {
            throw .invalidDataURL("its base64 text has characters that are none of base64")
        }
        return try checked(body, limit: limit)
    }

    private func checked(_ body: Data, limit: Int64) throws(WebImageError) -> Data {
        guard body.count <= limit else {
            throw .responseTooLarge(byteCount: Int64(body.count), limit: limit, url: urlForErrors)
        }
        return body
    }

    /// Takes `;base64` off the end, with the spaces that may stand before and after the word.
    private static func removeBase64(from type: inout Substring) -> Bool {
        guard type.utf8.count >= 6, type.suffix(6).lowercased() == "base64" else { return false }
        var rest = type.dropLast(6)
        while rest.last == " " { rest.removeLast() }
        guard rest.last == ";" else { return false }
        type = rest.dropLast()
        return true
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0.utf8.allSatisfy(isWhiteSpace) }
        while let last = text.last, last.utf8.allSatisfy(isWhiteSpace) { text.removeLast() }
        return text
    }

    /// A `%` without two hexadecimal digits behind it stands for itself (WHATWG URL Standard, "percent-decode").
    private static func percentDecoded(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard text.contains(UInt8(ascii: "%")) else { return text }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            if text[index] == UInt8(ascii: "%"), text.endIndex - index > 2, let high = nibble(text[index + 1]),
                let low = nibble(text[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(text[index])
                index += 1
            }
        }
        return decoded[...]
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Tab, line feed, form feed, carriage return, space (WHATWG Infra Standard, "ASCII whitespace").
    private static func isWhiteSpace(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains(byte) }
}
