/// A JSON object on one line whose fields keep their order.
struct JSONObject {
    /// What a field can hold.
    enum Value {
        case null
        case bool(Bool)
        case integer(Int)
        /// Written with one digit after the point.
        case decimal(Double)
        case string(String)
        case array([Value])
        case object(JSONObject)
    }

    private var fields: [(name: String, value: Value)] = []

    mutating func append(_ name: String, _ value: Value) { fields.append((name, value)) }

    /// The object's text (RFC 8259), without a line end.
    var text: String {
        "{" + fields.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }

    fileprivate static func quoted(_ text: String) -> String {
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

extension JSONObject: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, Value)...) {
        fields = elements.map { (name: $0.0, value: $0.1) }
    }
}

extension JSONObject.Value {
    fileprivate var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .decimal(let value): value.isFinite ? String((value * 10).rounded() / 10) : "null"
        case .string(let value): JSONObject.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let value): value.text
        }
    }

    /// `null` for `nil`.
    static func optional(_ value: Int?) -> Self { value.map(Self.integer) ?? .null }
    /// `null` for `nil`.
    static func optional(_ value: String?) -> Self { value.map(Self.string) ?? .null }
}
