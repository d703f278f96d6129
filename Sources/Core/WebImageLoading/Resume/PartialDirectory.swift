internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The directory of partial bodies. Files are accessed through its descriptor, so that the directory cannot be replaced
/// meanwhile. Files of other users in it are never touched.
struct PartialDirectory: Sendable {
    let path: String

    /// The suffix of file names, after 64 hexadecimal digits.
    static let suffix = ".partial"

    private static func isName(_ name: String) -> Bool {
        name.hasSuffix(suffix) && name.utf8.count == 64 + suffix.utf8.count
            && name.utf8.prefix(64).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Calls `body` with a descriptor of the directory; `nil` if it does not exist or is not exclusively this user's.
    ///
    /// - Parameter creates: whether to create it and its parent directories, for this user only.
    func withDescriptor<Result>(creates: Bool = false, _ body: (Int32) -> Result?) -> Result? {
        var directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if directory < 0, errno == ENOENT, creates {
            try? FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard directory >= 0 else { return nil }
        defer { close(directory) }
        var status = stat()
        guard fstat(directory, &status) == 0, status.st_uid == geteuid() else { return nil }
        guard status.st_mode & 0o077 == 0 || fchmod(directory, 0o700) == 0 else { return nil }
        return body(directory)
    }

    /// Opens a file of the directory and locks it for this load.
    ///
    /// - Returns: a descriptor. `nil` if the file does not exist and `creates` is `false`, if another process or load
    ///   holds it, and if the name belongs to something that is not a regular file.
    static func openLocked(_ name: String, in directory: Int32, creates: Bool = false) -> Int32? {
        // O_NONBLOCK, in case it is a pipe.
        let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (creates ? O_CREAT : 0)
        let descriptor = openat(directory, name, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        // The kernel releases the lock with the last descriptor, however the process ends. The previous holder of the
        // lock may have deleted the file.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isName(name, of: descriptor, in: directory) else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Deletes a file whose lock is held, unless its name has been deleted already, and may belong to another one.
    @discardableResult
    static func remove(_ name: String, of descriptor: Int32, in directory: Int32) -> Bool {
        isName(name, of: descriptor, in: directory) && unlinkat(directory, name, 0) == 0
    }

    /// Deletes a partial body unless a load holds it; returns whether it was deleted.
    @discardableResult
    static func removeUnused(_ name: String, in directory: Int32) -> Bool {
        guard let descriptor = openLocked(name, in: directory) else { return false }
        defer { close(descriptor) }
        return unlinkat(directory, name, 0) == 0
    }

    private static func isName(_ name: String, of descriptor: Int32, in directory: Int32) -> Bool {
        var (opened, named) = (stat(), stat())
        return fstat(descriptor, &opened) == 0 && isOurs(opened)
            && fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0
            && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    /// Whether it is a regular file of this user with a single link.
    private static func isOurs(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
    }

    /// Returns the partial bodies, least recently used first.
    func entries(in directory: Int32) -> [(name: String, byteCount: Int64, secondsUnused: Double)] {
        // A separate descriptor, since reading moves its position.
        Directory.names(closing: openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)).compactMap { name in
            var status = stat()
            guard Self.isName(name), fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, Self.isOurs(status)
            else { return nil }
            return (name, Int64(status.st_size), status.secondsUnused)
        }.sorted { $0.secondsUnused > $1.secondsUnused }
    }
}

extension stat {
    /// The time since the last use. Uses set the modification time.
    var secondsUnused: Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec - st_mtim.tv_sec) + Double(now.tv_nsec - st_mtim.tv_nsec) / 1e9
    }
}
