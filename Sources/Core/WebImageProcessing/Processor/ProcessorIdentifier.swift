package import WebImageCore

/// The name of a processor and its parameters, as a text that no other processor has, such as `circle(border:none)`.
///
/// Punctuation in names and values is percent-encoded as in URLs, so that a value cannot pass for other parameters.
public struct ProcessorIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Makes an identifier.
    ///
    /// - Parameters:
    ///   - name: what the processor does. Choose a unique name, such as `org.example.sepia`.
    ///   - parameters: everything the result depends on, such as `["amount": "\(amount)"]`.
    package init(_ name: String, _ parameters: KeyValuePairs<String, String> = [:]) {
        self.init(name, texts: parameters.map { ($0.key, Self.escaped($0.value)) })
    }

    package init(_ name: String, values: KeyValuePairs<String, any ProcessorParameter>) {
        self.init(name, texts: values.map { ($0.key, $0.value.identifierValue.description) })
    }

    /// The identifier of processors that run one after the other; `original` for none. Grouping makes no difference.
    package init(chain identifiers: [ProcessorIdentifier]) {
        let steps = identifiers.filter { $0 != .identity }
        description = steps.isEmpty ? Self.identity.description : steps.map(\.description).joined(separator: "|")
    }

    private init(_ name: String, texts: [(key: String, text: String)]) {
        let parameters = texts.map { "\(Self.escaped($0.key)):\($0.text)" }.joined(separator: ",")
        description = Self.escaped(name) + (parameters.isEmpty ? "" : "(\(parameters))")
    }

    /// Of a chain that changes nothing.
    package static let identity = ProcessorIdentifier("original")

    /// Letters, digits, `-`, `.` and `_` stay; every other byte becomes `%` and two digits.
    static func escaped(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isPlain) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigits[Int(byte >> 4)])
                bytes.append(hexDigits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }

    /// The text of a parameter's value. Texts are escaped and lists are in brackets, so that no value can pass for
    /// other parameters or processors.
    package struct Value: Sendable, Hashable, CustomStringConvertible {
        package let description: String

        /// - Precondition: punctuation in `text` is escaped, or comes from other values.
        package init(verbatim text: String) { description = text }

        package static func text(_ text: String) -> Value { Value(verbatim: escaped(text)) }

        package static func number(_ number: Int) -> Value { Value(verbatim: number.description) }

        /// The shortest text that reads back as `number`. Whole numbers have no fraction and 0 has no sign.
        package static func number(_ number: Double) -> Value {
            Int(exactly: number).map(Value.number) ?? .text(number.description)
        }

        package static func list(_ values: [Value]) -> Value {
            // A list of one empty text is not an empty list.
            let texts = values.map { $0.description.isEmpty ? "%" : $0.description }
            return Value(verbatim: "[\(texts.joined(separator: ","))]")
        }
    }
}

/// A value that an identifier can tell from all others of its type.
package protocol ProcessorParameter {
    var identifierValue: ProcessorIdentifier.Value { get }
}

extension ProcessorParameter where Self: RawRepresentable, RawValue: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { rawValue.identifierValue }
}

extension String: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { .text(self) }
}

extension Bool: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { .text(self ? "yes" : "no") }
}

extension Int: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { .number(self) }
}

extension Double: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { .number(self) }
}

extension Optional: ProcessorParameter where Wrapped: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { map { .list([$0.identifierValue]) } ?? .text("none") }
}

extension Array: ProcessorParameter where Element: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { .list(map(\.identifierValue)) }
}

extension Color: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { [red, green, blue, alpha].identifierValue }
}

extension PointSize: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value {
        ProcessorIdentifier.Value(verbatim: "\(width.identifierValue)x\(height.identifierValue)")
    }
}

extension PixelRect: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { [x, y, width, height].identifierValue }
}

extension PointRect: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { [x, y, width, height].identifierValue }
}

extension PointInsets: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { [top, left, bottom, right].identifierValue }
}

extension Angle: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { degrees.identifierValue }
}

extension ImageContentMode: ProcessorParameter {
    package var identifierValue: ProcessorIdentifier.Value { .text(String(describing: self)) }
}
