internal import FoundationEssentials
internal import Glibc

/// Values in files of their own. Plain system calls: Foundation syncs every file it writes to the disk.
enum ValueFile {
    /// Writes a new file; one that was left there by accident is replaced. A file that failed half-way is removed.
    static func write(_ data: Data, to path: String) throws(DiskFault) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(errno: errno) }
        var failure: Int32?
        data.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty, failure == nil {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { failure = errno }
            }
        }
        // Network file systems report a full disk here.
        if close(descriptor) != 0, failure == nil { failure = errno }
        if let failure {
            unlink(path)
            throw .system(errno: failure)
        }
    }

    /// The contents; `nil` when the file is missing or not `byteCount` long.
    static func read(_ path: String, byteCount: Int64) throws(DiskFault) -> Data? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno: errno) }
        guard status.st_size == byteCount else { return nil }
        return try read(descriptor, at: 0, byteCount: Int(byteCount))
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

extension Slice<UnsafeRawBufferPointer> {
    fileprivate var baseAddress: UnsafeRawPointer? { UnsafeRawBufferPointer(rebasing: self).baseAddress }
}
