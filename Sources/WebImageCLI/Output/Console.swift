internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Standard output and standard error of this process.
///
/// On a terminal a progress bar may stand in the last line of standard error; whatever is printed goes above it.
final class Console: Sendable {
    /// The process's console.
    static let standard = Console()

    /// Whether standard error is a terminal, where a progress bar makes sense.
    let showsProgress = isatty(STDERR_FILENO) == 1

    /// The line that stands at the bottom. The lock also keeps the pieces of two messages apart.
    private let bottomLine = Lock("")

    /// Prints a line of results.
    func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// Prints text of several lines, such as a help.
    func print(text: String) { write(text, to: STDOUT_FILENO) }

    /// Prints a line about what went wrong.
    func complain(_ line: String) { write("webimage: \(line)\n", to: STDERR_FILENO) }

    /// Replaces the line at the bottom of the terminal; an empty one takes it away.
    func setBottomLine(_ line: String) {
        guard showsProgress else { return }
        bottomLine.withLock { current in
            guard current != line else { return }
            current = line
            Self.writeAll(Self.clearLine + line, to: STDERR_FILENO)
        }
    }

    /// Writes bytes as they are.
    func print(bytes: Data) { write(bytes, to: STDOUT_FILENO) }

    /// Takes the bottom line away although another thread may be stuck in the middle of a message.
    func abandonBottomLine() {
        if showsProgress { Self.writeAll(Self.clearLine, to: STDERR_FILENO) }
    }

    private func write(_ text: String, to descriptor: Int32) { write(Data(text.utf8), to: descriptor) }

    private func write(_ bytes: Data, to descriptor: Int32) {
        let status = bottomLine.withLock { line in
            if !line.isEmpty { Self.writeAll(Self.clearLine, to: STDERR_FILENO) }
            defer { if !line.isEmpty { Self.writeAll(line, to: STDERR_FILENO) } }
            return FileDescriptor(descriptor).write(bytes)
        }
        guard descriptor == STDOUT_FILENO, status != 0 else { return }
        // Nobody reads any more, as after `webimage … | head -1`: end as a program without a SIGPIPE handler would.
        if status == EPIPE { Interrupts.end(status: 128 + SIGPIPE) }
        complain(WebImageError.file(path: "standard output", errno: status).description)
        Interrupts.end(status: ExitStatus.failure.rawValue)
    }

    private static let clearLine = "\r\u{1B}[K"

    private static func writeAll(_ text: String, to descriptor: Int32) {
        FileDescriptor(descriptor).write(Data(text.utf8))
    }
}
