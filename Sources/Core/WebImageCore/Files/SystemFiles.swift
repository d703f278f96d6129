internal import CWebImageSystem
internal import FoundationEssentials
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

    /// Whether the file system of an open file has space for so many more bytes; `nil` if that is not known.
    package static func hasSpace(for byteCount: Int64, on descriptor: Int32) -> Bool? {
        var status = statvfs()
        guard fstatvfs(descriptor, &status) == 0, status.f_blocks > 0 else { return nil }
        let (free, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflows || free >= UInt64(max(0, byteCount))
    }

    /// Fills a buffer with the bytes of an open file from `offset` on. Returns the number of bytes read, which is smaller at the end of the
    /// file.
    package static func readAll(
        _ descriptor: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Failure) -> Int {
        var length = 0
        while length < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[length...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(length))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(errno: errno) }
            if count == 0 { break }
            length += count
        }
        return length
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

/// The entries of a directory.
package enum Directory {
    /// Returns the names in an open directory, except `.` and `..`, and closes it; none if it cannot be read.
    package static func names(closing descriptor: Int32) -> [String] {
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

/// A temporary file without a name. It is deleted with this object, also when the process is killed.
package final class UnnamedFile: Sendable {
    /// Returns a file of that length where this process can create none, as a decoder process; `nil` if there is no disk.
    package static let source = Lock<(@Sendable (_ byteCount: Int) throws(WebImageError) -> UnnamedFile?)?>(nil)

    /// The descriptor, open for reading and writing while this object exists.
    package let descriptor: Int32
    /// The directory of the file.
    package let directory: String

    /// Creates an empty file.
    ///
    /// - Throws: ``WebImageError/ResourceFailure/temporaryFile(directory:errno:)``.
    init(in directory: String = UnnamedFile.defaultDirectory) throws(WebImageError) {
        let descriptor = cwi_open_unnamed_file(directory)
        guard descriptor >= 0 else { throw .outOfResources(reason: .temporaryFile(directory: directory, errno: errno)) }
        self.descriptor = descriptor
        self.directory = directory
    }

    /// Copies a descriptor.
    package init?(copyOf descriptor: Int32, in directory: String) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.descriptor = copy
        self.directory = directory
    }

    deinit { close(descriptor) }

    /// Returns a file of that length, in the first usable directory that is on a disk; `nil` if all are in memory.
    ///
    /// - Parameters:
    ///   - byteCount: the length, for which there is space; 0 for an empty file.
    ///   - directories: ``defaultDirectory`` and `/var/tmp` by default.
    /// - Throws: ``WebImageError/ResourceFailure/temporaryFile(directory:errno:)`` for the last unusable directory.
    package static func onDisk(byteCount: Int = 0, in directories: [String]? = nil) throws(WebImageError)
        -> UnnamedFile?
    {
        var failure: WebImageError?
        for directory in directories ?? [defaultDirectory, "/var/tmp"] {
            do throws(WebImageError) {
                let file = try UnnamedFile(in: directory)
                if file.isInMemory { continue }
                try file.allocate(byteCount)
                return file
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return nil
    }

    private func allocate(_ byteCount: Int) throws(WebImageError) {
        guard byteCount > 0 else { return }
        var limit = rlimit()
        // Beyond this limit the kernel would end the program.
        let isAllowed =
            getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) != 0 || byteCount <= limit.rlim_cur
        let error = isAllowed ? posix_fallocate(descriptor, 0, byteCount) : EFBIG
        if error != 0 { throw .outOfResources(reason: .temporaryFile(directory: directory, errno: error)) }
    }

    /// Gives the space of the file back, also if another process has it open.
    package func clear() { ftruncate(descriptor, 0) }

    /// Whether the file system keeps its files in memory, so that writing there saves none.
    var isInMemory: Bool { cwi_is_in_memory(descriptor) == 1 }

    /// `TMPDIR` if it is set, otherwise `/var/tmp`, since `/tmp` is in memory on many systems.
    package static var defaultDirectory: String {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return path.isEmpty ? "/var/tmp" : path
    }
}

/// Reads the kernel's small text files.
package enum TextFile {
    /// Returns the text, at most 16 KiB; `nil` if the file cannot be read.
    package static func contents(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Returns the numbers of a file whose lines contain a name and a number, with or without a colon between them.
    static func numbers(_ path: String) -> [String: Int] {
        var numbers: [String: Int] = [:]
        for line in contents(path)?.split(separator: "\n") ?? [] {
            let fields = line.split(whereSeparator: { $0 == " " || $0 == ":" })
            guard fields.count > 1, let number = Int(fields[1]) else { continue }
            numbers[String(fields[0])] = number
        }
        return numbers
    }
}
