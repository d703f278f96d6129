package import FoundationEssentials
internal import Glibc
package import WebImageCore

extension Data {
    /// The bytes of a file, which must be neither a directory nor a pipe or a device. Blocks.
    ///
    /// - Parameter limit: how many bytes are read of a longer one.
    /// - Throws: ``WebImageError/file(path:errno:)``, ``WebImageError/outOfMemory(byteCount:)``.
    package init(contentsOfRegularFile path: String, upTo limit: Int = .max) throws(WebImageError) {
        // Should it be a pipe, opening it must not wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .file(path: path, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EOPNOTSUPP)
        }
        // Not `Data(count:)`, which ends the process where there is not so much: a file with holes can have any length.
        let byteCount = Swift.min(limit, Int(status.st_size))
        guard let bytes = malloc(Swift.max(1, byteCount)) else { throw .outOfMemory(byteCount: byteCount) }
        var count = 0
        while count < byteCount {
            let readCount = read(descriptor, bytes + count, byteCount - count)
            if readCount < 0, errno == EINTR { continue }
            guard readCount >= 0 else {
                let number = errno
                free(bytes)
                throw .file(path: path, errno: number)
            }
            // It has shrunk.
            if readCount == 0 { break }
            count += readCount
        }
        self.init(bytesNoCopy: bytes, count: count, deallocator: .free)
    }
}
