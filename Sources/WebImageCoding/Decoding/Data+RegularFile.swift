package import FoundationEssentials
internal import Glibc
package import WebImageCore

extension Data {
    /// Reads a regular file: not a directory, pipe or device. Blocks.
    ///
    /// - Parameter limit: the most bytes to read.
    package init(contentsOfRegularFile path: String, upTo limit: Int = .max) throws(WebImageError) {
        // Nonblocking, so that opening a pipe doesn't wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .file(path: path, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EOPNOTSUPP)
        }
        // Not `Data(count:)`, which traps if there isn't enough memory: a sparse file can have any length.
        let byteCount = Swift.min(limit, Int(status.st_size))
        guard let bytes = malloc(Swift.max(1, byteCount)) else {
            throw .outOfResources(reason: .memory(byteCount: byteCount))
        }
        var count = 0
        while count < byteCount {
            let readCount = read(descriptor, bytes + count, byteCount - count)
            if readCount < 0, errno == EINTR { continue }
            guard readCount >= 0 else {
                let number = errno
                free(bytes)
                throw .file(path: path, errno: number)
            }
            // The file has shrunk.
            if readCount == 0 { break }
            count += readCount
        }
        self.init(bytesNoCopy: bytes, count: count, deallocator: .free)
    }
}
