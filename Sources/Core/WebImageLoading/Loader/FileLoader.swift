public import FoundationEssentials
internal import Glibc
internal import SystemText
public import WebImageCore

/// Loads `file:` URLs, piece by piece, on its own threads.
///
/// ```swift
/// let loaders: ImageLoaderGroup = [FileLoader.chosenFiles, DataURLLoader(), ImageDownloader.shared]
/// ```
///
/// Only regular files are read, also through symbolic links: a named pipe or a device could block forever.
public final class FileLoader: ImageLoader {
    /// The largest file accepted, in bytes; larger ones fail with
    /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``.
    public let maximumByteCount: Int64
    /// Longer files must begin like an image: a sparse file or the image of a disk is refused, and not copied as a whole.
    static let unrecognizedByteCount: Int64 = 200 << 20

    /// Two, so that a slow file (on a network mount) does not block all others.
    private static let queue = WorkQueue(label: "webimage-file", threadCount: 2)

    /// Longer files are read in place; others are copied to memory, where nothing changes them.
    static let copiedByteCount: Int64 = 8 << 20

    /// Whether long files are read in place, as ``MappedFile`` does, instead of being copied.
    private let readsInPlace: Bool

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - maximumByteCount: 200 MiB by default, as for the downloader; `.max` where users choose files.
    ///   - readsInPlace: whether files of more than 8 MiB are mapped into memory instead of copied; `false` by default. It is for
    ///     programs: a handler for SIGBUS is installed, since another process may shorten a mapped file.
    public init(maximumByteCount: Int64 = 200 << 20, readsInPlace: Bool = false) {
        self.maximumByteCount = maximumByteCount
        self.readsInPlace = readsInPlace
    }

    /// Loads the files that the user of a program chooses: they may have any length, and are read in place.
    public static let chosenFiles = FileLoader(maximumByteCount: .max, readsInPlace: true)

    /// Whether the scheme is `file`.
    public func canLoad(_ url: URL) -> Bool { url.hasScheme("file") }

    /// `false`: files on the disk need no copy there.
    public func isCacheable(_ url: URL) -> Bool { false }

    /// Starts to read; see ``ImageLoader/load(_:priority:handler:)``.
    ///
    /// It reports ``WebImageError/file(path:errno:)`` with `EISDIR` for a directory and `EOPNOTSUPP` for anything else
    /// that is not a regular file, ``WebImageError/ResponseFailure/emptyBody``,
    /// ``WebImageError/ResponseFailure/bodyTooLong(byteCount:limit:)``,
    /// ``WebImageError/unrecognizedFormat(contentType:leadingBytes:url:)`` for a file of more than 200 MiB that does not
    /// begin like an image, and ``WebImageError/ResponseFailure/truncated(expected:received:)`` for a file that shrinks
    /// while it is read. A paused load blocks no thread. A task that is released while paused closes its file and reports nothing more.
    public func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let reading = FileReading(
            request, limit: maximumByteCount, readsInPlace: readsInPlace, priority: priority, queue: Self.queue,
            handler: handler)
        reading.start()
        return reading
    }
}

/// Reads one file for a handler.
///
///     queued ──► running ──► ended
///       ▲           │ a pause
///       └── resume, ▼
///           cancel  paused: on no thread, the file open where it stopped
///
/// It has at most one item in the queue at any time, so that its events are serial.
final class FileReading: PausableTask {
    typealias Handler = @Sendable (LoaderEvent) -> Void

    private struct State {
        /// `nil` after the end, so that a kept task releases it.
        var handler: Handler?
        var priority: LoadPriority
        /// Waits or runs; `nil` while paused.
        var item: WorkItem?
        var file: OpenFile?
        var isPaused = false
        var isCancelled = false
    }

    private static let pieceByteCount = 256 << 10

    private let request: LoaderRequest
    private let maximumByteCount: Int64
    private let readsInPlace: Bool
    private let queue: WorkQueue
    private let state: Lock<State>

    init(
        _ request: LoaderRequest, limit: Int64, readsInPlace: Bool, priority: LoadPriority, queue: WorkQueue,
        handler: @escaping Handler
    ) {
        self.request = request
        self.readsInPlace = readsInPlace
        self.queue = queue
        maximumByteCount = limit
        state = Lock(State(handler: handler, priority: priority))
    }

    /// A task released while paused cannot be resumed.
    deinit { state.withLock { $0.file }?.close() }

    private var url: URL { request.url }

    func start() { state.withLock { submit(&$0) } }

    // MARK: LoaderTask

    /// It still waits in the queue, at the highest priority, to report its end on one of the queue's threads.
    func cancel() {
        state.withLock { state in
            guard state.handler != nil, !state.isCancelled else { return }
            state.isCancelled = true
            state.priority = .veryHigh
            if let item = state.item { item.setPriority(.veryHigh) } else { submit(&state) }
        }
    }

