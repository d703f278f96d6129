/// Why a command does not start.
enum ArgumentError: Error {
    /// `--help` was asked for; this is what it says.
    case help(String)
    /// The arguments make no sense.
    case usage(command: String, reason: String)
}
