/// A command of `webimage`.
@MainActor
protocol Command {
    /// The name on the command line.
    static var name: String { get }
    /// The description in the list of commands.
    static var summary: String { get }

    /// Parses the arguments, without any other effect.
    init(_ arguments: [String]) throws(ArgumentError)

    /// Runs the command. Results go to standard output, errors to standard error.
    func run() async -> ExitStatus
}

/// The exit status of the process.
enum ExitStatus: Int32 {
    /// Everything succeeded.
    case success = 0
    /// Something failed; the error was printed to standard error.
    case failure = 1
    /// The arguments were invalid; nothing was done.
    case usage = 2
}
