internal import FoundationEssentials
internal import SystemText
internal import WebImageCore

/// The content of a `data:` URL, as browsers read it (WHATWG Fetch Standard, "data: URL processor").
struct DataURL: Sendable {
    /// The type in front of the comma, in normal form; `text/plain;charset=US-ASCII` if there is no valid one.
    let mediaType: MediaType
    let body: Data

    static let withoutData = WebImageError.invalidURL("data:", reason: "it has no comma before its data")

    /// In bytes. Real types have fewer than a hundred.
    private static let longestType = 8000

    /// Reads a URL. If `URL(string:)` has encoded its text, the text before that counts.
    ///
    /// - Parameter limit: the largest length of the body, in bytes. No memory is allocated for a longer one.
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` without a comma or with invalid base64,
    ///   ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    init(_ url: URL, limit: Int64) throws(WebImageError) {
        try self.init(Array(url.textBeforeEncoding.utf8), limit: limit, urlForErrors: Self.shortened(url))
    }

    /// Reads a text that may contain any characters.
    init(text: String, limit: Int64, urlForErrors: URL) throws(WebImageError) {
        try self.init(text.utf8WithoutBreaks, limit: limit, urlForErrors: urlForErrors)
    }

    private init(_ text: [UInt8], limit: Int64, urlForErrors: URL) throws(WebImageError) {
        // The fragment is not part of the data.
        let end = text.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        guard let colon = text[..<end].firstIndex(of: UInt8(ascii: ":")),
            let comma = text[colon..<end].firstIndex(of: UInt8(ascii: ","))
        else { throw Self.withoutData }
        guard comma - colon <= Self.longestType else {
            throw .invalidURL("data:", reason: "its media type is longer than \(Self.longestType) bytes")
        }
        var type = Self.trimmed(Self.percentEncoded(text[(colon + 1)..<comma]))
        let body = PercentEncodedBytes(text[(comma + 1)..<end])
        let isBase64 = Self.removeBase64(from: &type)
        let byteCount = isBase64 ? try Base64.byteCount(of: body) : body.byteCount
        guard byteCount <= limit else {
            throw .invalidResponse(reason: .bodyTooLong(byteCount: Int64(byteCount), limit: limit), url: urlForErrors)
        }
        self.body = isBase64 ? Base64.decoded(body, byteCount: byteCount) : body.decoded()
        if type.first == UInt8(ascii: ";") { type = "text/plain".utf8 + type }
        mediaType = MediaType(type) ?? .unstated
    }

    /// The URL, or only the beginning of a long one, since errors are shown and logged.
    static func shortened(_ url: URL) -> URL {
        let text = url.absoluteString
        return text.utf8.count <= 256 ? url : URL(string: String(text.prefix(64)) + "…") ?? url
    }

    /// Removes `;base64` from the end, with the spaces around the word.
    private static func removeBase64(from type: inout [UInt8]) -> Bool {
        let word = type.suffix(6)
        guard String(decoding: word, as: UTF8.self).lowercased() == "base64" else { return false }
        let rest = type[..<word.startIndex]
        guard let last = rest.lastIndex(where: { $0 != UInt8(ascii: " ") }), rest[last] == UInt8(ascii: ";") else {
            return false
        }
        type.removeSubrange(last...)
        return true
    }

    /// Encodes what is not printable ASCII and, in the query or after a slash at the beginning, spaces and some marks
    /// (WHATWG URL Standard, "C0 control percent-encode set" and "query percent-encode set").
    private static func percentEncoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        let isPath = text.first == UInt8(ascii: "/")
        let query = isPath ? text.startIndex : text.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        return text.indices.flatMap { index in
            let byte = text[index]
            let isKept = (0x20...0x7E).contains(byte) && (index < query || !" \"<>".utf8.contains(byte))
            return isKept ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }

    /// Removes spaces from both ends. Other white space is encoded or was removed.
    private static func trimmed(_ text: [UInt8]) -> [UInt8] {
        let rest = text.drop { $0 == UInt8(ascii: " ") }
        return Array(rest[..<(rest.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? rest.startIndex)])
    }
}

extension Base64 {
    /// Checks text with white space, with or without padding, and returns the number of bytes that its digits are (WHATWG Infra
    /// Standard, "forgiving-base64 decode"). Foundation's decoder accepts more: padding of any length, and none of the
    /// digits that it belongs to.
    fileprivate static func byteCount(of text: PercentEncodedBytes) throws(WebImageError) -> Int {
        var (digitCount, paddingCount) = (0, 0)
        for byte in text where !isWhiteSpace(byte) {
            if byte == padding {
                paddingCount += 1
            } else if isDigit(byte), byte != UInt8(ascii: "-"), byte != UInt8(ascii: "_"), paddingCount == 0 {
                digitCount += 1
            } else {
                throw .invalidURL("data:", reason: "its base64 text has invalid characters")
            }
        }
        guard paddingCount == 0 || paddingCount <= 2 && (digitCount + paddingCount).isMultiple(of: 4) else {
            throw .invalidURL("data:", reason: "its base64 text has padding in the wrong place")
        }
        guard let byteCount = byteCount(ofDigits: digitCount) else {
            throw .invalidURL("data:", reason: "its base64 text ends in the middle of a byte")
        }
        return byteCount
    }

    /// Tab, line feed, form feed, carriage return, space.
    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0C || byte == 0x0D
    }
}
