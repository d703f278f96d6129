public import ProgramSupport

/// The arguments that a program was started with, by the options that its syntax declares.
///
/// `--name=value` and `--name value`, `-n value` and `-nvalue` give a value, `--flag`, `-f` and `-fg` none. Options may stand
/// behind operands, but not behind `--`. A single `-` is an operand.
public struct CommandArguments: Sendable {
    /// Arguments that the syntax does not allow, such as an option that is not declared.
    public struct Failure: Error, Equatable {
        /// The reason, beginning with a small letter and without a period.
        public let reason: LocalizableText
    }

    /// The arguments that are no options, in order.
    public private(set) var operands: [SystemString] = []
    /// The options, in order, by their names in the syntax. Flags have no value, except in `--flag=value`.
    public private(set) var options: [(name: String, value: SystemString?)] = []

    /// Sorts arguments, without the program's name.
    public init(_ arguments: [SystemString], for syntax: CommandSyntax) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == SystemString("--") {
                operands += rest
                return
            } else if argument.hasPrefix("--") {
                try addLong(argument.bytes.dropFirst(2), &rest, syntax)
            } else if argument != SystemString("-"), argument.hasPrefix("-") {
                try addLetters(argument.bytes.dropFirst(), &rest, syntax)
            } else {
                operands.append(argument)
            }
        }
    }

    /// Sorts arguments, without the program's name.
    public init(_ arguments: [String], for syntax: CommandSyntax) throws(Failure) {
        try self.init(arguments.map { SystemString($0) }, for: syntax)
    }

    /// Whether an option was given, by its name in the syntax.
    public func isGiven(_ name: String) -> Bool { options.contains { $0.name == name } }

    /// All values of an option, in order. Those of options without a path are UTF-8.
    public func values(of name: String) -> [SystemString] { options.filter { $0.name == name }.compactMap(\.value) }

    /// The last value of an option as text, in which `\xNN` stands for each byte that is not UTF-8.
    public func text(of name: String) -> String? { values(of: name).last?.description }

    private mutating func addLong(
        _ text: ArraySlice<UInt8>, _ rest: inout ArraySlice<SystemString>, _ syntax: CommandSyntax
    ) throws(Failure) {
        let parts = text.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(decoding: parts[0], as: UTF8.self)
        guard let option = syntax.options.first(where: { $0.name == name || $0.alias == name }) else {
            let names = syntax.options.flatMap { [$0.name] + ($0.alias.map { [$0] } ?? []) }
            throw Failure(
                reason: Suggestion.adding(to: "unknown option '--\(name)'", for: name, among: names, prefix: "--"))
        }
        try add(option, parts.count > 1 ? SystemString(parts[1]) : nil, &rest)
    }

    private mutating func addLetters(
        _ letters: ArraySlice<UInt8>, _ rest: inout ArraySlice<SystemString>, _ syntax: CommandSyntax
    ) throws(Failure) {
        var letters = letters
        while let byte = letters.popFirst() {
            let letter = Character(Unicode.Scalar(byte))
            guard let option = syntax.options.first(where: { $0.letter == letter }) else {
                throw Failure(reason: "unknown option '-\(SystemString([byte] + letters))'")
            }
            guard option.valueName == nil else {
                return try add(option, letters.isEmpty ? nil : SystemString(letters), &rest)
            }
            try add(option, nil, &rest)
        }
    }

    private mutating func add(
        _ option: CommandSyntax.Option, _ value: SystemString?, _ rest: inout ArraySlice<SystemString>
    ) throws(Failure) {
        guard option.valueName != nil || value != nil else { return options.append((option.name, nil)) }
        guard option.valueName != nil || option.mayHaveValue else {
            throw Failure(reason: "--\(option.name) takes no value")
        }
        guard let value = value ?? rest.popFirst() else { throw Failure(reason: "--\(option.name) needs a value") }
        guard option.takesPath || value.text != nil else {
            throw Failure(reason: "--\(option.name) takes text in UTF-8, not '\(value)'")
        }
        options.append((option.name, value))
    }
}

extension CommandSyntax.Option {
    /// Whether the value is the path of a file or folder, which need not be UTF-8.
    fileprivate var takesPath: Bool { completion == .file || completion == .directory }
}
