/// One of the things `webimage` does.
@MainActor
protocol Command {
    /// The word that selects it.
    static var name: String { get }
    /// What it does, for the list of commands.
    static var summary: String { get }

    /// Reads its arguments; nothing is touched yet.
    init(_ arguments: [String]) throws(ArgumentError)

    /// Does it. Results go to standard output, complaints to standard error.
    func run() async -> ExitStatus
}

/// What the process tells whoever started it.
enum ExitStatus: Int32 {
    /// Everything succeeded.
    case success = 0
    /// Something failed; standard error says what.
    case failure = 1
    /// The arguments made no sense; nothing was done.
    case usage = 2
}
