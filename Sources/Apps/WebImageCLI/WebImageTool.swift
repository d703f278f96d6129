internal import CommandReference
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// `webimage`: loads, describes, converts and compares images from a shell.
///
/// Commands run on the main actor and may block the main thread. Long work runs on other threads, but never on Swift's
/// cooperative ones.
@main
@MainActor
struct WebImageTool {
    static let commands: [any Command.Type] = [
        GetCommand.self, FileCommand.self, InfoCommand.self, ConvertCommand.self, CompareCommand.self, HashCommand.self,
        SheetCommand.self, AnimateCommand.self, ThumbnailCommand.self, CacheCommand.self, HelpCommand.self,
    ]

    /// The declared arguments of all commands.
    static var syntaxes: [CommandSyntax] { commands.map { $0.syntax } }

    static func main() async {
        // Before there are other threads.
        _ = texts
        let interrupts = Interrupts()
        // HEIC is written only if the user names it.
        CodecRegistry.shared.registerHEICEncoder()
        let status = await run(arguments)
        // Threads of the library may still run. `exit` would run the handlers of other libraries, which free memory
        // that these threads use. All output has been written.
        withExtendedLifetime(interrupts) { _exit(status.rawValue) }
    }

    /// The arguments as bytes, since a file may have a name that is not UTF-8.
    private static var arguments: [SystemString] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { CommandLine.unsafeArgv[$0].map { SystemString(cString: $0) } }
    }

    private static func run(_ arguments: [SystemString]) async -> ExitStatus {
        let console = Console.standard
        do throws(ArgumentError) {
            switch arguments.first?.description {
            case nil: throw .usage(command: ProgramDescription.webimage.name, reason: "no command given")
            case "--help", "-h": return try await HelpCommand(Array(arguments.dropFirst())).run()
            case "--version":
                let options = arguments.dropFirst().map(\.description)
                if let option = options.first(where: { $0 != "--verbose" }) {
                    throw .usage(
                        command: ProgramDescription.webimage.name, reason: "'--version' takes no '\(option)'")
                }
                console.print("\(ProgramDescription.webimage.name) \(LibraryVersion.text)")
                if !options.isEmpty { IsolationReport(isIsolated: nil).statusLines.forEach { console.print($0) } }
                return .success
            case let name?:
                let parsed = try command(named: name).init(Array(arguments.dropFirst()))
                for failure in parsed.inputFailures { console.complain(failure.shellText()) }
                let status = await parsed.run()
                return status == .success && !parsed.inputFailures.isEmpty ? .failure : status
            }
        } catch {
            switch error {
            case .help(let syntax):
                console.print(text: HelpText.text(for: syntax, in: texts))
                return .success
            case .usage(let command, let reason):
                console.complain(reason)
                console.complain("See '\(command) --help'.")
                return .usage
            }
        }
    }

    static func command(named name: String) throws(ArgumentError) -> any Command.Type {
        if let type = commands.first(where: { $0.name == name }) { return type }
        guard name.hasPrefix("-") else {
            let reason = Suggestion.adding(
                to: "unknown command '\(name)'", for: name, among: commands.map { $0.name })
            throw .usage(command: ProgramDescription.webimage.name, reason: reason)
        }
        let option = String(name.prefix { $0 != "=" })
        let word = String(option.drop { $0 == "-" })
        if name.contains("="), ["help", "version"].contains(word) {
            throw .usage(command: ProgramDescription.webimage.name, reason: "'\(option)' takes no value")
        }
        let isOptionOfHelp = HelpCommand.syntax.options.contains { $0.name == word && $0.name != "help" }
        let reason: LocalizableText =
            isOptionOfHelp
            ? "unknown option '\(option)'; use '\(ProgramDescription.webimage.name) help \(option)'"
            : Suggestion.adding(
                to: "unknown option '\(option)'", for: word, among: ["help", "version"], prefix: "--")
        throw .usage(command: ProgramDescription.webimage.name, reason: reason)
    }
}
