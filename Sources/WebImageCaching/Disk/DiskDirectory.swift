internal import CWebImageSQLite
internal import Glibc
internal import WebImageCore

/// The places inside a disk cache's directory, and what the system says about them.
///
/// ```
///  index.sqlite (-wal, -shm)    keys, sizes, times, places; SQLite also looks for a -journal
///  values-<generation>/         the index names its generation
///      segment-<number>         most values, one behind the other
///      <id>                     large values, a file each
///  lock                         held while the index is made or moved aside
///  index.sqlite.corrupt-<n>     a damaged index, moved aside
///  aside-<n>                    anything else that stood in the place of one of these files
/// ```
struct DiskDirectory: Sendable {
    let path: String
    /// Made once, as each look-up needs it.
    let indexPath: String
    /// Whether the directory may be another user's.
    let allowsForeignOwner: Bool
    var lockPath: String { path + "/lock" }
    static let valuesPrefix = "values-"
    /// What SQLite opens beside the index, when there is a file of that name: a journal from a process that died while it
    /// wrote one, although this index has a log.
    private static let indexSuffixes = ["-wal", "-shm", "-journal"]
    /// How often a lock that has been replaced is opened again.
    private static let lockRoundCount = 8

    init(path: String, allowsForeignOwner: Bool = false) {
        self.path = path
        self.allowsForeignOwner = allowsForeignOwner
        indexPath = path + "/index.sqlite"
    }

    func valuesPath(generation: Int64) -> String {
        "\(path)/\(Self.valuesPrefix)\(String(generation, radix: 16))"
    }

