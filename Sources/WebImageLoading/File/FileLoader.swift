public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// Loads `file:` URLs, piece by piece, on threads of its own.
///
/// Only regular files are read, also through symbolic links: a named pipe or a device could make it wait for ever.
public final class FileLoader: ImageLoader {
    /// The largest file read, in bytes; larger ones fail with ``WebImageError/responseTooLarge``.
    public let maximumByteCount: Int64

    private static let pieceByteCount = 256 << 10
    /// Disks serve two readers well; a slow one (a network mount) then still leaves one.
    private static let queue = WorkQueue(label: "webimage-file", threadCount: 2)

    /// Makes a loader.
    ///
    /// - Parameter maximumByteCount: as the downloader has it, 200 MiB.
    public init(maximumByteCount: Int64 = 200 << 20) { self.maximumByteCount = maximumByteCount }

    /// Whether the scheme is `file`.
    public func canLoad(_ url: URL) -> Bool { url.scheme?.lowercased() == "file" }

    /// `false`: what is on the disk needs no copy there.
    public func isCacheable(_ url: URL) -> Bool { false }

    /// Starts to read; see ``ImageLoader/load(_:priority:handler:)``.
    ///
    /// It reports ``WebImageError/file(path:errno:)`` with `EISDIR` for a directory and `EOPNOTSUPP` for anything else
    /// that is no regular file, ``WebImageError/emptyBody(url:)``, ``WebImageError/responseTooLarge(byteCount:limit:url:)``,
    /// and ``WebImageError/truncated(expected:received:url:)`` for a file that shrinks while it is read.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let cancellation = Cancellation()
        let (url, limit) = (request.url, maximumByteCount)
        let item = Self.queue.submit(priority: priority) {
            let result = Result { () throws(WebImageError) in
                try cancellation.check()
                try Self.read(url, limit: limit, cancellation: cancellation, handler: handler)
            }
            handler(.finished(result))
        }
        return WorkTask(item: item, cancellation: cancellation)
    }

    private static func read(
        _ url: URL, limit: Int64, cancellation: Cancellation, handler: (LoaderEvent) -> Void
    ) throws(WebImageError) {
        let path = try path(of: url)
        let descriptor = try open(path)
        defer { close(descriptor) }
        let size = try regularFileSize(descriptor, path: path)
        guard size <= limit else { throw .responseTooLarge(byteCount: size, limit: limit, url: url) }
        handler(.response(LoaderResponse(url: url, expectedByteCount: size)))
        guard size > 0 else { throw .emptyBody(url: url) }

        var received: Int64 = 0
        while received < size {
            try cancellation.check()
            let piece = try readPiece(descriptor, atMost: Int(min(Int64(pieceByteCount), size - received)), path: path)
            guard !piece.isEmpty else { throw .truncated(expected: size, received: received, url: url) }
            received += Int64(piece.count)
            handler(.bytes(piece))
        }
    }

    /// Only this machine's files: `file://host/…` would be another's.
    private static func path(of url: URL) throws(WebImageError) -> String {
        let path = url.path(percentEncoded: false)
        guard ["", "localhost"].contains(url.host() ?? ""), path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw .invalidURL(url.absoluteString)
        }
        return path
    }

    private static func open(_ path: String) throws(WebImageError) -> Int32 {
        // Looked at before it is opened: opening a device can do something. O_NONBLOCK, should it have become a pipe.
        var status = stat()
        guard stat(path, &status) == 0 else { throw .file(path: path, errno: errno) }
        try checkIsRegular(status, path: path)
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        return descriptor
    }

    private static func regularFileSize(_ descriptor: Int32, path: String) throws(WebImageError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
        try checkIsRegular(status, path: path)
        return Int64(status.st_size)
    }

    private static func checkIsRegular(_ status: stat, path: String) throws(WebImageError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .file(path: path, errno: EISDIR)
        default: throw .file(path: path, errno: EOPNOTSUPP)
        }
    }

    private static func readPiece(_ descriptor: Int32, atMost count: Int, path: String) throws(WebImageError) -> Data {
        var piece = Data(count: count)
        let readCount = piece.withUnsafeMutableBytes { bytes in
            var result = 0
            repeat { result = Glibc.read(descriptor, bytes.baseAddress, count) } while result < 0 && errno == EINTR
            return result
        }
        guard readCount >= 0 else { throw .file(path: path, errno: errno) }
        return piece.prefix(readCount)
    }
}
