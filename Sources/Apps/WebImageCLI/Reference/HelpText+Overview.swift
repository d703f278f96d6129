internal import CommandReference

extension HelpText {
    /// Returns the text that `webimage --help` prints.
    @MainActor
    static func overview(of commands: [any Command.Type]) -> String {
        let description = ProgramDescription.webimage
        let program = description.name
        var text = "Usage:\n  \(program) COMMAND [OPTION…] …\n  \(program) --version [--verbose]\n"
        text += "\nCommands:\n" + table(commands.map { ($0.name, $0.summary) })
        for paragraph in description.paragraphs { text += "\n\(wrapped(paragraph))\n" }
        text += "\nExit status:\n" + table(description.statuses)
        return text + "\n\(wrapped("'\(program) COMMAND --help' describes a command."))\n"
    }
}
