internal import CommandReference

extension ShellCompletions {
    /// A `complete` command for each word and option.
    var fish: String {
        let program = ProgramDescription.webimage.name
        var lines = [
            """
            # Whether the command is one of the arguments. An action of 'cache' may have the name of a command.
            function __\(program)_command
                set -l words (commandline -opc)
                test (count $words) -gt 1; and contains -- $words[2] $argv
            end
            # Whether the next word is the command.
            function __\(program)_needs_command
                test (count (commandline -opc)) -eq 1
            end
            # Whether none of the arguments was given.
            function __\(program)_lacks
                set -l words (commandline -opc)
                for word in $argv
                    contains -- $word $words[3..-1]; and return 1
                end
                return 0
            end
            complete -c \(program) -f
            complete -c \(program) -n __\(program)_needs_command -l version -d 'Print the version'
            complete -c \(program) -n __\(program)_needs_command -s h -l help -d 'List the commands'
            """
        ]
        for command in commands {
            lines.append(
                "complete -c \(program) -n __\(program)_needs_command -a \(command.name) -d \(Self.fishQuoted(command.summary.english))"
            )
        }
        lines += commands.flatMap { fishLines(of: $0, program) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func fishLines(of command: CommandSyntax, _ program: String) -> [String] {
        let condition = "__\(program)_command \(command.name)"
        let start = "complete -c \(program) -n '\(condition)'"
        let actions = command.actions.map(\.name).joined(separator: " ")
        var lines = command.actions.map { action in
            "complete -c \(program) -n '\(condition); and __\(program)_lacks \(actions)' -a \(action.name) "
                + "-d \(Self.fishQuoted(action.help.english))"
        }
        lines += [command.operandCompletion].compactMap(fishArguments).map { "\(start) \($0)" }
        for option in command.options {
            var line = start + (option.letter.map { " -s \($0)" } ?? "") + " -l \(option.name)"
            if option.valueName != nil { line += " " + (fishArguments(option.completion) ?? "-x") }
            if case .file = option.completion { line += " -r" }
            lines.append(line + " -d \(Self.fishQuoted(option.help.english))")
        }
        return lines
    }

    /// Quotes a text for fish, where backslashes also escape within quotation marks.
    private static func fishQuoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }

    /// `nil` without suggestions.
    private func fishArguments(_ completion: CommandSyntax.Completion) -> String? {
        switch completion {
        case .text: nil
        case .words(let words): "-x -a '\(words.joined(separator: " "))'"
        case .file: "-F"
        case .directory: "-x -a '(__fish_complete_directories)'"
        }
    }
}
