/// The declared arguments of a command. Its help, its part of the manual page and its completions are made from this.
struct CommandSyntax: Sendable {
    /// The values that a shell suggests.
    enum Completion: Sendable, Equatable {
        /// None: the value is free text.
        case text
        case words([String])
        case file
        case directory
    }

    struct Option: Sendable {
        /// Without the leading dashes.
        let name: String
        /// Another name, which the help omits.
        var alias: String?
        var letter: Character?
        /// The placeholder of the value in the help, such as `FILE`; `nil` for a flag.
        var valueName: String?
        var completion = Completion.text
        let help: String
        /// The heading above the option in the help, which consecutive options share.
        var group = CommandSyntax.defaultGroup
    }

    /// A word that is the first operand of a command with several actions.
    struct Action: Sendable {
        let name: String
        /// The arguments after the word, such as `KEY…`.
        let operands: String
        let help: String
    }

    /// The name after `webimage`.
    let name: String
    let summary: String
    /// The arguments after the options, such as `URL|FILE…`.
    let operands: String
    let operandCompletion: Completion
    /// Text below the options in the help: paragraphs separated by empty lines.
    let details: String
    var options: [Option] = []
    var actions: [Action] = []

    /// The command as typed, such as `webimage get`.
    var command: String { "\(Self.program) \(name)" }

    /// The heading of options without a group.
    static let defaultGroup = "Options"

    /// The options in the order of the help, by heading.
    var groups: [(heading: String, options: [Option])] {
        var groups: [(heading: String, options: [Option])] = []
        for option in options {
            if groups.last?.heading != option.group { groups.append((option.group, [])) }
            groups[groups.count - 1].options.append(option)
        }
        return groups
    }

    /// The name of the tool.
    static let program = "webimage"

    /// The paragraphs of ``details``, each on one line.
    var paragraphs: [String] { Self.paragraphs(of: details) }

    static func paragraphs(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).split(whereSeparator: \.isEmpty)
            .map { $0.joined(separator: " ") }
    }
}

extension CommandSyntax.Option {
    /// For example `-o, --output=FILE`.
    var usage: String { (letter.map { "-\($0), " } ?? "") + "--\(name)" + (valueName.map { "=\($0)" } ?? "") }
}

extension CommandSyntax.Action {
    /// For example `remove KEY…`.
    var usage: String { operands.isEmpty ? name : "\(name) \(operands)" }
}
