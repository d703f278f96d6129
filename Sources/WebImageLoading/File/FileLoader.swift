public import FoundationEssentials
public import WebImageCore

/// Loads `file:` URLs, piece by piece, on threads of its own.
///
/// Only regular files are read, also through symbolic links: a named pipe or a device could make it wait for ever.
public final class FileLoader: ImageLoader {
    /// The largest file read, in bytes; larger ones fail with ``WebImageError/responseTooLarge``.
    public let maximumByteCount: Int64

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
    /// and ``WebImageError/truncated(expected:received:url:)`` for a file that shrinks while it is read. A paused load
    /// takes none of its threads; a task let go of while it is paused closes its file, and reports nothing more.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let reading = FileReading(
            request, limit: maximumByteCount, priority: priority, queue: Self.queue, handler: handler)
        reading.start()
        return reading
    }
}
