internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import Synchronization
internal import WebImageCore

/// Standard output and standard error of this process.
///
/// On a terminal, the last line of standard error may be a progress bar; messages are printed above it.
///
/// All text that is printed passes ``TerminalText/escaped(_:)`` here, and is without the passwords of URLs. Bytes are printed as they are.
final class Console: Sendable {
    /// The process's console.
    static let standard = Console()

    /// Whether standard error is a terminal, which can show a progress bar.
    let showsProgress = isatty(STDERR_FILENO) == 1

    /// The line at the bottom. The lock also prevents messages from being mixed.
    private let bottomLine = Mutex("")

    /// Prints a line of results. Line breaks in it are escaped.
    func print(_ line: String) { write(Self.shown(line) + "\n", to: STDOUT_FILENO) }

    /// Prints a value on one line.
    func print(_ value: JSON) { write(TerminalText.escaped(value.text) + "\n", to: STDOUT_FILENO) }

    /// Prints the tool's own text with several lines, such as a help text.
    func print(text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        write(lines.map { TerminalText.escaped(String($0)) }.joined(separator: "\n"), to: STDOUT_FILENO)
    }

    /// Prints an error message on one line, in the user's language.
    func complain(_ text: LocalizableText) { write("webimage: \(Self.shown(localized(text)))\n", to: STDERR_FILENO) }

    private static func shown(_ line: String) -> String {
        TerminalText.escaped(CredentialRedaction.removingUserInformation(from: line))
    }

    /// Replaces the line at the bottom of the terminal; an empty one removes it.
    func setBottomLine(_ line: String) {
        guard showsProgress else { return }
        let line = TerminalText.escaped(line)
        bottomLine.withLock { current in
            guard current != line else { return }
            current = line
            Self.writeAll(Self.clearLine + line, to: STDERR_FILENO)
        }
    }

    /// Writes bytes unchanged.
    func print(bytes: Data) { write(bytes, to: STDOUT_FILENO) }

    /// Removes the bottom line, even if another thread is blocked while it prints a message.
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
        // The reader has closed the pipe, as after `webimage … | head -1`: end like a program without a SIGPIPE
        // handler.
        if status == EPIPE { Interrupts.end(status: 128 + SIGPIPE) }
        complain(WebImageError.file(path: "standard output", errno: status).shellText())
        Interrupts.end(status: ExitStatus.failure.rawValue)
    }

    private static let clearLine = "\r\u{1B}[K"

    private static func writeAll(_ text: String, to descriptor: Int32) {
        FileDescriptor(descriptor).write(Data(text.utf8))
    }
}
