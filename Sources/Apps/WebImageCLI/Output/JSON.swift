internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// A JSON value (RFC 8259), which is written on one line; the fields of an object keep their order.
enum JSON: Sendable {
    /// A field of an object.
    struct Field: Sendable {
        let name: String
        let value: JSON
    }

    case null
    case bool(Bool)
    case integer(Int)
    /// Written with one decimal digit.
    case decimal(Double)
    /// Written with up to five decimal digits; `null` if it is not finite.
    case precise(Double)
    /// Written without the passwords of URLs in it.
    case string(String)
    /// Written as it is. In a path that is not UTF-8, `\xNN` stands for each byte that is not.
    case path(SystemString)
    case array([JSON])
    case object([Field])

    /// `null` for `nil`.
    static func optional(_ value: Int?) -> JSON { value.map(JSON.integer) ?? .null }
    /// `null` for `nil`.
    static func optional(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }

    /// `null` for `nil`.
    static func optional(_ value: SystemString?) -> JSON { value.map(JSON.path) ?? .null }

    /// The fields for the path of a written file: `path`, and for one that is not UTF-8 also `pathBase64`, its bytes.
    static func fields(path: SystemString?) -> [(String, JSON)] {
        var fields: [(String, JSON)] = [("path", .optional(path))]
        if let path, path.text == nil {
            fields += [("pathBase64", .string(Data(path.bytes).base64EncodedString()))]
        }
        return fields
    }

    /// An object with these fields.
    init(_ fields: [(String, JSON)]) { self = .object(fields.map { Field(name: $0.0, value: $0.1) }) }

    /// The text without a line break at the end.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .decimal(let value): value.isFinite ? String((value * 10).rounded() / 10) : "null"
        case .precise(let value): value.isFinite ? String((value * 1e5).rounded() / 1e5) : "null"
        case .string(let value): Self.quoted(CredentialRedaction.removingUserInformation(from: value))
        case .path(let path): Self.quoted(path.description)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let fields):
            "{" + fields.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where TerminalText.isUnsafe(scalar): quoted += TerminalText.escape(of: scalar)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension JSON: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral fields: (String, JSON)...) {
        self.init(fields)
    }
}

extension Duration {
    /// The duration in milliseconds, with fractions.
    var milliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}
