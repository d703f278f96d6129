internal import CommandReference
internal import Dispatch
internal import FoundationEssentials
internal import WebImage
internal import WebImageCore

/// A command of `webimage`.
@MainActor
protocol Command {
    /// The name on the command line.
    static var name: String { get }
    /// The description in the list of commands, without a period.
    static var summary: String { get }

    /// Parses the arguments, without any other effect.
    init(_ arguments: [SystemString]) throws(ArgumentError)

    /// Why folders in those on the command line could not be read; none by default.
    var inputFailures: [WebImageError] { get }

    /// Runs the command. Results go to standard output, errors to standard error.
    func run() async -> ExitStatus
}

extension Command {
    var inputFailures: [WebImageError] { [] }

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

/// The exit status of the process.
enum ExitStatus: Int32 {
    /// Everything succeeded.
    case success = 0
    /// Something failed; the error was printed to standard error.
    case failure = 1
    /// The arguments were invalid; nothing was done.
    case usage = 2

    /// `compare` could not compare, as distinct from ``failure``, which says that images differ.
    static var trouble: ExitStatus { .usage }
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

/// Runs blocking work on its own threads instead of Swift's cooperative ones.
enum BlockingWork {
    /// How many threads can run at once, at least 1.
    static let processorCount = max(1, ProcessInfo.processInfo.activeProcessorCount)

    /// Dispatch runs as many of its blocks as there are processors, and others while these wait. Swift's tasks have other threads, because
    /// they have another quality of service.
    private static let queue = DispatchQueue(label: "webimage.tool", qos: .utility, attributes: .concurrent)

    /// Runs `body` on a thread that may block.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws(WebImageError) -> Result
    ) async throws(WebImageError) -> Result {
        let result: Swift.Result<Result, WebImageError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
        }
        return try result.get()
    }
}
