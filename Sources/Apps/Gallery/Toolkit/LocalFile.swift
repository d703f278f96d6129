import FoundationEssentials
import Glibc
import WebImageGTK

/// What is read of a file without reading all of it. Each function blocks the thread.
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

    /// Returns the bytes of a regular file; `nil` if it cannot be read. A long one is read where it is.
    static func content(_ file: URL, _ cancellation: Cancellation) -> Data? {
        let descriptor = file.filePath.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        // Not a pipe, which must not be read twice.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let byteCount = Int(status.st_size)
        if byteCount > 8 << 20, let data = MappedFile.data(of: descriptor, byteCount: byteCount) { return data }
        return try? Data(contentsOfFile: "/proc/self/fd/\(descriptor)", cancellation: cancellation)
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
