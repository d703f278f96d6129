internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// A regular file open for reading, and how far it has been read. Whoever has opened it closes it.
struct OpenFile: Sendable {
    let byteCount: Int64
    private(set) var readByteCount: Int64 = 0
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws(WebImageError) {
        // Looked at before it is opened: opening a device can do something. O_NONBLOCK, should it have become a pipe.
        var status = stat()
        guard stat(path, &status) == 0 else { throw .file(path: path, errno: errno) }
        try Self.checkIsRegular(status, path: path)
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        do throws(WebImageError) {
            guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
            try Self.checkIsRegular(status, path: path)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        byteCount = Int64(status.st_size)
        self.path = path
        self.descriptor = descriptor
    }

    var isAtEnd: Bool { readByteCount >= byteCount }

    func close() { Glibc.close(descriptor) }

    /// The next `limit` bytes, or what is left of them; none where the file has shrunk.
    mutating func readPiece(atMost limit: Int) throws(WebImageError) -> Data {
        let count = Int(min(Int64(limit), byteCount - readByteCount))
        var piece = Data(count: count)
        let readCount = piece.withUnsafeMutableBytes { [descriptor] bytes in
            var result = 0
            repeat { result = Glibc.read(descriptor, bytes.baseAddress, count) } while result < 0 && errno == EINTR
            return result
        }
        guard readCount >= 0 else { throw .file(path: path, errno: errno) }
        readByteCount += Int64(readCount)
        return piece.prefix(readCount)
    }

    private static func checkIsRegular(_ status: stat, path: String) throws(WebImageError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .file(path: path, errno: EISDIR)
        default: throw .file(path: path, errno: EOPNOTSUPP)
        }
    }
}
