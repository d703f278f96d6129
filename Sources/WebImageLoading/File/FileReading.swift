internal import FoundationEssentials
internal import WebImageCore

/// One file on its way to a handler.
///
///     queued ──► running ──► ended
///       ▲           │ a pause
///       └── resume, ▼
///           cancel  paused: on no thread, the file open where it stopped
///
/// At most one item of the queue is its own at any time, so that its events come one after the other.
final class FileReading: LoaderTask {
    typealias Handler = @Sendable (LoaderEvent) -> Void

    private struct State {
        /// `nil` after the end: a task that is kept keeps nothing else.
        var handler: Handler?
        var priority: LoadPriority
        /// The work that waits or runs; `nil` while paused.
        var item: WorkItem?
        var file: OpenFile?
        var isPaused = false
        var isCancelled = false
    }

    private static let pieceByteCount = 256 << 10

    private let request: LoaderRequest
    private let maximumByteCount: Int64
    private let queue: WorkQueue
    private let state: Lock<State>

    init(
        _ request: LoaderRequest, limit: Int64, priority: LoadPriority, queue: WorkQueue, handler: @escaping Handler
    ) {
        self.request = request
        self.queue = queue
        maximumByteCount = limit
        state = Lock(State(handler: handler, priority: priority))
    }

    /// Let go of while paused: nobody can resume it.
    deinit { state.withLock { $0.file }?.close() }

    private var url: URL { request.url }

    func start() { state.withLock { submit(&$0) } }

    // MARK: LoaderTask

    /// It still waits for its turn, ahead of the rest, to report its end on a thread of the queue like any other.
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

    /// Under the lock, so that the work, which takes it first, finds itself noted.
    private func submit(_ state: inout State) {
        state.item = queue.submit(priority: state.priority) { self.run() }
    }

    private func run() {
        guard let handler = state.withLock({ $0.handler }) else { return }
        do throws(WebImageError) {
            var file = try openFile(handler)
            while request.method == .get, !file.isAtEnd {
                guard try goesOn(from: file) else { return }
                let piece = try file.readPiece(atMost: Self.pieceByteCount)
                guard !piece.isEmpty else {
                    throw .truncated(expected: file.byteCount, received: file.readByteCount, url: url)
                }
                handler(.bytes(piece))
            }
            end(.success(()))
        } catch {
            end(.failure(error))
        }
    }

    /// The file where it stopped, or opened and announced.
    private func openFile(_ handler: Handler) throws(WebImageError) -> OpenFile {
        let (known, isCancelled) = state.withLock { ($0.file, $0.isCancelled) }
        if isCancelled { throw .cancelled }
        if let known { return known }
        if let refusal = request.refusalToChange(url) { throw refusal }
        let file = try OpenFile(try path)
        state.withLock { $0.file = file }
        guard file.byteCount <= maximumByteCount else {
            throw .responseTooLarge(byteCount: file.byteCount, limit: maximumByteCount, url: url)
        }
        handler(.response(LoaderResponse(url: url, expectedByteCount: file.byteCount)))
        guard !file.isAtEnd || request.method == .head || request.acceptsAnyAnswer else { throw .emptyBody(url: url) }
        return file
    }

    /// Only this machine's files: `file://host/…` would be another's.
    private var path: String {
        get throws(WebImageError) {
            let path = url.path(percentEncoded: false)
            guard ["", "localhost"].contains(url.host() ?? ""), path.hasPrefix("/"), !path.utf8.contains(0) else {
                throw .invalidURL(url.absoluteString)
            }
            return path
        }
    }

    /// Whether to read the next piece now; otherwise the thread is given back, and `file` kept for the one that reads on.
    private func goesOn(from file: OpenFile) throws(WebImageError) -> Bool {
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
