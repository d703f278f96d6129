public import ProgramSupport

/// The declared arguments of a program, or of a command of one. Its help, its part of the manual page and its completions are
/// made from this, and ``CommandArguments`` are read by it.
public struct CommandSyntax: Sendable {
    /// The values that a shell suggests.
    public enum Completion: Sendable, Equatable {
        /// None: the value is free text.
        case text
        /// One of a few words.
        case words([String])
        /// The path of a file.
        case file
        /// The path of a folder.
        case directory
    }

    /// An argument that begins with dashes.
    public struct Option: Sendable {
        /// Without the leading dashes.
        public let name: String
        /// Another name, which the help omits.
        public let alias: String?
        /// Another name of one letter, behind a single dash.
        public let letter: Character?
        /// The placeholder of the value in the help, such as `FILE`; `nil` for a flag.
        public let valueName: String?
        /// Whether a flag may have a value all the same, as in `--flag=false`.
        public let mayHaveValue: Bool
        /// The values that a shell suggests.
        public let completion: Completion
        /// A description of the option, without a period.
        public let help: LocalizableText
        /// The heading above the option in the help, which consecutive options share.
        public let group: LocalizableText

        /// Creates a declaration.
        public init(
            name: String, alias: String? = nil, letter: Character? = nil, valueName: String? = nil,
            mayHaveValue: Bool = false, completion: Completion = .text, help: LocalizableText,
            group: LocalizableText = CommandSyntax.defaultGroup
        ) {
            (self.name, self.alias, self.letter, self.valueName) = (name, alias, letter, valueName)
            (self.mayHaveValue, self.completion, self.help, self.group) = (mayHaveValue, completion, help, group)
        }
    }

    /// A word that is the first operand of a command with several actions.
    public struct Action: Sendable {
        /// The word.
        public let name: String
        /// The arguments after the word, such as `KEY…`.
        public let operands: String
        /// A description of the action, without a period.
        public let help: LocalizableText

        /// Creates a declaration.
        public init(name: String, operands: String, help: LocalizableText) {
            (self.name, self.operands, self.help) = (name, operands, help)
        }
    }

    /// The program as typed, such as `webimage`.
    public let program: String
    /// The name after the program's; empty for a program without commands.
    public let name: String
    /// A description of the command, without a period.
    public let summary: LocalizableText
    /// The arguments after the options, such as `URL|FILE…`.
    public let operands: String
    /// The operands that a shell suggests.
    public let operandCompletion: Completion
    /// Text below the options in the help: paragraphs separated by empty lines.
    public let details: String
    /// The options in the order of the help.
    public var options: [Option]
    /// The words that can be the first operand.
    public var actions: [Action] = []

    /// Creates a declaration without actions.
    public init(
        program: String, name: String = "", summary: LocalizableText, operands: String,
        operandCompletion: Completion = .text,
        details: String = "", options: [Option] = []
    ) {
        (self.program, self.name, self.summary) = (program, name, summary)
        (self.operands, self.operandCompletion) = (operands, operandCompletion)
        (self.details, self.options) = (details, options)
    }

    /// The command as typed, such as `webimage get`.
    public var command: String { name.isEmpty ? program : "\(program) \(name)" }

    /// The heading of options without a group.
    public static let defaultGroup: LocalizableText = "Options"

    /// The options in the order of the help, by heading.
    public var groups: [(heading: LocalizableText, options: [Option])] {
        var groups: [(heading: LocalizableText, options: [Option])] = []
        for option in options {
            if groups.last?.heading != option.group { groups.append((option.group, [])) }
            groups[groups.count - 1].options.append(option)
        }
        return groups
    }

    /// The paragraphs of ``details``, each on one line and translated for itself.
    public var paragraphs: [LocalizableText] { Self.paragraphs(of: details) }

    static func paragraphs(of text: String) -> [LocalizableText] {
        text.split(separator: "\n", omittingEmptySubsequences: false).split(whereSeparator: \.isEmpty)
            .map { LocalizableText(stringLiteral: $0.joined(separator: " ")) }
    }
}

extension CommandSyntax.Option {
    /// For example `-o, --output=FILE`.
    public var usage: String { (letter.map { "-\($0), " } ?? "") + "--\(name)" + (valueName.map { "=\($0)" } ?? "") }
}

extension CommandSyntax.Action {
    /// For example `remove KEY…`.
    public var usage: String { operands.isEmpty ? name : "\(name) \(operands)" }
}
