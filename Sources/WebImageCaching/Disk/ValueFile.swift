internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Values in files of their own. Plain system calls: Foundation syncs every file it writes to the disk.
enum ValueFile {
    /// Writes a new file; one that was left there by accident is replaced. A file that failed half-way is removed.
    static func write(_ data: Data, to path: String) throws(DiskFault) {
        let descriptor = try make(path)
        var failure: Int32?
        data.withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, _ in Glibc.write(descriptor, rest.baseAddress, rest.count) }
            } catch {
                failure = error.errno
            }
        }
        // Network file systems report a full disk here.
        if close(descriptor) != 0, failure == nil { failure = errno }
        if let failure {
            unlink(path)
            throw .system(errno: failure)
        }
    }

    /// A file that nobody has under another name: one that is there already goes first.
    private static func make(_ path: String) throws(DiskFault) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do throws(RegularFile.Failure) {
            do throws(RegularFile.Failure) {
                return try RegularFile.open(path, flags)
            } catch let failure where failure.errno == EEXIST {
                if RegularFile.isObstructed(path) { throw RegularFile.Failure(errno: EOPNOTSUPP) }
                unlink(path)
                return try RegularFile.open(path, flags)
            }
        } catch {
            throw DiskFault(error, path: path)
        }
    }

    /// The contents; `nil` when there is no such file, or it is not `byteCount` long.
    static func read(_ path: String, byteCount: Int64) throws(DiskFault) -> Data? {
        guard let descriptor = try open(path) else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno: errno) }
        guard status.st_size == byteCount else { return nil }
        return try read(descriptor, at: 0, byteCount: Int(byteCount))
    }

    /// Opens a file for reading; `nil` when there is none, or something else has its name.
    static func open(_ path: String) throws(DiskFault) -> Int32? {
        do throws(RegularFile.Failure) {
            return try RegularFile.open(path, O_RDONLY)
        } catch {
            if error.errno == ENOENT || error.isObstacle { return nil }
            throw .system(errno: error.errno)
        }
    }

    /// So many bytes of an open file; `nil` when it does not reach so far.
    static func read(_ descriptor: Int32, at offset: Int64, byteCount: Int) throws(DiskFault) -> Data? {
        guard let bytes = malloc(max(1, byteCount)) else { throw .system(errno: ENOMEM) }
        var received = 0
        while received < byteCount {
            let count = pread(descriptor, bytes + received, byteCount - received, off_t(offset) + off_t(received))
            if count > 0 {
                received += count
            } else if count == 0 || errno != EINTR {
                let failure = errno
                free(bytes)
                if count == 0 { return nil }
                throw .system(errno: failure)
            }
        }
        return Data(bytesNoCopy: bytes, count: byteCount, deallocator: .free)
    }
}
