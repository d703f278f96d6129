internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage

/// Reads one file for a handler.
///
/// It has at most one item in the queue at any time, so that its events are serial. A paused one is on no thread.
final class GIOReading: PausableTask {
    typealias Handler = @Sendable (LoaderEvent) -> Void

    private struct State {
        /// `nil` after the end, so that a kept task releases it.
        var handler: Handler?
        var priority: LoadPriority
        /// Waits or runs; `nil` while paused.
        var item: WorkItem?
        var file: GIOFile?
        var isPaused = false
        var isCancelled = false
    }

    private static let pieceByteCount = 256 << 10
    /// More than for files on disks, because those of other machines make their thread wait.
    private static let queue = WorkQueue(label: "webimage-gio", threadCount: 4)

    private let request: LoaderRequest
    private let maximumByteCount: Int64
    private let cancellable = GIOObject.newCancellable()
    private let state: Lock<State>

    init(_ request: LoaderRequest, limit: Int64, priority: LoadPriority, handler: @escaping Handler) {
        self.request = request
        maximumByteCount = limit
        state = Lock(State(handler: handler, priority: priority))
    }

    private var url: URL { request.url }

    func start() { state.withLock { submit(&$0) } }

    // MARK: LoaderTask

    /// Ends what blocks the thread. The end is reported on a thread of the queue, as usual.
    func cancel() {
        let isNew = state.withLock { state in
            guard state.handler != nil, !state.isCancelled else { return false }
            state.isCancelled = true
            state.priority = .veryHigh
            if let item = state.item { item.setPriority(.veryHigh) } else { submit(&state) }
            return true
        }
        // Outside the lock, because it calls what waits for it.
        if isNew { g_cancellable_cancel(cancellable?.cancellable) }
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
        state.item = Self.queue.submit(priority: state.priority) { self.run() }
    }

    private func run() {
        guard let handler = state.withLock({ $0.handler }) else { return }
        do throws(WebImageError) {
            guard var file = try openFile(handler) else { return end(.success(())) }
            while try continues(from: file) {
                let piece = try file.readPiece(atMost: Self.pieceByteCount)
                guard !piece.isEmpty else { return end(Result { () throws(WebImageError) in try checkEnd(of: file) }) }
                try checkLength(file.readByteCount)
                handler(.bytes(piece))
            }
        } catch {
            end(.failure(state.withLock { $0.isCancelled } ? .cancelled : error))
        }
    }

    /// Returns the open file, or opens and announces it; `nil` if the response has no body.
    private func openFile(_ handler: Handler) throws(WebImageError) -> GIOFile? {
        let (known, isCancelled) = state.withLock { ($0.file, $0.isCancelled) }
        guard let cancellable, !isCancelled else { throw .cancelled }
        if let known { return known }
        guard [.get, .head].contains(request.method), request.body == nil else {
            let reason = WebImageError.RequestFailure.unsupportedMethod(
                request.method.name, hasBody: request.body != nil)
            throw .invalidRequest(reason: reason, url: url)
        }
        let file = try GIOFile(url, cancellable: cancellable)
        if let tag = file.entityTag,
            request.headers.contains(where: { $0.key.lowercased() == "if-none-match" && $0.value == tag })
        {
            handler(.response(file.response(304)))
            return nil
        }
        if let byteCount = file.byteCount { try checkLength(byteCount) }
        handler(.response(file.response(200)))
        return request.method == .get ? file : nil
    }

    private func checkLength(_ byteCount: Int64) throws(WebImageError) {
        guard byteCount > maximumByteCount else { return }
        throw .invalidResponse(reason: .bodyTooLong(byteCount: byteCount, limit: maximumByteCount), url: url)
    }

    private func checkEnd(of file: GIOFile) throws(WebImageError) {
        guard file.readByteCount > 0 else { throw .invalidResponse(reason: .emptyBody, url: url) }
        guard let expected = file.byteCount, file.readByteCount < expected else { return }
        throw .invalidResponse(reason: .truncated(expected: expected, received: file.readByteCount), url: url)
    }

    /// Returns whether to read the next piece now. If not, stores `file` for the next run and leaves the thread.
    private func continues(from file: GIOFile) throws(WebImageError) -> Bool {
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
        withExtendedLifetime(file) {}
        handler?(.finished(result))
    }
}
