internal import CommandReference
internal import ProgramSupport
internal import WebImage
internal import WebImageCore

/// A command of `webimage`.
@MainActor
protocol Command {
    /// The name on the command line.
    static var name: String { get }
    /// The description in the list of commands, without a period.
    static var summary: LocalizableText { get }
    /// The text below the options in the help: paragraphs separated by empty lines.
    static var details: String { get }

    /// Parses the arguments, without any other effect.
    init(_ arguments: [SystemString]) throws(ArgumentError)

    /// Why folders in those on the command line could not be read; none by default.
    var inputFailures: [WebImageError] { get }

    /// Runs the command. Results go to standard output, errors to standard error.
    func run() async -> ExitStatus
}

extension Command {
    var inputFailures: [WebImageError] { [] }

    /// Returns a parser without options.
    ///
    /// - Parameters:
    ///   - operands: the arguments after the options, such as `URL|FILE…`.
    ///   - completion: the words that a shell suggests for them.
    static func parser(operands: String, completion: CommandSyntax.Completion = .text) -> OptionParser {
        OptionParser(
            command: name, summary: summary, operands: operands, completion: completion, details: details)
    }

    /// The declared arguments. `--help` stops the initializer after all declarations.
    static var syntax: CommandSyntax {
        do throws(ArgumentError) {
            _ = try Self([SystemString("--help")])
        } catch {
            if case .help(let syntax) = error { return syntax }
        }
        preconditionFailure("\(name) ignores --help")
    }
}

/// Runs `body` for each index, at most `limit` concurrently, and passes on each result as soon as it is available.
@MainActor
func runConcurrently<Output: Sendable>(
    over indices: Range<Int>, atMost limit: Int, _ body: @escaping @Sendable (Int) async -> Output,
    onResult: (Int, Output) -> Void
) async {
    await withTaskGroup(of: (Int, Output).self) { group in
        var waiting = indices.makeIterator()
        func startNext() {
            guard let index = waiting.next() else { return }
            group.addTask { (index, await body(index)) }
        }
        for _ in 0..<limit { startNext() }
        for await (index, output) in group {
            onResult(index, output)
            startNext()
        }
    }
}
