import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// The properties and contents of files besides images. Each function blocks the thread.
enum LocalFile {
    /// Returns when a file was modified; `nil` if it does not exist.
    static func modified(_ file: URL) -> Date? {
        status(file).map { Date(timeIntervalSince1970: Double($0.st_mtim.tv_sec) + Double($0.st_mtim.tv_nsec) / 1e9) }
    }

    /// Returns the length of a file; `nil` if it does not exist.
    static func byteCount(_ file: URL) -> Int? { status(file).map { Int($0.st_size) } }

    private static func status(_ file: URL) -> stat? {
        var status = stat()
        return file.filePath.withCString { stat($0, &status) } == 0 ? status : nil
    }

    /// Returns all bytes of a file.
    ///
    /// - Parameter allowsStreams: whether it may be a pipe, which is read to its end. By default only a regular file is read.
    static func content(
        _ path: SystemString, allowsStreams: Bool = false, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Data {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | (allowsStreams ? 0 : O_NONBLOCK)) }
        guard descriptor >= 0 else { throw .file(path: path.description, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard allowsStreams || fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG else {
            throw .file(path: path.description, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EOPNOTSUPP)
        }
        var (data, part) = (Data(), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            try cancellation?.check()
            let count = read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file(path: path.description, errno: errno) }
            if count == 0 { return data }
            data.append(contentsOf: part[..<count])
        }
    }

    /// Returns the first bytes of a file; `nil` if it has none. Does not wait for a pipe.
    static func prefix(_ file: URL, byteCount: Int) -> Data? {
        let descriptor = file.filePath.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? Data(bytes[..<count]) : nil
    }
}
