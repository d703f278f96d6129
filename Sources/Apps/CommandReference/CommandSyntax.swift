/// The declared arguments of a program, or of a command of one. Its help, its part of the manual page and its completions are
/// made from this.
package struct CommandSyntax: Sendable {
    /// The values that a shell suggests.
    package enum Completion: Sendable, Equatable {
        /// None: the value is free text.
        case text
        case words([String])
        case file
        case directory
    }

    package struct Option: Sendable {
        /// Without the leading dashes.
        package let name: String
        /// Another name, which the help omits.
        package let alias: String?
        package let letter: Character?
        /// The placeholder of the value in the help, such as `FILE`; `nil` for a flag.
        package let valueName: String?
        package let completion: Completion
        package let help: String
        /// The heading above the option in the help, which consecutive options share.
        package let group: String

        package init(
            name: String, alias: String? = nil, letter: Character? = nil, valueName: String? = nil,
            completion: Completion = .text, help: String, group: String = CommandSyntax.defaultGroup
        ) {
            (self.name, self.alias, self.letter, self.valueName) = (name, alias, letter, valueName)
            (self.completion, self.help, self.group) = (completion, help, group)
        }
    }

    /// A word that is the first operand of a command with several actions.
    package struct Action: Sendable {
        package let name: String
        /// The arguments after the word, such as `KEY…`.
        package let operands: String
        package let help: String

        package init(name: String, operands: String, help: String) {
            (self.name, self.operands, self.help) = (name, operands, help)
        }
    }

    /// The program as typed, such as `webimage`.
    package let program: String
    /// The name after the program's; empty for a program without commands.
    package let name: String
    package let summary: String
    /// The arguments after the options, such as `URL|FILE…`.
    package let operands: String
    package let operandCompletion: Completion
    /// Text below the options in the help: paragraphs separated by empty lines.
    package let details: String
    package var options: [Option]
    package var actions: [Action] = []

    package init(
        program: String, name: String = "", summary: String, operands: String, operandCompletion: Completion = .text,
        details: String = "", options: [Option] = []
    ) {
        (self.program, self.name, self.summary) = (program, name, summary)
        (self.operands, self.operandCompletion) = (operands, operandCompletion)
        (self.details, self.options) = (details, options)
    }

    /// The command as typed, such as `webimage get`.
    package var command: String { name.isEmpty ? program : "\(program) \(name)" }

    /// The heading of options without a group.
    package static let defaultGroup = "Options"

    /// The options in the order of the help, by heading.
    package var groups: [(heading: String, options: [Option])] {
        var groups: [(heading: String, options: [Option])] = []
        for option in options {
            if groups.last?.heading != option.group { groups.append((option.group, [])) }
            groups[groups.count - 1].options.append(option)
        }
        return groups
    }

    /// The paragraphs of ``details``, each on one line.
    package var paragraphs: [String] { Self.paragraphs(of: details) }

    package static func paragraphs(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).split(whereSeparator: \.isEmpty)
            .map { $0.joined(separator: " ") }
    }
}

extension CommandSyntax.Option {
    /// For example `-o, --output=FILE`.
    package var usage: String { (letter.map { "-\($0), " } ?? "") + "--\(name)" + (valueName.map { "=\($0)" } ?? "") }
}

extension CommandSyntax.Action {
    /// For example `remove KEY…`.
    package var usage: String { operands.isEmpty ? name : "\(name) \(operands)" }
}
