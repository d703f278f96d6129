import Glibc

/// Prints the program's name and `message` to standard error.
func complain(_ message: String) {
    var line = "Gallery: \(message)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
