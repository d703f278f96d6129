import Glibc

/// Prints a line to standard error, after the program's name.
func complain(_ message: String) {
    var line = "Gallery: \(message)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
