package import FoundationEssentials
internal import SystemText
package import WebImageCore

extension URL {
    /// Creates the URL that browsers read in a text: white space around it is left out, as are tabs and line breaks, and
    /// characters that a URL may not contain are encoded, each by itself.
    ///
    /// Foundation encodes a component with an invalid character as a whole, including each `%`: `/%41 b` would become
    /// `/%2541%20b`. A `data:` URL that it would change is written again as base64.
    ///
    /// - Throws: ``WebImageError/invalidURL(_:reason:)``. The content of a `data:` URL is checked when it is loaded.
    package init(address: String) throws(WebImageError) {
        let text = String(decoding: address.utf8WithoutBreaks, as: UTF8.self)
        guard let url = URL(string: text) else { throw .invalidURL(address) }
        guard url.scheme?.lowercased() == "data" else {
            self = url.absoluteString == text ? url : URL(string: Self.encoded(text)) ?? url
            return
        }
        guard url.absoluteString != text || url.textBeforeEncoding != text,
            let content = try? DataURL(text: text, limit: .max, urlForErrors: DataURL.shortened(url)),
            // The space makes Foundation encode this in a way that `textBeforeEncoding` undoes, whatever the type is.
            let copy = URL(string: "data:\(content.mediaType) ;base64,\(content.body.base64EncodedString())")
        else {
            self = url
            return
        }
        self = copy
    }

    /// Encodes invalid characters behind the host, and each `%` that begins no escape.
    private static func encoded(_ text: String) -> String {
        let slashes = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        let start = text[slashes...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        let bytes = Array(text[start...].utf8)
        var encoded = String(text[..<start])
        var isInFragment = false
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == UInt8(ascii: "%") && PercentEncodedBytes.value(ofDigits: bytes[(index + 1)...].prefix(2)) != nil
            let isSecondHash = byte == UInt8(ascii: "#") && isInFragment
            if byte == UInt8(ascii: "#") { isInFragment = true }
            if isEscape || isValid(byte) && !isSecondHash {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// Checks what can be checked before a load: the host and port of an HTTP URL, that a `file:` URL names a file on this
    /// machine, and that a `data:` URL has data.
    ///
    /// - Throws: ``WebImageError/invalidURL(_:reason:)``.
    package func checkAddress() throws(WebImageError) {
        let isValid =
            switch scheme?.lowercased() {
            case nil: false
            case "http", "https": HTTPOrigin.exists(of: self)
            case "file": SystemString(fileURL: self) != nil
            case "data": withoutFragment.absoluteString.utf8.contains(UInt8(ascii: ","))
            default: true
            }
        guard !isValid else { return }
        throw scheme?.lowercased() == "data" ? DataURL.withoutData : .invalidURL(absoluteString)
    }

    /// The text that `URL(string:)` has encoded, or else the text of the URL.
    ///
    /// Foundation replaces each invalid character and each `%` of a component that contains an invalid one. What could
    /// be the result of that is decoded: escapes of such characters only, in upper case, and a character besides a
    /// valid escape that had to be replaced. Control characters and those beyond ASCII stay escaped, as in browsers.
    var textBeforeEncoding: String {
        let text = absoluteString
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let query = text[..<end].utf8.firstIndex(of: UInt8(ascii: "?")) ?? end
        return Self.beforeEncoding(text[..<query]) + Self.beforeEncoding(text[query..<end]) + String(text[end...])
    }

    private static func beforeEncoding(_ component: Substring) -> String {
        let text = Array(component.utf8)
        // All characters, and the result.
        var (decoded, kept): ([UInt8], [UInt8]) = ([], [])
        var hasInvalidCharacter = false
        // In front of the first slash Foundation encodes colons, too (RFC 3986, 4.2).
        var mayEncodeColons = component.first != "?"
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "%") else {
                if text[index] == UInt8(ascii: "/") { mayEncodeColons = false }
                decoded.append(text[index])
                kept.append(text[index])
                index += 1
                continue
            }
            let digits = text[(index + 1)...].prefix(2)
            guard let byte = PercentEncodedBytes.value(ofDigits: digits), !digits.contains(where: isLowercase),
                !isValid(byte) || mayEncodeColons && byte == UInt8(ascii: ":")
            else { return String(component) }
            decoded.append(byte)
            if (0x20...0x7E).contains(byte) { kept.append(byte) } else { kept += text[index..<(index + 3)] }
            index += 3
            let isEscape =
                byte == UInt8(ascii: "%") && PercentEncodedBytes.value(ofDigits: text[index...].prefix(2)) != nil
            hasInvalidCharacter = hasInvalidCharacter || !isEscape && byte != UInt8(ascii: ":")
        }
        guard hasInvalidCharacter, String(validating: decoded, as: UTF8.self) != nil else { return String(component) }
        return String(decoding: kept, as: UTF8.self)
    }

    /// Whether Foundation leaves the character in a path or a query, or ends the component at it (RFC 3986, 3.3).
    private static func isValid(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-._~!$&'()*+,;=:@/?#".utf8.contains(byte)
        }
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
}

extension String {
    /// The text without control characters and spaces around it, and without tabs and line breaks (WHATWG URL Standard,
    /// "basic URL parser", 1 to 3).
    var utf8WithoutBreaks: [UInt8] {
        var bytes = Array(utf8)
        bytes.removeSubrange((bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? 0)...)
        bytes.removeFirst(bytes.firstIndex { $0 > 0x20 } ?? 0)
        bytes.removeAll { $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        return bytes
    }
}
