internal import WebImage

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
    case string(String)
    case array([JSON])
    case object([Field])

    /// `null` for `nil`.
    static func optional(_ value: Int?) -> JSON { value.map(JSON.integer) ?? .null }
    /// `null` for `nil`.
    static func optional(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }

    /// The text without a line break at the end.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .decimal(let value): value.isFinite ? String((value * 10).rounded() / 10) : "null"
        case .string(let value): Self.quoted(value)
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
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension JSON: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral fields: (String, JSON)...) {
        self = .object(fields.map { Field(name: $0.0, value: $0.1) })
    }
}

extension WebImageError {
    /// `{"code":…,"message":…}`, with the message that is printed about the argument.
    func json(about argument: String) -> JSON {
        ["code": .integer(code), "message": .string(shellDescription(about: argument))]
    }
}

extension Duration {
    /// The duration in milliseconds, with fractions.
    var milliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}