    func setPriority(_ priority: LoadPriority) {
        state.withLock { state in
            guard !state.isCancelled else { return }
            state.priority = priority
            state.item?.setPriority(priority)
        }
    }

    func pause() { state.withLock { $0.isPaused = true } }

    func resume() {
        state.withLock { state in
            state.isPaused = false
            if state.item == nil, state.handler != nil { submit(&state) }
        }
    }

    // MARK: Work

    /// Called under the lock, so that `run`, which takes the lock first, finds its item stored.
    private func submit(_ state: inout State) {
        state.item = queue.submit(priority: state.priority) { self.run() }
    }

    private func run() {
        guard let handler = state.withLock({ $0.handler }) else { return }
        do throws(WebImageError) {
            var file = try openFile(handler)
            while request.method == .get, !file.isAtEnd {
                guard try continues(from: file) else { return }
                let isFirst = file.readByteCount == 0
                let isInPlace = isFirst && readsInPlace && file.byteCount > FileLoader.copiedByteCount
                let mapped = isInPlace ? file.mapped() : nil
                let piece = if let mapped { mapped } else { try file.readPiece(atMost: Self.pieceByteCount) }
                guard !piece.isEmpty else {
                    throw .invalidResponse(
                        reason: .truncated(expected: file.byteCount, received: file.readByteCount), url: url)
                }
                if isFirst, !request.acceptsAnyAnswer, file.byteCount > FileLoader.unrecognizedByteCount,
                    ImageFormat(signatureOf: piece) == nil
                {
                    throw .unrecognizedFormat(contentType: nil, leadingBytes: Array(piece.prefix(16)))
                }
                handler(.bytes(piece))
            }
            end(.success(()))
        } catch {
            end(.failure(error))
        }
    }

    /// Returns the open file, or opens and announces it.
    private func openFile(_ handler: Handler) throws(WebImageError) -> OpenFile {
        let (known, isCancelled) = state.withLock { ($0.file, $0.isCancelled) }
        if isCancelled { throw .cancelled }
        if let known { return known }
        if let refusal = request.refusalToChange(url) { throw refusal }
        let file = try OpenFile(try path)
        state.withLock { $0.file = file }
        guard file.byteCount <= maximumByteCount else {
            throw .invalidResponse(reason: .bodyTooLong(byteCount: file.byteCount, limit: maximumByteCount), url: url)
        }
        handler(.response(LoaderResponse(url: url, expectedByteCount: file.byteCount)))
        guard !file.isAtEnd || request.method == .head || request.acceptsAnyAnswer else {
            throw .file(path: try path.description, errno: ENODATA)
        }
        return file
    }

    private var path: SystemString {
        get throws(WebImageError) {
            guard let path = SystemString(fileURL: url) else { throw .invalidURL(url.absoluteString) }
            return path
        }
    }

    /// Returns whether to read the next piece now. If not, stores `file` for the next run and leaves the thread.
    private func continues(from file: OpenFile) throws(WebImageError) -> Bool {
        try state.withLock { state throws(WebImageError) in
            if state.isCancelled { throw .cancelled }
            guard state.isPaused else { return true }
            state.file = file
            state.item = nil
            return false
        }
    }

    private func end(_ result: Result<Void, WebImageError>) {
        let (file, handler) = state.withLock { state in
            state.item = nil
            return (state.file.take(), state.handler.take())
        }
        file?.close()
        handler?(.finished(result))
    }
}

/// An open regular file and the read position. ``close()`` must be called.
struct OpenFile: Sendable {
    let byteCount: Int64
    private(set) var readByteCount: Int64 = 0
    /// For errors.
    private let path: String
    private let descriptor: Int32

    init(_ file: SystemString) throws(WebImageError) {
        path = file.description
        // Checked before it is opened, since opening a device can have effects. O_NONBLOCK in case it has become a
        // pipe.
        var status = stat()
        guard file.withCString({ stat($0, &status) }) == 0 else { throw .file(path: path, errno: errno) }
        try Self.checkIsRegular(status, path: path)
        let descriptor = file.withCString { Glibc.open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        do throws(WebImageError) {
            guard fstat(descriptor, &status) == 0 else { throw .file(path: path, errno: errno) }
            try Self.checkIsRegular(status, path: path)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        byteCount = Int64(status.st_size)
        self.descriptor = descriptor
    }

    var isAtEnd: Bool { readByteCount >= byteCount }

    func close() { Glibc.close(descriptor) }

    /// Returns the next `limit` bytes, or fewer at the end; none if the file has shrunk.
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

    /// Returns all bytes in place; `nil` if they cannot be mapped.
    mutating func mapped() -> Data? {
        guard let count = Int(exactly: byteCount), let data = MappedFile.data(of: descriptor, byteCount: count) else {
            return nil
        }
        readByteCount = byteCount
        return data
    }

    private static func checkIsRegular(_ status: stat, path: String) throws(WebImageError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .file(path: path, errno: EISDIR)
        default: throw .file(path: path, errno: EOPNOTSUPP)
        }
    }
}