    /// Makes the directory and those above it, for this user only.
    func create() throws(DiskFault) {
        var made = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            made += component
            try Self.make(made)
            made += "/"
        }
    }

    /// Checks that only this user and root can have put anything into the directory, or another in its place.
    func checkOwner() throws(DiskFault) {
        guard !allowsForeignOwner else { return }
        var (directory, link) = (stat(), stat())
        guard stat(path, &directory) == 0, lstat(path, &link) == 0 else { throw .system(errno: errno) }
        for owner in [link.st_uid, directory.st_uid] where owner != geteuid() && owner != 0 {
            throw .foreignDirectory(owner: Int(owner))
        }
    }

    /// Makes the folder of the values' files.
    func makeValues(generation: Int64) throws(DiskFault) {
        let folder = valuesPath(generation: generation)
        if isObstructed(folder) { throw .obstacle(path: folder) }
        try Self.make(folder)
    }

    /// Makes sure that SQLite, which follows links and waits for pipes, finds files, or none.
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

    /// Takes what an older cache gave to others away from them, if it is this user's.
    func restrict() {
        guard indexIdentity != nil else { return }
        Self.restrict(path, to: 0o700)
        for suffix in [""] + Self.indexSuffixes { Self.restrict(indexPath + suffix, to: 0o600) }
        for name in Self.names(in: path) where name.hasPrefix(Self.valuesPrefix) {
            Self.restrict("\(path)/\(name)", to: 0o700)
        }
    }

    /// By name: opening and closing the index would give up the locks of its connections.
    private static func restrict(_ path: String, to mode: mode_t) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT != S_IFLNK,
            status.st_mode & 0o077 != 0
        else { return }
        chmod(path, mode)
    }

    /// Runs `body` while no other process or thread does the same for this directory.
    func withExclusiveLock<Result>(_ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        let descriptor = try holdLock()
        // Closing gives the lock back; so does the kernel when the process dies.
        defer { close(descriptor) }
        return try body()
    }

    private func holdLock() throws(DiskFault) -> Int32 {
        for _ in 0..<Self.lockRoundCount {
            let lock = try openLock()
            if lock.identity == Self.identity(lockPath) { return lock.descriptor }
            // Another process may have moved it aside. Some file systems never give the same answer twice.
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

    /// Runs `body` as ``withExclusiveLock(_:)`` does, also in a directory that can only be read; without a lock
    /// file, no process holds the lock.
    func withReadersLock<Result>(_ body: () throws(DiskFault) -> Result) throws(DiskFault) -> Result {
        guard isReadOnly else { return try withExclusiveLock(body) }
        let descriptor = try? RegularFile.open(lockPath, O_RDONLY)
        defer { if let descriptor { close(descriptor) } }
        while let descriptor, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return try body()
    }

    /// Whether this process may change nothing in it, as it is another user's, or on a file system mounted like that.
    var isReadOnly: Bool { access(path, W_OK) != 0 && [EACCES, EROFS, EPERM].contains(errno) }

    /// What tells whether an index has been written since, for readers that SQLite does not tell; `nil` while there is a
    /// log, without which the index may be half of one.
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

    /// What tells one index file from another at the same path; `nil` when there is none.
    var indexIdentity: FileIdentity? { Self.identity(indexPath) }
    /// The same of the index's log.
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

    /// More bytes than any cache holds (1 PiB), and few enough that sums of such numbers can't overflow.
    static let largestByteCount: Int64 = 1 << 50

    /// A number of bytes as an index has it, whose pages may be damaged; sums of such numbers can't overflow.
    static func possibleByteCount(_ stored: Int64) -> Int64 { min(max(0, stored), largestByteCount) }

    /// What the file system has left for this user, in bytes; at most ``largestByteCount``.
    var freeByteCount: Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Self.byteCount(blockCount: UInt64(status.f_bavail), blockSize: UInt64(status.f_frsize))
    }

    /// File systems without an end, such as those in front of object stores, report as many blocks as fit the number.
    static func byteCount(blockCount: UInt64, blockSize: UInt64) -> Int64 {
        let (bytes, overflows) = blockCount.multipliedReportingOverflow(by: blockSize)
        return overflows ? largestByteCount : min(Int64(clamping: bytes), largestByteCount)
    }

    /// Moves a damaged index aside; the one moved aside before is deleted, so that only the last is kept.
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

    /// Whether something has the path that can't be what the cache has there: no folder of values, and no file.
    func isObstructed(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        let isFolder =
            path.utf8.dropFirst(self.path.utf8.count + 1).starts(with: Self.valuesPrefix.utf8)
            && !path.utf8.dropFirst(self.path.utf8.count + 1).contains(UInt8(ascii: "/"))
        return status.st_mode & S_IFMT != (isFolder ? S_IFDIR : S_IFREG)
    }

    /// Moves something aside that has the name of one of the cache's files; where it is now.
    func moveAside(_ obstacle: String) throws(DiskFault) -> String {
        let prefix = "aside-"
        let numbers = Self.names(in: path).compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }
        let target = "\(path)/\(prefix)\((numbers.max() ?? 0) + 1)"
        guard rename(obstacle, target) == 0 else { throw .system(errno: errno) }
        // The log of an index that was there before would be taken for the next one's.
        if obstacle == indexPath { for suffix in Self.indexSuffixes { unlink(indexPath + suffix) } }
        return target
    }

    /// Deletes the index with its log or journal, which would be taken for the next one's.
    func removeIndex() {
        for suffix in [""] + Self.indexSuffixes { unlink(indexPath + suffix) }
    }

    /// Differs each time the machine starts; empty when the system does not tell.
    static let bootIdentity = String((TextFile.contents("/proc/sys/kernel/random/boot_id") ?? "").prefix(36))

    /// Deletes the files in a folder of values that is no longer used, and the folder.
    static func removeValues(_ folder: String) {
        for file in names(in: folder, followsLinks: false) { unlink("\(folder)/\(file)") }
        rmdir(folder)
    }

    /// - Parameter followsLinks: whether the path may be that of a link to a directory; else that has no names.
    static func names(in path: String, followsLinks: Bool = true) -> [String] {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW))
        guard descriptor >= 0 else { return [] }
        guard let directory = fdopendir(descriptor) else {
            close(descriptor)
            return []
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// Why an operation on the disk failed, before it is decided what to do about it.
enum DiskFault: Error {
    case system(errno: Int32)
    case index(code: Int32, message: String)
    /// The index was made by an older version of this library, and is of no use.
    case olderIndex
    /// Something that is no regular file has the name of one of the cache's.
    case obstacle(path: String)
    /// The directory belongs to another user.
    case foreignDirectory(owner: Int)
    /// The file to which values were to be added is gone, or shorter than the index has it.
    case missingSegment

    init(_ failure: RegularFile.Failure, path: String) {
        self = failure.isObstacle ? .obstacle(path: path) : .system(errno: failure.errno)
    }

    /// The index file is damaged, or none at all.
    var isCorruption: Bool {
        if case .index(let code, _) = self { return [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }
        return false
    }

    /// SQLite did not find the tables and columns that a statement names, or found those that it is to make. That is so
    /// when the file was made by another program, or by half, and shows when the statements are prepared.
    var isForeignSchema: Bool {
        if case .index(let code, _) = self { return code & 0xFF == SQLITE_ERROR }
        return false
    }

    /// The file system, or the user's share of it, has no space left.
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

    /// The same may succeed now that something has been done about the fault.
    var isWorthRepeating: Bool {
        switch self {
        case .missingSegment, .obstacle: true
        default: isLocked
        }
    }

    /// The next operation may succeed.
    var isPassing: Bool { isLocked || isFullDisk }

    /// What the client is told.
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
