internal import Glibc

/// System calls for files that another process may have replaced.
package enum RegularFile {
    /// A failed system call, with its error number.
    package struct Failure: Error {
        package let errno: Int32

        package init(errno: Int32) { self.errno = errno }

        /// Whether the name belongs to something other than a regular file: a link, a directory, a pipe.
        package var isObstacle: Bool { [ELOOP, EISDIR, ENXIO, EOPNOTSUPP].contains(errno) }
    }

    /// Opens a regular file. Never follows a symbolic link with that name, and never blocks on a pipe.
    ///
    /// - Parameter flags: the flags of `open`. New files are accessible to this user only.
    /// - Throws: a failure with ``Failure/isObstacle`` set if the name does not belong to a regular file.
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

    /// Whether the name belongs to something other than a regular file.
    package static func isObstructed(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Writes all bytes.
    ///
    /// - Parameter write: writes the first bytes of its argument, which start at `offset` of all bytes. Returns the
    ///   number of bytes written, or -1 and sets `errno`.
    package static func writeAll(
        _ bytes: UnsafeRawBufferPointer, _ write: (_ rest: UnsafeRawBufferPointer, _ offset: Int) -> Int
    ) throws(Failure) {
        var offset = 0
        while offset < bytes.count {
            let count = write(UnsafeRawBufferPointer(rebasing: bytes[offset...]), offset)
            if count < 0, errno == EINTR { continue }
            // A call that writes nothing does not set `errno`.
            guard count > 0 else { throw Failure(errno: count < 0 ? errno : EIO) }
            offset += count
        }
    }
}
