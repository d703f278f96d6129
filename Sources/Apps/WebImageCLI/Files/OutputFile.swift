internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import Synchronization
internal import WebImage
internal import WebImageCore

/// Writes files completely or not at all.
///
/// The bytes are written to a temporary file in the same directory, which is then renamed to the target. An interrupt,
/// or a closed standard output, removes the temporary files; see ``Interrupts``.
enum OutputFile {
    /// The temporary files that are being written.
    private static let unfinished = Mutex<Set<SystemString>>([])

    /// Stands for standard output; a file with that name is `./-`.
    static let standardOutput = SystemString("-")

    /// Writes `data`; blocks the calling thread. Symbolic links are followed, a replaced file keeps its permissions,
    /// and devices and pipes are written to directly.
    ///
    /// - Parameters:
    ///   - replaces: whether to replace an existing file; otherwise writing fails with `EEXIST`.
    ///   - isPrivate: whether only the owner may read the file, even if others could read a replaced one.
    ///   - waitsForReader: whether a pipe that nothing reads is waited for; otherwise writing fails with `ENXIO`.
    ///   - isInPlace: whether an existing file is overwritten instead of replaced, because another process has it open.
    /// - Throws: ``WebImageError/file(path:errno:)``.
    static func write(
        _ data: Data, to path: SystemString, replaces: Bool = true, isPrivate: Bool = false, isInPlace: Bool = false,
        waitsForReader: Bool = true
    ) throws(WebImageError) {
        if path == standardOutput { return Console.standard.print(bytes: data) }
        let mode = mode(of: path)
        switch mode.map({ $0 & S_IFMT }) {
        case S_IFREG where !replaces: throw .file(path: path.description, errno: EEXIST)
        case S_IFREG where isInPlace: try append(data, to: path, flags: O_TRUNC, permissions: isPrivate ? 0o600 : nil)
        case nil, S_IFREG:
            let permissions = isPrivate ? 0o600 : mode.map { $0 & 0o777 }
            try replace(resolved(path), permissions: permissions, with: data, mayExist: replaces)
        case S_IFDIR: throw .file(path: path.description, errno: EISDIR)
        default: try append(data, to: path, flags: waitsForReader ? 0 : O_NONBLOCK)
        }
    }

    /// Whether writing would replace a regular file.
    static func isFile(_ path: SystemString) -> Bool {
        path != standardOutput && mode(of: path).map { $0 & S_IFMT } == S_IFREG
    }

