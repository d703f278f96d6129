internal import CommandReference
internal import ProgramSupport
internal import WebImageCore

/// `webimage help`: prints the help of a command, the manual page, or the completions of a shell.
struct HelpCommand: Command {
    static let name = "help"
    static let summary: LocalizableText = "Describe a command"
    static let details = """
        'make install' installs the manual page and the completions. Without it, 'webimage help --man | man -l
        -' shows the page, and 'source <(webimage help --completions bash)' adds the completions to a running
        shell.
        """

    private let text: String

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let names = WebImageTool.commands.map { $0.name }
        let parser = Self.parser(operands: "[COMMAND]", completion: .words(names))
        let man = parser.flag("man", help: "Print the manual page, in the format of man")
        let shell = parser.option(
            "completions", words: ShellCompletions.Shell.allCases.map(\.rawValue),
            help: "Print the completions for this shell")
        let operands = try parser.parse(arguments)
        guard operands.count + (man.isSet ? 1 : 0) + (shell.value == nil ? 0 : 1) <= 1 else {
            throw parser.error("help takes either a command, --man or --completions")
        }
        if let shell: ShellCompletions.Shell = try parser.choice(shell) {
            text = ShellCompletions(commands: WebImageTool.syntaxes).text(for: shell)
        } else if man.isSet {
            text = ManualPage(.webimage, commands: WebImageTool.syntaxes, origin: "webimage help --man").text
        } else if let name = operands.first {
            text = HelpText.text(for: try WebImageTool.command(named: name.description).syntax, in: texts)
        } else {
            text = HelpText.overview(of: WebImageTool.commands)
        }
    }

    func run() async -> ExitStatus {
        Console.standard.print(text: text)
        return .success
    }
}
