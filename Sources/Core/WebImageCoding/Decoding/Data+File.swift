package import FoundationEssentials
internal import Glibc
package import SystemText
package import WebImageCore

extension Data {
    /// Reads a file. Blocks.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of bytes to read.
    ///   - allowsStreams: whether the file may be a pipe or a device, which are read to their end. By default only a regular
    ///     file is read.
    ///   - cancellation: checked before each part of a megabyte.
    package init(
        contentsOfFile file: SystemString, upTo limit: Int = .max, allowsStreams: Bool = false,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        // For errors.
        let path = file.description
        // Nonblocking, so that opening a pipe that is refused does not wait for a writer.
        let descriptor = file.withCString { open($0, O_RDONLY | O_CLOEXEC | (allowsStreams ? 0 : O_NONBLOCK)) }
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        guard isRegular || allowsStreams else {
            throw .file(path: path, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EOPNOTSUPP)
        }
        var bytes = FileBytes()
        // A sparse file can have any length.
        try bytes.reserve(Swift.min(limit, isRegular ? Int(status.st_size) : FileBytes.partLength))
        while bytes.count < limit {
            if bytes.count == bytes.capacity {
                // A file that is longer now has the bytes of its former length.
                if !allowsStreams { break }
                try bytes.reserve(Swift.min(limit, Swift.max(FileBytes.partLength, bytes.capacity * 2)))
            }
            try cancellation?.check()
            guard let count = bytes.readPart(from: descriptor) else { throw .file(path: path, errno: errno) }
            // The end; that of a regular file, if it has shrunk.
            if count == 0 { break }
        }
        self = bytes.release()
    }

    /// Like the initializer above, for a path in UTF-8.
    package init(
        contentsOfFile path: String, upTo limit: Int = .max, allowsStreams: Bool = false,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        try self.init(
            contentsOfFile: SystemString(path), upTo: limit, allowsStreams: allowsStreams, cancellation: cancellation)
    }
}

/// Bytes that are read from a file. Unlike those of `Data(count:)`, a lack of memory is an error.
private struct FileBytes: ~Copyable {
    private var start: UnsafeMutableRawPointer?
    private(set) var count = 0
    private(set) var capacity = 0

    static let partLength = 1 << 20

    deinit { free(start) }

    mutating func reserve(_ byteCount: Int) throws(WebImageError) {
        guard let new = realloc(start, Swift.max(1, byteCount)) else {
            throw .outOfResources(reason: .memory(byteCount: byteCount))
        }
        (start, capacity) = (new, byteCount)
    }

    /// Returns the number of bytes that were read, 0 at the end; `nil` after an error, which is in `errno`.
    mutating func readPart(from descriptor: Int32) -> Int? {
        guard let start else { return 0 }
        var partCount: Int
        repeat {
            partCount = read(descriptor, start + count, Swift.min(capacity - count, Self.partLength))
        } while partCount < 0 && errno == EINTR
        guard partCount >= 0 else { return nil }
        count += partCount
        return partCount
    }

    /// Returns the bytes, without a copy.
    mutating func release() -> Data {
        guard let start else { return Data() }
        self.start = nil
        return Data(bytesNoCopy: start, count: count, deallocator: .free)
    }
}
