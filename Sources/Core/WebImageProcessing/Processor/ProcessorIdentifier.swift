public import WebImageCore

/// The name of a processor and its parameters, as a text that no other processor has, such as `circle(border:none)`.
///
/// ```swift
/// let identifier = ProcessorIdentifier("org.example.sepia", ["amount": 0.8, "tint": Color.black])
/// let sepia = ImageProcessor.transform(id: identifier.description) { image, _ in image }
/// ```
///
/// Punctuation in names and values is percent-encoded as in URLs, so that a value cannot pass for other parameters.
public struct ProcessorIdentifier: Sendable, Hashable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// Makes an identifier.
    ///
    /// - Parameters:
    ///   - name: what the processor does. Choose a unique name, such as `org.example.sepia`.
    ///   - values: everything the result depends on, such as `["amount": amount]`; none by default.
    public init(_ name: String, _ values: KeyValuePairs<String, any ProcessorParameter> = [:]) {
        let values = values.map { "\(Self.escaped($0.key)):\($0.value.identifierValue.description)" }
        description = Self.escaped(name) + (values.isEmpty ? "" : "(\(values.joined(separator: ",")))")
    }

    /// The identifier of processors that run one after the other; `original` for none. Grouping makes no difference.
    init(chain identifiers: [ProcessorIdentifier]) {
        let steps = identifiers.filter { $0 != .identity }
        description = steps.isEmpty ? Self.identity.description : steps.map(\.description).joined(separator: "|")
    }

    /// Of a chain that changes nothing.
    public static let identity = ProcessorIdentifier("original")

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
    public struct Value: Sendable, Hashable, CustomStringConvertible {
        /// The text.
        public let description: String

        /// - Precondition: punctuation in `text` is escaped, or comes from other values.
        init(verbatim text: String) { description = text }

        /// Returns the value of a text.
        public static func text(_ text: String) -> Value { Value(verbatim: escaped(text)) }

        static func number(_ number: Int) -> Value { Value(verbatim: number.description) }

        /// The shortest text that reads back as `number`. Whole numbers have no fraction and 0 has no sign.
        static func number(_ number: Double) -> Value {
            Int(exactly: number).map(Value.number) ?? .text(number.description)
        }

        /// Returns the value of a list.
        public static func list(_ values: [Value]) -> Value {
            // A list of one empty text is not an empty list.
            let texts = values.map { $0.description.isEmpty ? "%" : $0.description }
            return Value(verbatim: "[\(texts.joined(separator: ","))]")
        }
    }
}

/// A value that a ``ProcessorIdentifier`` can tell from all others of its type.
public protocol ProcessorParameter {
    /// The text of the value in an identifier.
    var identifierValue: ProcessorIdentifier.Value { get }
}

extension ProcessorParameter where Self: RawRepresentable, RawValue: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { rawValue.identifierValue }
}

extension String: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { .text(self) }
}

extension Bool: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { .text(self ? "yes" : "no") }
}

extension Int: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { .number(self) }
}

extension Double: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { .number(self) }
}

extension Optional: ProcessorParameter where Wrapped: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { map { .list([$0.identifierValue]) } ?? .text("none") }
}

extension Array: ProcessorParameter where Element: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { .list(map(\.identifierValue)) }
}

extension Color: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { [red, green, blue, alpha].identifierValue }
}

extension PointSize: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value {
        ProcessorIdentifier.Value(verbatim: "\(width.identifierValue)x\(height.identifierValue)")
    }
}

extension PixelRect: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { [x, y, width, height].identifierValue }
}

extension PointRect: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { [x, y, width, height].identifierValue }
}

extension PointInsets: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { [top, left, bottom, right].identifierValue }
}

extension Angle: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { degrees.identifierValue }
}

extension ImageContentMode: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { .text(String(describing: self)) }
}
