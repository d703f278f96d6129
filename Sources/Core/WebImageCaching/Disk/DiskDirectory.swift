internal import CWebImageSQLite
internal import Glibc
internal import WebImageCore

/// The paths in a disk cache's directory, and their state in the file system.
///
/// ```
///  index.sqlite (-wal, -shm)    keys, sizes, times, places; SQLite also looks for a -journal
///  values-<generation>/         the index names its generation
///      segment-<number>         most values, one after the other
///      <id>                     large values, one file each
///  lock                         held while the index is created or moved aside
///  index.sqlite.corrupt-<n>     a damaged index, moved aside
///  aside-<n>                    anything else with the name of one of these files
///  files/                       copies for programs that take a path, of ``CachedFileStore``
/// ```
struct DiskDirectory: Sendable {
    let path: String
    /// Created once, since each look-up needs it.
    let indexPath: String
    /// Whether the directory may belong to another user.
    let allowsForeignOwner: Bool
    var lockPath: String { path + "/lock" }
    static let valuesPrefix = "values-"
    /// Files that SQLite opens with the index if they exist. A journal may remain from a process that died while it
    /// wrote one, although this index uses a log.
    private static let indexSuffixes = ["-wal", "-shm", "-journal"]
    /// How often a replaced lock file is opened again.
    private static let lockRoundCount = 8

    init(path: String, allowsForeignOwner: Bool = false) {
        self.path = path
        self.allowsForeignOwner = allowsForeignOwner
        indexPath = path + "/index.sqlite"
    }

    func valuesPath(generation: Int64) -> String {
        "\(path)/\(Self.valuesPrefix)\(String(generation, radix: 16))"
    }

