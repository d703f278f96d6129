/// Something a ``ProcessorIdentifier`` can tell from everything else of its kind.
///
/// A type of your own is written as what it is made of:
///
/// ```swift
/// extension Sepia: ProcessorParameter {
///     var identifierValue: ProcessorIdentifier.Value { .list([.number(amount), .text(paper.name)]) }
/// }
/// ```
///
/// An `enum` with raw values needs no more than the conformance.
public protocol ProcessorParameter {
    /// All that a result may depend on.
    var identifierValue: ProcessorIdentifier.Value { get }
}

extension ProcessorIdentifier {
    /// What an identifier says of a parameter.
    ///
    /// Whoever makes one, it can't be taken for other parameters or for another processor: texts are escaped, and lists stand
    /// in brackets.
    public struct Value: Sendable, Hashable, CustomStringConvertible {
        /// As it stands in the identifier.
        public let description: String

        /// - Precondition: whatever could be punctuation in `text` is escaped, or comes from other values.
        package init(verbatim text: String) { description = text }

        /// A text, with `%` and two digits for what is no letter, digit, hyphen, dot or underscore.
        public static func text(_ text: String) -> Value { Value(verbatim: escaped(text)) }

        /// The number.
        public static func number(_ number: Int) -> Value { Value(verbatim: number.description) }

        /// The shortest text that reads back as this number; a whole number has no fraction, and 0 no sign.
        public static func number(_ number: Double) -> Value {
            Int(exactly: number).map(Value.number) ?? .text(number.description)
        }

        /// Values in brackets.
        public static func list(_ values: [Value]) -> Value {
            // A list of one empty text is not an empty list.
            let texts = values.map { $0.description.isEmpty ? "%" : $0.description }
            return Value(verbatim: "[\(texts.joined(separator: ","))]")
        }
    }
}

extension ProcessorParameter where Self: RawRepresentable, RawValue: ProcessorParameter {
    /// The raw value's.
    public var identifierValue: ProcessorIdentifier.Value { rawValue.identifierValue }
}

extension String: ProcessorParameter {
    /// The text, escaped.
    public var identifierValue: ProcessorIdentifier.Value { .text(self) }
}

extension Bool: ProcessorParameter {
    /// `yes` or `no`.
    public var identifierValue: ProcessorIdentifier.Value { .text(self ? "yes" : "no") }
}

extension Int: ProcessorParameter {
    /// The number.
    public var identifierValue: ProcessorIdentifier.Value { .number(self) }
}

extension Double: ProcessorParameter {
    /// The number.
    public var identifierValue: ProcessorIdentifier.Value { .number(self) }
}

extension Optional: ProcessorParameter where Wrapped: ProcessorParameter {
    /// The value's in brackets, or `none`.
    public var identifierValue: ProcessorIdentifier.Value { map { .list([$0.identifierValue]) } ?? .text("none") }
}

extension Array: ProcessorParameter where Element: ProcessorParameter {
    /// The elements' in brackets.
    public var identifierValue: ProcessorIdentifier.Value { .list(map(\.identifierValue)) }
}