    /// - Parameters:
    ///   - permissions: the permissions of the file; `nil` for the usual ones of a new file.
    ///   - mayExist: whether to replace a file that was created meanwhile.
    private static func replace(
        _ path: SystemString, permissions: mode_t?, with data: Data, mayExist: Bool
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
            if status != 0 { remove(temporaryPath) }
            unfinished.remove(temporaryPath)
        }
        guard status == 0 else { throw .file(path: path.description, errno: status) }
    }

    /// Renames a file; returns 0 or the system's error number.
    private static func move(_ temporaryPath: SystemString, to path: SystemString, mayExist: Bool) -> Int32 {
        if mayExist { return status(of: rename, temporaryPath, path) }
        // `link` never replaces a file, even one that is created at the same moment.
        let status = status(of: link, temporaryPath, path)
        if status == 0 {
            remove(temporaryPath)
            return 0
        }
        // Some file systems do not support links.
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(status) else { return status }
        return mode(of: path) != nil ? EEXIST : move(temporaryPath, to: path, mayExist: true)
    }

    /// Calls a function of the system with two paths; returns 0 or the error number.
    private static func status(
        of function: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32, _ first: SystemString,
        _ second: SystemString
    ) -> Int32 {
        first.withCString { first in second.withCString { second in function(first, second) == 0 ? 0 : errno } }
    }

    private static func remove(_ path: SystemString) { _ = path.withCString { unlink($0) } }

    /// Removes the temporary files and prevents new ones, so `end` must not return.
    static func removeUnfinished(then end: () -> Never) -> Never {
        unfinished.withLock { unfinished in
            for path in unfinished { remove(path) }
            end()
        }
    }

    /// Creates a directory and its parent directories, like `mkdir -p`.
    ///
    /// - Parameter permissions: reduced by the process's umask.
    static func createDirectory(_ path: SystemString, permissions: mode_t = 0o777) throws(WebImageError) {
        let bytes = path.bytes
        var index = 0
        while index < bytes.count {
            let end = bytes[(index + 1)...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
            let part = SystemString(bytes[..<end])
            let status = part.withCString { mkdir($0, permissions) == 0 ? 0 : errno }
            if status != 0, status != EEXIST { throw .file(path: part.description, errno: status) }
            index = end
        }
        guard isDirectory(path) else { throw .file(path: path.description, errno: ENOTDIR) }
    }

    static func isDirectory(_ path: SystemString) -> Bool { mode(of: path).map { $0 & S_IFMT } == S_IFDIR }

    /// Whether there is anything with that path.
    static func exists(_ path: SystemString) -> Bool { mode(of: path) != nil }

    /// The type and permissions of a file; `nil` if it does not exist.
    private static func mode(of path: SystemString) -> mode_t? {
        var status = stat()
        return path.withCString { stat($0, &status) } == 0 ? status.st_mode : nil
    }

    /// Resolves links, whether or not the target exists; returns `path` itself if it is not a link.
    private static func resolved(_ path: SystemString) throws(WebImageError) -> SystemString {
        var resolved = path
        // The same number of links that the system follows.
        for _ in 0...40 {
            guard let target = linkTarget(of: resolved) else { return resolved }
            let slash = resolved.bytes.lastIndex(of: UInt8(ascii: "/"))
            resolved =
                target.hasPrefix("/") ? target : SystemString(resolved.bytes[..<(slash.map { $0 + 1 } ?? 0)]) + target
        }
        throw .file(path: path.description, errno: ELOOP)
    }

    /// The target of the link at `path`, relative to the link's directory; `nil` if it is not a link.
    private static func linkTarget(of path: SystemString) -> SystemString? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = path.withCString { readlink($0, &bytes, bytes.count) }
        return count > 0 ? SystemString(bytes[..<count].map(UInt8.init(bitPattern:))) : nil
    }

    /// Writes to a device, or to what is left of a file.
    private static func append(
        _ data: Data, to path: SystemString, flags: Int32, permissions: mode_t? = nil
    ) throws(WebImageError) {
        let descriptor = path.withCString { open($0, O_WRONLY | O_CLOEXEC | flags) }
        guard descriptor >= 0 else { throw .file(path: path.description, errno: errno) }
        defer { close(descriptor) }
        if let permissions { fchmod(descriptor, permissions) }
        let status = FileDescriptor(descriptor).write(data)
        guard status == 0 else { throw .file(path: path.description, errno: status) }
    }

    /// Whether both paths refer to the same file, through any names and links.
    static func isSameFile(_ path: SystemString, _ other: SystemString) -> Bool {
        var (first, second) = (stat(), stat())
        return path.withCString { stat($0, &first) } == 0 && other.withCString { stat($0, &second) } == 0
            && first.st_ino == second.st_ino && first.st_dev == second.st_dev
    }

    /// - Parameter permissions: reduced by the process's umask.
    private static func createTemporaryFile(
        beside path: SystemString, permissions: mode_t
    ) throws(WebImageError) -> (Int32, SystemString) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        for _ in 0..<100 {
            let temporaryPath = path + ".\(String(UInt32.random(in: 0...UInt32.max), radix: 36)).part"
            let (descriptor, status) = unfinished.withLock { unfinished in
                let descriptor = temporaryPath.withCString { open($0, flags, permissions) }
                if descriptor >= 0 { unfinished.insert(temporaryPath) }
                return (descriptor, errno)
            }
            if descriptor >= 0 { return (descriptor, temporaryPath) }
            guard status == EEXIST else { throw .file(path: path.description, errno: status) }
        }
        throw .file(path: path.description, errno: EEXIST)
    }
}