    /// Creates the directory and its parent directories, for this user only.
    func create() throws(DiskFault) {
        var made = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            made += component
            try Self.make(made)
            made += "/"
        }
    }

    /// Checks that only this user and root can have changed the directory's contents, or replaced the directory.
    func checkOwner() throws(DiskFault) {
        guard !allowsForeignOwner else { return }
        var (directory, link) = (stat(), stat())
        guard stat(path, &directory) == 0, lstat(path, &link) == 0 else { throw .system(errno: errno) }
        for owner in [link.st_uid, directory.st_uid] where owner != geteuid() && owner != 0 {
            throw .foreignDirectory(owner: Int(owner))
        }
    }

    /// Creates the folder of the value files.
    func makeValues(generation: Int64) throws(DiskFault) {
        let folder = valuesPath(generation: generation)
        if isObstructed(folder) { throw .obstacle(path: folder) }
        try Self.make(folder)
    }

    /// Ensures that SQLite, which follows links and waits for pipes, finds a regular file or none.
    func checkIndexFiles() throws(DiskFault) {
        for suffix in [""] + Self.indexSuffixes where isObstructed(indexPath + suffix) {
            throw .obstacle(path: indexPath + suffix)
        }
    }

    private static func make(_ path: String) throws(DiskFault) {
        guard mkdir(path, 0o700) != 0 else { return }
        let failure = errno
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system(errno: failure) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .system(errno: ENOTDIR) }
    }

    /// Removes other users' permissions that an older cache granted, if the directory belongs to this user.
    func restrict() {
        guard indexIdentity != nil else { return }
        Self.restrict(path, to: 0o700)
        for suffix in [""] + Self.indexSuffixes { Self.restrict(indexPath + suffix, to: 0o600) }
        for name in Self.names(in: path) where name.hasPrefix(Self.valuesPrefix) {
            Self.restrict("\(path)/\(name)", to: 0o700)
        }
    }

    /// By name, since opening and closing the index would release the locks of its connections.
    private static func restrict(_ path: String, to mode: mode_t) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT != S_IFLNK,
            status.st_mode & 0o077 != 0
        else { return }
        chmod(path, mode)
    }

    /// Runs `body` while no other process or thread holds the directory's lock.
    func withExclusiveLock<Result>(_ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        let descriptor = try holdLock()
        // Closing releases the lock; so does the kernel when the process dies.
        defer { close(descriptor) }
        return try body()
    }

    private func holdLock() throws(DiskFault) -> Int32 {
        for _ in 0..<Self.lockRoundCount {
            let lock = try openLock()
            if lock.identity == Self.identity(lockPath) { return lock.descriptor }
            // Another process may have moved it aside. On some file systems, the result is never the same twice.
            close(lock.descriptor)
        }
        throw .system(errno: ESTALE)
    }

    private func openLock() throws(DiskFault) -> (descriptor: Int32, identity: FileIdentity) {
        let descriptor: Int32
        do throws(RegularFile.Failure) {
            descriptor = try RegularFile.open(lockPath, O_RDWR | O_CREAT)
        } catch {
            throw DiskFault(error, path: lockPath)
        }
        var status = stat()
        while flock(descriptor, LOCK_EX) != 0 || fstat(descriptor, &status) != 0 {
            guard errno == EINTR else {
                let failure = errno
                close(descriptor)
                throw .system(errno: failure)
            }
        }
        return (descriptor, FileIdentity(status))
    }

    /// Runs `body` like ``withExclusiveLock(_:)``, but also in a read-only directory. Without a lock file, no process
    /// holds the lock.
    func withReadersLock<Result>(_ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        guard isReadOnly else { return try withExclusiveLock(body) }
        let descriptor = try? RegularFile.open(lockPath, O_RDONLY)
        defer { if let descriptor { close(descriptor) } }
        while let descriptor, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return try body()
    }

    /// Whether this process cannot change the directory, because of its permissions or a read-only file system.
    var isReadOnly: Bool { access(path, W_OK) != 0 && [EACCES, EROFS, EPERM].contains(errno) }

    /// The state of the index that changes when it is written, for readers which SQLite does not notify; `nil` while
    /// there is a log, without which the index may be incomplete.
    var settledIndex: SettledIndex? {
        var (log, index) = (stat(), stat())
        if lstat(indexPath + "-wal", &log) == 0, log.st_size > 0 { return nil }
        guard lstat(indexPath, &index) == 0 else { return nil }
        let modified = index.st_mtim
        return SettledIndex(
            byteCount: Int64(index.st_size), modified: Int64(modified.tv_sec), nanoseconds: Int64(modified.tv_nsec))
    }

    struct SettledIndex: Equatable, Sendable {
        let byteCount: Int64
        let modified: Int64
        let nanoseconds: Int64
    }

    /// The size of the index and its log.
    var indexByteCount: Int64 {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            var status = stat()
            return stat(indexPath + suffix, &status) == 0 ? sum + Int64(status.st_size) : sum
        }
    }

    /// Identifies the index file among those that have had its path; `nil` if there is none.
    var indexIdentity: FileIdentity? { Self.identity(indexPath) }
    /// Identifies the index's log in the same way.
    var logIdentity: FileIdentity? { Self.identity(indexPath + "-wal") }

    private static func identity(_ path: String) -> FileIdentity? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return FileIdentity(status)
    }

    struct FileIdentity: Equatable, Sendable {
        let device: UInt64
        let inode: UInt64

        init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }
    }

    /// More bytes than any cache holds (1 PiB), but so few that sums of such numbers cannot overflow.
    static let largestByteCount: Int64 = 1 << 50

    /// Clamps a number of bytes from an index whose pages may be damaged, so that sums cannot overflow.
    static func possibleByteCount(_ stored: Int64) -> Int64 { min(max(0, stored), largestByteCount) }

    /// The free space of the file system for this user, in bytes; at most ``largestByteCount``.
    var freeByteCount: Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Self.byteCount(blockCount: UInt64(status.f_bavail), blockSize: UInt64(status.f_frsize))
    }

    /// Unlimited file systems, such as those in front of object stores, report the largest number of blocks.
    static func byteCount(blockCount: UInt64, blockSize: UInt64) -> Int64 {
        let (bytes, overflows) = blockCount.multipliedReportingOverflow(by: blockSize)
        return overflows ? largestByteCount : min(Int64(clamping: bytes), largestByteCount)
    }

    /// Moves a damaged index aside. One that was moved aside before is deleted, so that only the latest is kept.
    func moveIndexAside() throws(DiskFault) -> String {
        let prefix = "index.sqlite.corrupt-"
        let older = Self.names(in: path).filter { $0.hasPrefix(prefix) }
        let number = (older.compactMap { Int($0.dropFirst(prefix.count)) }.max() ?? 0) + 1
        let target = "\(path)/\(prefix)\(number)"
        guard rename(indexPath, target) == 0 else { throw .system(errno: errno) }
        for name in older { unlink("\(path)/\(name)") }
        removeIndex()
        return target
    }

    /// Whether the path belongs to something that the cache cannot have created: neither a value folder nor a regular
    /// file.
    func isObstructed(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        let isFolder =
            path.utf8.dropFirst(self.path.utf8.count + 1).starts(with: Self.valuesPrefix.utf8)
            && !path.utf8.dropFirst(self.path.utf8.count + 1).contains(UInt8(ascii: "/"))
        return status.st_mode & S_IFMT != (isFolder ? S_IFDIR : S_IFREG)
    }

    /// Moves an obstacle with the name of one of the cache's files aside; returns its new path.
    func moveAside(_ obstacle: String) throws(DiskFault) -> String {
        let prefix = "aside-"
        let numbers = Self.names(in: path).compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }
        let target = "\(path)/\(prefix)\((numbers.max() ?? 0) + 1)"
        guard rename(obstacle, target) == 0 else { throw .system(errno: errno) }
        // The log of a previous index would be applied to the next one.
        if obstacle == indexPath { for suffix in Self.indexSuffixes { unlink(indexPath + suffix) } }
        return target
    }

    /// Deletes the index with its log or journal, which would be applied to the next index.
    func removeIndex() {
        for suffix in [""] + Self.indexSuffixes { unlink(indexPath + suffix) }
    }

    /// Identifies the current boot of the machine; empty if the system does not provide it.
    static let bootIdentity = String((TextFile.contents("/proc/sys/kernel/random/boot_id") ?? "").prefix(36))

    /// Deletes the files in an unused folder of values, and the folder.
    static func removeValues(_ folder: String) {
        for file in names(in: folder, followsLinks: false) { unlink("\(folder)/\(file)") }
        rmdir(folder)
    }

    /// - Parameter followsLinks: whether the path may be a link to a directory; if not, a link has no names.
    static func names(in path: String, followsLinks: Bool = true) -> [String] {
        Directory.names(closing: open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)))
    }
}

