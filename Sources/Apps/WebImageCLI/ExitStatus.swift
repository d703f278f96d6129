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
