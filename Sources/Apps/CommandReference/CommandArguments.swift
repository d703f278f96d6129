/// The arguments that a program was started with, by the options that its syntax declares.
///
/// `--name=value` and `--name value`, `-n value` and `-nvalue` give a value, `--flag`, `-f` and `-fg` none. Options may stand
/// behind operands, but not behind `--`. A single `-` is an operand.
public struct CommandArguments: Sendable {
    /// Arguments that the syntax does not allow, such as an option that is not declared.
    public struct Failure: Error, Equatable {
        /// What is wrong, beginning with a small letter and without a period.
        public let reason: String
    }

    /// The arguments that are no options, in order. The bytes need not be UTF-8.
    public private(set) var operands: [[UInt8]] = []
    /// The options, in order, by their names in the syntax. Flags have no value, except in `--flag=value`.
    public private(set) var options: [(name: String, value: [UInt8]?)] = []

    /// Sorts arguments, without the program's name, as bytes.
    public init(_ arguments: [[UInt8]], for syntax: CommandSyntax) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == Array("--".utf8) {
                operands += rest
                return
            } else if argument.starts(with: "--".utf8) {
                try addLong(argument.dropFirst(2), &rest, syntax)
            } else if argument.count > 1, argument[0] == UInt8(ascii: "-") {
                try addLetters(argument.dropFirst(), &rest, syntax)
            } else {
                operands.append(argument)
            }
        }
    }

    /// Sorts arguments, without the program's name.
    public init(_ arguments: [String], for syntax: CommandSyntax) throws(Failure) {
        try self.init(arguments.map { Array($0.utf8) }, for: syntax)
    }

    /// Whether an option was given, by its name in the syntax.
    public func isGiven(_ name: String) -> Bool { options.contains { $0.name == name } }

    /// All values of an option, in order. Those of options without a path are UTF-8.
    public func values(of name: String) -> [[UInt8]] { options.filter { $0.name == name }.compactMap(\.value) }

    /// The last value of an option as text, in which replacement characters stand for bytes that are not UTF-8.
    public func text(of name: String) -> String? { values(of: name).last.map { String(decoding: $0, as: UTF8.self) } }

    private mutating func addLong(
        _ text: ArraySlice<UInt8>, _ rest: inout ArraySlice<[UInt8]>, _ syntax: CommandSyntax
    ) throws(Failure) {
        let parts = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(decoding: parts[0], as: UTF8.self)
        guard let option = syntax.options.first(where: { $0.name == name || $0.alias == name }) else {
            let names = syntax.options.flatMap { [$0.name] + ($0.alias.map { [$0] } ?? []) }
            let suggestion = Suggestion.text(for: name, among: names, prefix: "--")
            throw Failure(reason: "unknown option '--\(name)'" + suggestion)
        }
        try add(option, parts.count > 1 ? Array(parts[1]) : nil, &rest)
    }

    private mutating func addLetters(
        _ letters: ArraySlice<UInt8>, _ rest: inout ArraySlice<[UInt8]>, _ syntax: CommandSyntax
    ) throws(Failure) {
        var letters = letters
        while let byte = letters.popFirst() {
            let letter = Character(Unicode.Scalar(byte))
            guard let option = syntax.options.first(where: { $0.letter == letter }) else {
                throw Failure(reason: "unknown option '-\(String(decoding: [byte] + letters, as: UTF8.self))'")
            }
            guard option.valueName == nil else {
                return try add(option, letters.isEmpty ? nil : Array(letters), &rest)
            }
            try add(option, nil, &rest)
        }
    }

    private mutating func add(
        _ option: CommandSyntax.Option, _ value: [UInt8]?, _ rest: inout ArraySlice<[UInt8]>
    ) throws(Failure) {
        guard option.valueName != nil || value != nil else { return options.append((option.name, nil)) }
        guard option.valueName != nil || option.mayHaveValue else {
            throw Failure(reason: "--\(option.name) takes no value")
        }
        guard let value = value ?? rest.popFirst() else { throw Failure(reason: "--\(option.name) needs a value") }
        guard option.takesPath || String(validating: value, as: UTF8.self) != nil else {
            throw Failure(reason: "--\(option.name) takes text in UTF-8, not '\(Self.description(of: value))'")
        }
        options.append((option.name, value))
    }

    /// The text, in which `\xNN` stands for each byte that is not UTF-8.
    private static func description(of bytes: [UInt8]) -> String {
        var (text, rest) = ("", bytes[...])
        while let byte = rest.first {
            let length = (1...min(4, rest.count)).first { String(validating: rest.prefix($0), as: UTF8.self) != nil }
            let valid = length.map { String(decoding: rest.prefix($0), as: UTF8.self) }
            text += valid ?? "\\x" + String(byte, radix: 16, uppercase: true)
            rest.removeFirst(length ?? 1)
        }
        return text
    }
}

extension CommandSyntax.Option {
    /// Whether the value is the path of a file or folder, which need not be UTF-8.
    fileprivate var takesPath: Bool { completion == .file || completion == .directory }
}