/// The cause of a failed disk operation, before it is handled.
enum DiskFault: Error {
    case system(errno: Int32)
    case index(code: Int32, message: String)
    /// The index was created by an older version of this library and cannot be used.
    case olderIndex
    /// The name of one of the cache's files belongs to something that is not a regular file.
    case obstacle(path: String)
    /// The directory belongs to another user.
    case foreignDirectory(owner: Int)
    /// The segment to which values were to be appended is missing, or shorter than the index says.
    case missingSegment

    init(_ failure: RegularFile.Failure, path: String) {
        self = failure.isObstacle ? .obstacle(path: path) : .system(errno: failure.errno)
    }

    /// The index file is damaged, or not a database.
    var isCorruption: Bool {
        if case .index(let code, _) = self { return [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }
        return false
    }

    /// SQLite did not find the tables and columns of a statement, or found tables that it should create. The file was
    /// created by another program, or incompletely. The error occurs when statements are prepared.
    var isForeignSchema: Bool {
        if case .index(let code, _) = self { return code & 0xFF == SQLITE_ERROR }
        return false
    }

    /// The file system, or the user's quota, has no space left.
    var isFullDisk: Bool {
        switch self {
        case .system(let errno): errno == ENOSPC || errno == EDQUOT
        case .index(let code, _): code & 0xFF == SQLITE_FULL
        case .olderIndex, .obstacle, .foreignDirectory, .missingSegment: false
        }
    }

    /// Another process holds the index.
    var isLocked: Bool {
        if case .index(let code, _) = self { return [SQLITE_BUSY, SQLITE_LOCKED].contains(code & 0xFF) }
        return false
    }

    /// The operation may succeed now that the fault has been handled.
    var isWorthRepeating: Bool {
        switch self {
        case .missingSegment, .obstacle: true
        default: isLocked
        }
    }

    /// The next operation may succeed.
    var isPassing: Bool { isLocked || isFullDisk }

    /// The error for the client.
    var failure: WebImageError.DiskCacheFailure {
        switch self {
        case .system(let errno): .system(errno: errno)
        case .index(let code, _) where code & 0xFF == SQLITE_FULL: .system(errno: ENOSPC)
        case .index(let code, let message): .index(code: Int(code), message: message)
        case .missingSegment: .system(errno: ENOENT)
        case .obstacle: .system(errno: EEXIST)
        case .foreignDirectory(let owner): .foreignDirectory(owner: owner)
        case .olderIndex: .index(code: Int(SQLITE_SCHEMA), message: "made by an older version of this library")
        }
    }
}
