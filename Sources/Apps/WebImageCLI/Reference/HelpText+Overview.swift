internal import CommandReference
internal import ProgramSupport

extension HelpText {
    /// Returns the text that `webimage --help` prints.
    @MainActor
    static func overview(of commands: [any Command.Type]) -> String {
        let description = ProgramDescription.webimage
        let program = description.name
        var text = localized("Usage:") + "\n"
        text += "  \(program) COMMAND [OPTION…] …\n  \(program) --version [--verbose]\n"
        text += "\n" + localized("Commands:") + "\n" + table(commands.map { ($0.name, localized($0.summary)) })
        for paragraph in description.paragraphs { text += "\n\(wrapped(localized(paragraph)))\n" }
        text += "\n" + localized("Exit status:") + "\n" + table(description.statuses, in: texts)
        return text + "\n" + wrapped(localized("'\(program) COMMAND --help' describes a command.")) + "\n"
    }
}
