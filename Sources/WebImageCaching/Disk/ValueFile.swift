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

    /// The contents; `nil` when the file is missing, can't be read, or is not `byteCount` long.
    static func read(_ path: String, byteCount: Int) -> Data? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size == byteCount else { return nil }
        guard let bytes = malloc(max(1, byteCount)) else { return nil }
        var received = 0
        while received < byteCount {
            let count = Glibc.read(descriptor, bytes + received, byteCount - received)
            if count > 0 {
                received += count
            } else if count == 0 || errno != EINTR {
                free(bytes)
                return nil
            }
        }
        return Data(bytesNoCopy: bytes, count: byteCount, deallocator: .free)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate var baseAddress: UnsafeRawPointer? { UnsafeRawBufferPointer(rebasing: self).baseAddress }
}
