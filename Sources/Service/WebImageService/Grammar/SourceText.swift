internal import SystemText
internal import WebImageCore

/// The source at the end of a path, and the format that its extension names.
struct SourceText: Equatable {
    let url: String
    /// As it is written, such as `jpg`; empty for none.
    let `extension`: String

    /// - Parameters:
    ///   - parts: those behind the options.
    ///   - baseURL: what sources begin with; empty for nothing.
    ///   - hasFileName: whether the last part of a base64 source is a file name.
    init(_ parts: ArraySlice<Substring>, baseURL: String, hasFileName: Bool = false) throws(Refusal) {
        guard let first = parts.first, !(parts.count == 1 && first.isEmpty) else {
            throw .invalid("The path has no source.")
        }
        guard first != "enc" else { throw .invalid("Encrypted sources are not supported.") }
        let isPlain = first == "plain"
        // It cannot be a source, and what reads it as one would complain about something else.
        if !isPlain, parts.contains("plain") { throw .invalid("'\(first)' is not an option.") }
        let parts = isPlain ? parts.dropFirst() : hasFileName && parts.count > 1 ? parts.dropLast() : parts
        let text = parts.joined(separator: isPlain ? "/" : "")
        let pieces = text.split(separator: isPlain ? "@" : ".", omittingEmptySubsequences: false)
        guard pieces.count <= 2, !pieces[0].isEmpty else {
            throw .invalid(pieces.count > 2 ? "The path names several formats." : "The path has no source.")
        }
        guard let bytes = isPlain ? Self.unescaped(pieces[0]) : Base64.bytes(in: pieces[0]),
            let source = String(validating: bytes, as: UTF8.self)
        else { throw .invalid(isPlain ? "The source has invalid escapes." : "The source is not valid base64.") }
        // A space becomes %20, also in names of files and objects.
        guard source.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .invalid("The source has characters that are not allowed.")
        }
        url = source.hasPrefix(baseURL) ? source : baseURL + source
        `extension` = pieces.count == 2 ? String(pieces[1]) : ""
    }

    /// `nil` if a percent sign is not followed by two digits.
    static func unescaped(_ text: Substring) -> [UInt8]? {
        let bytes = Array(text.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            guard index + 2 < bytes.count, PercentEncodedBytes.value(ofDigits: bytes[index + 1...index + 2]) != nil
            else {
                return nil
            }
        }
        return Array(PercentEncodedBytes(bytes[...]))
    }
}
