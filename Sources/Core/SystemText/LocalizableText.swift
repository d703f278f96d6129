/// A text for people, in English, which a ``TextDomain`` says in the user's language: ``TextDomain/string(for:)``.
///
/// A text is a literal. The values in it are apart from it, so that a translation may have them in another order; there they are `{1}`,
/// `{2}` and so on. A value may be a text of its own.
///
/// ```swift
/// let text: LocalizableText = "'\(path)' is a folder; use --recursive"    // '{1}' is a folder; use --recursive
/// text.english
/// ```
///
/// `Scripts/translations` finds literals in the bodies of declarations of this type, and in arguments that its list of keywords names.
public struct LocalizableText: Sendable {
    fileprivate enum Value: Sendable {
        case string(String)
        case text(LocalizableText)
        case systemError(Int32)
    }

    private struct Plural: Sendable {
        let template: String
        let values: [Value]
        let count: Int
    }

    /// With `{1}` for the first value.
    private let template: String
    private let values: [Value]
    /// The text for other counts than 1.
    private let plural: Plural?
    private var isSentenceEnd = false

    private init(_ template: String, _ values: [Value], plural: Plural? = nil) {
        (self.template, self.values, self.plural) = (template, values, plural)
    }

    /// Takes what is not translated, such as a name or another program's message.
    public init(verbatim text: String) { self.init("{1}", [.string(text)]) }

    /// Returns a text that says a count: languages have one to six forms, which depend on it.
    ///
    /// - Parameters:
    ///   - one: a literal for a count of 1.
    ///   - other: a literal for other counts. A translation numbers the values as this one does.
    ///   - count: at least 0.
    public static func counted(_ one: LocalizableText, _ other: LocalizableText, _ count: Int) -> LocalizableText {
        LocalizableText(
            one.template, one.values, plural: Plural(template: other.template, values: other.values, count: count))
    }

    /// Returns texts one after the other, with a separator between them.
    public static func joined(_ texts: [LocalizableText], by separator: String) -> LocalizableText {
        let places = texts.indices.map { "{\($0 + 1)}" }
        return LocalizableText(places.joined(separator: separator), texts.map(Value.text))
    }

    /// The text as the end of a sentence: with a full stop, unless it has its own end. Messages of programs and libraries end either way.
    public var asSentenceEnd: LocalizableText {
        var text = self
        text.isSentenceEnd = true
        return text
    }

    /// The text in English.
    public var english: String { string(in: nil) }

    /// Returns the text in the language of a domain, or in English without one.
    func string(in domain: TextDomain?) -> String {
        var (found, filling) = (template, values)
        if let plural {
            let translation = domain?.template(template, plural.template, plural.count)
            found = translation ?? (plural.count == 1 ? template : plural.template)
            if found != template { filling = plural.values }
        } else if let domain, !template.isEmpty {
            // The translation of an empty text is the head of the file.
            found = domain.template(template)
        }
        var names: [String: String] = [:]
        for (index, value) in filling.enumerated() {
            names["\(index + 1)"] =
                switch value {
                case .string(let string): string
                case .text(let text): text.string(in: domain)
                case .systemError(let number): TextDomain.systemMessage(number, isTranslated: domain != nil)
                }
        }
        let result = TextDomain.filled(found, names)
        return isSentenceEnd ? Self.ended(result) : result
    }

    private static func ended(_ text: String) -> String {
        let end = text.lastIndex { !$0.isWhitespace }.map(text.index(after:)) ?? text.startIndex
        let text = text[..<end]
        return text.last.map { ".!?…".contains($0) } == true ? String(text) : text + "."
    }
}

extension LocalizableText: ExpressibleByStringInterpolation {
    /// The parts of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var template = ""
        fileprivate var values: [Value] = []

        /// Creates an empty text.
        public init(literalCapacity: Int, interpolationCount: Int) {
            template.reserveCapacity(literalCapacity + 3 * interpolationCount)
        }

        /// Adds a part of the literal.
        public mutating func appendLiteral(_ literal: String) { template += literal }

        /// Adds a value, which is not translated.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            append(.string(value.description))
        }

        /// Adds a text, which is translated.
        public mutating func appendInterpolation(_ text: LocalizableText) { append(.text(text)) }

        /// Adds the C library's message for an error number, such as "No such file or directory".
        public mutating func appendInterpolation(systemError number: Int32) { append(.systemError(number)) }

        private mutating func append(_ value: Value) {
            values.append(value)
            template += "{\(values.count)}"
        }
    }

    /// Creates a text without values.
    public init(stringLiteral text: String) { self.init(text, []) }

    /// Creates a text with values.
    public init(stringInterpolation: StringInterpolation) {
        self.init(stringInterpolation.template, stringInterpolation.values)
    }
}

extension LocalizableText: Equatable {
    /// Whether both say the same in English.
    public static func == (first: LocalizableText, second: LocalizableText) -> Bool { first.english == second.english }
}
