import FoundationEssentials
import Glibc

/// Another process, which reads and hashes every entry of a store that this one has written: what it finds is on the
/// file system and not in our memory.
///
/// It starts before the clock does and then waits, so that starting a program is in no figure.
final class ReadBack {
    static let flag = "--read-back"

    private var process = pid_t()
    private let input: Int32
    private let output: Int32

    init(_ contender: DiskContender, directory: String, entries: DiskEntries) throws {
        var (inputEnds, outputEnds): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&inputEnds) == 0, pipe(&outputEnds) == 0 else {
            throw WrongResult(description: "no pipe: errno \(errno)")
        }
        for end in inputEnds + outputEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, inputEnds[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, outputEnds[1], STDOUT_FILENO)
        let arguments = [
            "/proc/self/exe", Self.flag, contender.rawValue, directory, "\(entries.count)",
            "\(entries.byteCounts.lowerBound)", "\(entries.byteCounts.upperBound)",
        ]
        var strings = arguments.map { strdup($0) } + [nil]
        defer {
            posix_spawn_file_actions_destroy(&actions)
            close(inputEnds[0])
            close(outputEnds[1])
            strings.forEach { free($0) }
        }
        (input, output) = (inputEnds[1], outputEnds[0])
        let status = posix_spawn(&process, arguments[0], &actions, nil, &strings, environ)
        guard status == 0 else { throw WrongResult(description: "the second process does not start: errno \(status)") }
        // Its first word: it has its entries, and waits.
        _ = try nextWord()
    }

    deinit {
        close(input)
        close(output)
        waitpid(process, nil, 0)
    }

    /// Lets it read; its digest of all entries.
    func run() throws -> UInt64 {
        var go = UInt8(ascii: "\n")
        guard write(input, &go, 1) == 1 else { throw WrongResult(description: "the second process is gone") }
        return try nextWord()
    }

    private func nextWord() throws -> UInt64 {
        var word: UInt64 = 0
        guard read(output, &word, 8) == 8 else { throw WrongResult(description: "the second process is gone") }
        return word
    }

    /// Does the second process's part, and exits. Returns `nil` if the command line has no such part.
    static func runIfAsked(_ commandLine: [String]) throws {
        let arguments = Array(commandLine.dropFirst())
        guard arguments.first == flag else { return }
        guard arguments.count == 6, let contender = DiskContender(rawValue: arguments[1]),
            let count = Int(arguments[3]),
            let least = Int(arguments[4]), let most = Int(arguments[5]), least <= most
        else { exit(2) }
        let entries = DiskEntries(count: count, byteCounts: least...most)
        print(word: 0)
        var go = UInt8(0)
        guard read(STDIN_FILENO, &go, 1) == 1 else { exit(0) }
        let session = try contender.open(arguments[2]).session()
        var digest: UInt64 = 0
        for place in 0..<entries.count {
            digest &+=
                try session.get(entries.keys[place], byteCount: entries.byteCount(of: place)) { bytes in
                    DiskEntries.digest(bytes, place: place)
                } ?? 0
        }
        print(word: digest)
        exit(0)
    }

    private static func print(word: UInt64) {
        withUnsafeBytes(of: word) { _ = write(STDOUT_FILENO, $0.baseAddress, 8) }
    }
}
