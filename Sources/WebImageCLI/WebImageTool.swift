internal import Glibc
internal import WebImage
#if WEBIMAGE_FORMATS
    internal import WebImageFormats
#endif

/// `webimage`: loads, describes and converts images from a shell.
///
/// Commands run on the main actor and may block the main thread. Long work runs on other threads, but never on Swift's
/// cooperative ones.
@main
@MainActor
struct WebImageTool {
    private static let commands: [any Command.Type] = [
        GetCommand.self, InfoCommand.self, ConvertCommand.self, CacheCommand.self,
    ]

    static func main() async {
        let interrupts = Interrupts()
        #if WEBIMAGE_FORMATS
            // Who names HEIC as the format has chosen it.
            CodecRegistry.shared.registerFormats(writesHEIC: true)
        #endif
        let status = await run(Array(CommandLine.arguments.dropFirst()))
        // Threads of the library may still run. `exit` would run the handlers of other libraries, which free memory
        // that these threads use. All output has been written.
        withExtendedLifetime(interrupts) { _exit(status.rawValue) }
    }

    private static func run(_ arguments: [String]) async -> ExitStatus {
        let console = Console.standard
        do throws(ArgumentError) {
            return try await command(for: arguments).run()
        } catch {
            switch error {
            case .help(let text):
                console.print(text: text)
                return .success
            case .usage(let command, let reason):
                console.complain(reason)
                console.complain("See '\(command) --help'.")
                return .usage
            }
        }
    }

    private static func command(for arguments: [String]) throws(ArgumentError) -> any Command {
        guard let first = arguments.first else { throw .usage(command: "webimage", reason: "no command given") }
        if let type = commands.first(where: { $0.name == first }) {
            return try type.init(Array(arguments.dropFirst()))
        }
        if ["--help", "-h", "help"].contains(first) { throw .help(help) }
        if first == "--version" { throw .help("webimage \(LibraryVersion.text)\n") }
        guard first.hasPrefix("-") else {
            let question = Suggestion.question(about: first, among: commands.map { $0.name })
            throw .usage(command: "webimage", reason: "there is no command '\(first)'" + question)
        }
        let word = String(first.drop { $0 == "-" })
        let question = Suggestion.question(about: word, among: ["help", "version"], prefix: "--")
        throw .usage(command: "webimage", reason: "there is no option '\(first)'" + question)
    }

    private static var help: String {
        let width = commands.map { $0.name.count }.max() ?? 0
        let list = commands.map { type in
            let padding = String(repeating: " ", count: width - type.name.count)
            return "  \(type.name)\(padding)  \(type.summary)\n"
        }
        return """
            Usage:
              webimage COMMAND [OPTION…] …
              webimage --version

            Loads images from servers and files, caches them, and converts them.

            Commands:
            \(list.joined())
            'webimage COMMAND --help' describes a command. Files can be '-' for standard input and output.

            Results go to standard output, errors to standard error. The exit status is 0 if everything succeeded,
            1 if something failed, 2 if the arguments are invalid, and 128 plus the signal number if a signal ended it.

            """
    }
}
