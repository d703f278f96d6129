/// A media type with its parameters, in normal form (WHATWG MIME Sniffing Standard, "parse a MIME type"): names are in
/// lower case, invalid and repeated parameters are left out, and values are quoted only where they must be.
struct MediaType: Sendable, CustomStringConvertible {
    /// The type of data that states none (RFC 2397, 2).
    static let unstated = MediaType(type: "text", subtype: "plain", parameters: [("charset", "US-ASCII")])

    private let type: String
    private let subtype: String
    private let parameters: [(name: String, value: String)]

    private init(type: String, subtype: String, parameters: [(name: String, value: String)]) {
        (self.type, self.subtype, self.parameters) = (type, subtype, parameters)
    }

    /// Parses a text in ASCII; `nil` without a valid type and subtype.
    init?(_ text: [UInt8]) {
        var rest = Self.trimmedEnd(text[...]).drop(while: Self.isWhiteSpace)
        let type = Self.removePrefix(from: &rest) { $0 == UInt8(ascii: "/") }
        guard Self.isToken(type), rest.popFirst() != nil else { return nil }
        let subtype = Self.trimmedEnd(Self.removePrefix(from: &rest) { $0 == UInt8(ascii: ";") })
        guard Self.isToken(subtype) else { return nil }
        self.init(
            type: Self.string(type).lowercased(), subtype: Self.string(subtype).lowercased(),
            parameters: Self.parameters(in: rest))
    }

    var description: String {
        "\(type)/\(subtype)" + parameters.map { ";\($0.name)=\(Self.serialized($0.value))" }.joined()
    }

    /// - Parameter text: begins with a semicolon, or is empty.
    private static func parameters(in text: ArraySlice<UInt8>) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        var names: Set<String> = []
        var rest = text
        while rest.popFirst() != nil {
            rest = rest.drop(while: isWhiteSpace)
            let name = removePrefix(from: &rest) { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "=") }
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest.removeFirst()
            let value: [UInt8]
            if rest.first == UInt8(ascii: "\"") {
                value = removeQuotedString(from: &rest)
                _ = removePrefix(from: &rest) { $0 == UInt8(ascii: ";") }
            } else {
                value = Array(trimmedEnd(removePrefix(from: &rest) { $0 == UInt8(ascii: ";") }))
                if value.isEmpty { continue }
            }
            guard isToken(name), value.allSatisfy(isQuotable) else { continue }
            if names.insert(string(name).lowercased()).inserted {
                parameters.append((string(name).lowercased(), string(value[...])))
            }
        }
        return parameters
    }

    /// Removes a quoted string and returns its value; the closing quotation mark may be missing.
    private static func removeQuotedString(from rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return value
    }

    private static func serialized(_ value: String) -> String {
        if isToken(Array(value.utf8)[...]) { return value }
        return "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private static func removePrefix(
        from rest: inout ArraySlice<UInt8>, until isEnd: (UInt8) -> Bool
    ) -> ArraySlice<UInt8> {
        let prefix = rest.prefix { !isEnd($0) }
        rest = rest[prefix.endIndex...]
        return prefix
    }

    private static func trimmedEnd(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text[...(text.lastIndex { !isWhiteSpace($0) } ?? text.startIndex - 1)]
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func isToken(_ text: ArraySlice<UInt8>) -> Bool {
        !text.isEmpty
            && text.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    private static func isQuotable(_ byte: UInt8) -> Bool { byte == 0x09 || (0x20...0x7E).contains(byte) }

    /// Tab, line feed, carriage return, space ("HTTP whitespace").
    private static func isWhiteSpace(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0D, 0x20].contains(byte) }
}
