/// A reason for not starting a command.
enum ArgumentError: Error {
    /// `--help` was given; the text of the help.
    case help(String)
    /// The arguments are invalid.
    case usage(command: String, reason: String)
}
