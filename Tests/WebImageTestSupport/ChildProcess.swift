import FoundationEssentials
import Glibc
import WebImageCore

/// A program that runs for as long as its tests: its standard input is a stream whose end it takes for the order to
/// stop, so that it stops even when the test process crashes.
final class ChildProcess: Sendable {
    /// The program's output; closed when the program and all its children have ended.
    let output: Int32
    private let identifier: pid_t
    private let input: LockBox<Int32?>

    /// Starts `arguments[0]`, looked up in `PATH`.
    init(_ arguments: [String]) throws {
        var inputEnds: [Int32] = [0, 0]
        var outputEnds: [Int32] = [0, 0]
        // No other child may inherit our end of its input, or it would keep this one alive; a socket pair is closed on
        // exec from the start. nginx opens its output by name, which only a pipe allows, and there a copy does no harm.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &inputEnds) == 0, pipe(&outputEnds) == 0 else {
            throw TestServerError("no pipe: errno \(errno)")
        }
        for end in outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputEnds[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], STDOUT_FILENO)
        // Its own process group: Ctrl-C ends the tests, and the pipe then ends the program in good order.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        // An empty signal mask: the runtime's threads block what `kill` sends, and a child inherits that.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
            close(inputEnds[0])
            close(outputEnds[1])
        }
        var strings = arguments.map { strdup($0) } + [nil]
        defer { strings.forEach { free($0) } }
        var identifier = pid_t()
        let status = posix_spawnp(&identifier, arguments[0], &actions, &attributes, &strings, environ)
        guard status == 0 else {
            close(inputEnds[1])
            close(outputEnds[0])
            throw TestServerError("\(arguments[0]) does not start: errno \(status)")
        }
        self.identifier = identifier
        input = LockBox(inputEnds[1])
        output = outputEnds[0]
    }

    deinit { stop() }

    /// Ends the program and waits until it is gone; its exit status, or -1 for none and the second time.
    @discardableResult
    func stop() -> Int {
        let open = input.withLock { input in
            defer { input = nil }
            return input
        }
        guard let open else { return -1 }
        close(open)
        var status: Int32 = 0
        guard waitpid(identifier, &status, 0) == identifier, status & 0x7F == 0 else { return -1 }
        return Int(status >> 8)
    }

    /// Writes a line to its standard input. A program that has ended does not read it, which must not end the tests by a signal.
    func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        input.withLock { input in if let input { _ = send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL)) } }
    }

    /// The first line that the program prints, or as much as there is of it. Blocks.
    func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// Everything the program prints, once it is gone.
    func readAll() -> Data {
        var output = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(self.output, &buffer, buffer.count), count > 0 { output += buffer[..<count] }
        close(self.output)
        return output
    }

    /// Reads what the program prints, line by line, on a thread of its own, until the program is gone.
    func readLines(_ receive: @escaping @Sendable (String) -> Void) {
        let output = output
        _ = PlatformThread.start(name: "test-server-log") {
            var pending: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(output, &buffer, buffer.count)
                guard count > 0 else { break }
                pending += buffer[..<count]
                while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    receive(String(decoding: pending[..<end], as: UTF8.self))
                    pending.removeSubrange(...end)
                }
            }
            close(output)
        }
    }
}

/// Why a test server could not be used.
public struct TestServerError: Error, CustomStringConvertible {
    /// The call that failed.
    public let description: String

    init(_ description: String) { self.description = description }
}
