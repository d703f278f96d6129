internal import FoundationEssentials
internal import Glibc
internal import WebImage

/// Writes files completely or not at all.
///
/// The bytes are written to a temporary file in the same directory, which is then renamed to the target. An interrupt,
/// or a closed standard output, removes the temporary files; see ``Interrupts``.
enum OutputFile {
    /// The temporary files that are being written.
    private static let unfinished = LockBox<Set<String>>([])

    /// Stands for standard output; a file with that name is `./-`.
    static let standardOutput = "-"

    /// Writes `data`; blocks the calling thread. Symbolic links are followed, a replaced file keeps its permissions,
    /// and devices and pipes are written to directly.
    ///
    /// - Parameter replaces: whether to replace an existing file; otherwise writing fails with `EEXIST`.
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

    /// Whether writing would replace a regular file.
    static func isFile(_ path: String) -> Bool {
        path != standardOutput && mode(of: path).map { $0 & S_IFMT } == S_IFREG
    }

    /// - Parameters:
    ///   - permissions: the permissions of the replaced file; `nil` for a new file.
    ///   - mayExist: whether to replace a file that was created meanwhile.
    private static func replace(
        _ path: String, permissions: mode_t?, with data: Data, mayExist: Bool
    ) throws(WebImageError) {
        // Users who cannot read the old file must not be able to read the new one, even while it is written.
        let (descriptor, temporaryPath) = try createTemporaryFile(
            beside: path, permissions: permissions == nil ? 0o666 : 0o600)
        // This fails on a file system without permissions, which has none to preserve.
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

    /// Renames a file; returns 0 or the system's error number.
    private static func move(_ temporaryPath: String, to path: String, mayExist: Bool) -> Int32 {
        if mayExist { return rename(temporaryPath, path) == 0 ? 0 : errno }
        // `link` never replaces a file, even one that is created at the same moment.
        if link(temporaryPath, path) == 0 {
            unlink(temporaryPath)
            return 0
        }
        // Some file systems do not support links.
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { return errno }
        return mode(of: path) != nil ? EEXIST : move(temporaryPath, to: path, mayExist: true)
    }

    /// Removes the temporary files and prevents new ones, so `end` must not return.
    static func removeUnfinished(then end: () -> Never) -> Never {
        unfinished.withLock { unfinished in
            for path in unfinished { unlink(path) }
            end()
        }
    }

    /// Creates a directory and its parent directories, like `mkdir -p`.
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

    /// The type and permissions of a file; `nil` if it does not exist.
    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode : nil
    }

    /// Resolves links, whether or not the target exists; returns `path` itself if it is not a link.
    private static func resolved(_ path: String) throws(WebImageError) -> String {
        var resolved = path
        // The same number of links that the system follows.
        for _ in 0...40 {
            guard let target = linkTarget(of: resolved) else { return resolved }
            let directory = resolved.lastIndex(of: "/").map { resolved[...$0] } ?? ""
            resolved = target.hasPrefix("/") ? target : directory + target
        }
        throw .file(path: path, errno: ELOOP)
    }

    /// The target of the link at `path`, relative to the link's directory; `nil` if it is not a link.
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

    /// Whether both paths refer to the same file, through any names and links.
    static func isSameFile(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(path, &first) == 0 && stat(other, &second) == 0
            && first.st_ino == second.st_ino && first.st_dev == second.st_dev
    }

    /// - Parameter permissions: reduced by the process's umask.
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

/// An open file descriptor, which its owner closes.
struct FileDescriptor {
    private let number: Int32

    init(_ number: Int32) { self.number = number }

    /// Writes all of `data`; returns 0 or the system's error number. Blocks, even if another process that shares the
    /// terminal or pipe has made it nonblocking.
    @discardableResult
    func write(_ data: Data) -> Int32 {
        data.withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, _ in
                    while true {
                        let count = Glibc.write(number, rest.baseAddress, rest.count)
                        guard count < 0, errno == EAGAIN else { return count }
                        waitUntilWritable()
                    }
                }
                return 0
            } catch {
                return error.errno
            }
        }
    }

    /// Returns early after a signal or an error, which the next write encounters again.
    private func waitUntilWritable() {
        var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, -1)
    }
}
