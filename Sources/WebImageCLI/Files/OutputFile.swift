internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// Writes files that are there whole or not at all.
///
/// The bytes go to a temporary file beside the target, which then takes the target's place. An interrupt, or a closed
/// standard output, removes the temporary files; see ``Interrupts``.
enum OutputFile {
    /// Temporary files being written now.
    private static let unfinished = Lock<Set<String>>([])

    /// How standard output is written; a file of that name is `./-`.
    static let standardOutput = "-"

    /// Writes `data`; blocks the calling thread. A link stays a link, a file that is replaced keeps its permissions, and a
    /// device or pipe is written to as it is.
    ///
    /// - Parameter replaces: whether a file that exists is replaced; otherwise it fails with `EEXIST`.
    /// - Throws: ``WebImageError/file(path:errno:)``.
    static func write(_ data: Data, to path: String, replaces: Bool = true) throws(WebImageError) {
        if path == standardOutput { return Console.standard.print(bytes: data) }
        let mode = mode(of: path)
        switch mode.map({ $0 & S_IFMT }) {
        case S_IFREG where !replaces: throw .file(path: path, errno: EEXIST)
        case nil, S_IFREG:
            try replace(resolved(path), permissions: mode.map { $0 & 0o777 }, with: data, mayExist: replaces)
        case S_IFDIR: throw .file(path: path, errno: EISDIR)
        default: try append(data, toDevice: path)
        }
    }

    /// Whether a file of that name would be replaced.
    static func isFile(_ path: String) -> Bool {
        path != standardOutput && mode(of: path).map { $0 & S_IFMT } == S_IFREG
    }

    /// - Parameters:
    ///   - permissions: those of the file that is replaced; `nil` where there is none.
    ///   - mayExist: whether a file that has appeared meanwhile is replaced.
    private static func replace(
        _ path: String, permissions: mode_t?, with data: Data, mayExist: Bool
    ) throws(WebImageError) {
        // Whoever may not read the old file must not read the new one either, not even while it is written.
        let (descriptor, temporaryPath) = try createTemporaryFile(
            beside: path, permissions: permissions == nil ? 0o666 : 0o600)
        // A file system that knows no permissions refuses; there is nothing to keep then.
        if let permissions { fchmod(descriptor, permissions) }
        var status = FileDescriptor(descriptor).write(data)
        if close(descriptor) != 0, status == 0 { status = errno }
        // Under the lock, so that an interrupt finds either the temporary name or the finished file.
        unfinished.withLock { unfinished in
            if status == 0 { status = move(temporaryPath, to: path, mayExist: mayExist) }
            if status != 0 { unlink(temporaryPath) }
            unfinished.remove(temporaryPath)
        }
        guard status == 0 else { throw .file(path: path, errno: status) }
    }

    /// Gives a file its name; 0, or the system's error number.
    private static func move(_ temporaryPath: String, to path: String, mayExist: Bool) -> Int32 {
        if mayExist { return rename(temporaryPath, path) == 0 ? 0 : errno }
        // A link never takes the place of another file, whoever makes one meanwhile.
        if link(temporaryPath, path) == 0 {
            unlink(temporaryPath)
            return 0
        }
        // Some file systems have no links.
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { return errno }
        return mode(of: path) != nil ? EEXIST : move(temporaryPath, to: path, mayExist: true)
    }

    /// Removes the temporary files and keeps `body`'s caller from starting another: it must not return.
    static func removeUnfinished(then end: () -> Never) -> Never {
        unfinished.withLock { unfinished in
            for path in unfinished { unlink(path) }
            end()
        }
    }

    /// Makes a directory and those above it, as `mkdir -p` does.
    static func createDirectory(_ path: String) throws(WebImageError) {
        var index = path.startIndex
        while index < path.endIndex {
            let end = path[path.index(after: index)...].firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            if mkdir(part, 0o777) != 0, errno != EEXIST { throw .file(path: part, errno: errno) }
            index = end
        }
        guard isDirectory(path) else { throw .file(path: path, errno: ENOTDIR) }
    }

    static func isDirectory(_ path: String) -> Bool { mode(of: path).map { $0 & S_IFMT } == S_IFDIR }

    /// What it is and who may do what with it; `nil` when there is nothing.
    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode : nil
    }

    /// Where links lead to, whether or not there is something; `path` itself when it is no link.
    private static func resolved(_ path: String) throws(WebImageError) -> String {
        var resolved = path
        // As many links as the system itself follows.
        for _ in 0...40 {
            guard let target = linkTarget(of: resolved) else { return resolved }
            let directory = resolved.lastIndex(of: "/").map { resolved[...$0] } ?? ""
            resolved = target.hasPrefix("/") ? target : directory + target
        }
        throw .file(path: path, errno: ELOOP)
    }

    /// What the link at `path` says, relative to the directory it is in; `nil` when there is no link.
    private static func linkTarget(of path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static func append(_ data: Data, toDevice path: String) throws(WebImageError) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        let status = FileDescriptor(descriptor).write(data)
        guard status == 0 else { throw .file(path: path, errno: status) }
    }

    /// Whether both paths lead to one file, by whatever names and links.
    static func isSameFile(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(path, &first) == 0 && stat(other, &second) == 0
            && first.st_ino == second.st_ino && first.st_dev == second.st_dev
    }

    /// - Parameter permissions: less those that the process's mask takes away.
    private static func createTemporaryFile(
        beside path: String, permissions: mode_t
    ) throws(WebImageError) -> (Int32, String) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        for _ in 0..<100 {
            let temporaryPath = "\(path).\(String(UInt32.random(in: 0...UInt32.max), radix: 36)).part"
            let (descriptor, status) = unfinished.withLock { unfinished in
                let descriptor = open(temporaryPath, flags, permissions)
                if descriptor >= 0 { unfinished.insert(temporaryPath) }
                return (descriptor, errno)
            }
            if descriptor >= 0 { return (descriptor, temporaryPath) }
            guard status == EEXIST else { throw .file(path: path, errno: status) }
        }
        throw .file(path: path, errno: EEXIST)
    }
}
