internal import Glibc

/// Calls of the system on files that somebody else may have replaced.
package enum RegularFile {
    /// What the system refused, by its number.
    package struct Failure: Error {
        package let errno: Int32

        package init(errno: Int32) { self.errno = errno }

        /// Whether something else than a regular file has the name: a link, a directory, a pipe.
        package var isObstacle: Bool { [ELOOP, EISDIR, ENXIO, EOPNOTSUPP].contains(errno) }
    }

    /// Opens a regular file. It never follows a link that has the file's name, and never waits for a pipe.
    ///
    /// - Parameter flags: those of `open`; files that it makes are for this user only.
    /// - Throws: a failure that ``Failure/isObstacle`` where the name is not that of a regular file.
    package static func open(_ path: String, _ flags: Int32) throws(Failure) -> Int32 {
        let descriptor = Glibc.open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(errno: errno) }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        guard isKnown, status.st_mode & S_IFMT == S_IFREG else {
            let failure = isKnown ? EOPNOTSUPP : errno
            close(descriptor)
            throw Failure(errno: failure)
        }
        return descriptor
    }

    /// Whether something has the name that is not a regular file.
    package static func isObstructed(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Writes all bytes.
    ///
    /// - Parameter write: writes the first bytes of what it is given, which begin at that offset of all bytes, and
    ///   returns how many it wrote, or -1 and sets `errno`.
    package static func writeAll(
        _ bytes: UnsafeRawBufferPointer, _ write: (_ rest: UnsafeRawBufferPointer, _ offset: Int) -> Int
    ) throws(Failure) {
        var offset = 0
        while offset < bytes.count {
            let count = write(UnsafeRawBufferPointer(rebasing: bytes[offset...]), offset)
            if count < 0, errno == EINTR { continue }
            // A call that writes nothing sets no number.
            guard count > 0 else { throw Failure(errno: count < 0 ? errno : EIO) }
            offset += count
        }
    }
}
