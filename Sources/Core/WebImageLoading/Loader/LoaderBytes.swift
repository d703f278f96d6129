public import FoundationEssentials
public import WebImageCore

extension ImageLoader {
    /// Loads `request` in pieces, no faster than they are read.
    ///
    /// ```swift
    /// let bytes = try await ImageDownloader.shared.bytes(for: LoaderRequest(url: url))
    /// let file = try FileHandle(forWritingTo: folder.appending(path: "photo.jpg"))
    /// for try await piece in bytes { try file.write(contentsOf: piece) }
    /// ```
    ///
    /// Over HTTP/1.1 memory use is constant. Over HTTP/2, libcurl itself buffers up to 32 MiB, its announced window,
    /// each time the transfer resumes. About 128 MB were measured for one paused transfer, regardless of its length.
    ///
    /// - Parameter bufferByteLimit: the number of bytes that may wait to be read; 512 KiB by default, exceeded by a
    ///   piece or two. Above it the transfer is paused, and with it the server, until a quarter is left.
    /// - Returns: the bytes, as soon as the response's head has arrived. Releasing them, or cancelling the task that
    ///   reads them, cancels the load.
    public func bytes(
        for request: LoaderRequest, priority: LoadPriority = .normal, bufferByteLimit: Int = 512 << 10
    ) async throws(WebImageError) -> LoaderBytes {
        let inbox = ByteInbox(limit: bufferByteLimit)
        let session = LoaderBytes.Session(inbox: inbox)
        inbox.task.attach(load(request, priority: priority) { inbox.receive($0) })
        let result = await withTaskCancellationHandler {
            await inbox.response()
        } onCancel: {
            inbox.task.cancel()
        }
        return LoaderBytes(response: try result.get(), session: session)
    }
}

/// The body of a response in pieces, for one reader; see ``ImageLoader/bytes(for:priority:bufferByteLimit:)``.
public struct LoaderBytes: AsyncSequence, Sendable {
    /// The head of the response.
    public let response: LoaderResponse
    let session: Session

    /// The metrics of the transfer; `nil` until its last piece has arrived, and for loaders without metrics.
    var metrics: LoaderMetrics? { session.inbox.metrics }

    /// Continues where the last iterator stopped.
    ///
    /// The iterator throws the error of the load, ``WebImageError/cancelled`` after a cancellation. Earlier pieces are
    /// valid, but the body is incomplete.
    public func makeAsyncIterator() -> some AsyncIteratorProtocol<Data, WebImageError> { Iterator(session: session) }

    private struct Iterator: AsyncIteratorProtocol {
        let session: Session

        mutating func next() async throws(WebImageError) -> Data? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(WebImageError) -> Data? {
            let inbox = session.inbox
            let result = await withTaskCancellationHandler(
                operation: { await inbox.next() }, onCancel: { inbox.task.cancel() }, isolation: actor)
            return try result.get()
        }
    }

    /// Ties a load to its readers: the load is cancelled when they are released. Has no effect on a load that has
    /// ended.
    final class Session: Sendable {
        let inbox: ByteInbox

        init(inbox: ByteInbox) { self.inbox = inbox }

        deinit { inbox.task.cancel() }
    }
}

/// Bytes that the one reader has not read yet.
final class ByteInbox: Sendable {
    typealias Piece = Result<Data?, WebImageError>
    typealias Head = Result<LoaderResponse, WebImageError>

    private struct State {
        var response: LoaderResponse?
        var pieces: [Data] = []
        var firstIndex = 0
        var byteCount = 0
        var end: Result<Void, WebImageError>?
        var metrics: LoaderMetrics?
        var headReader: CheckedContinuation<Head, Never>?
        var reader: CheckedContinuation<Piece, Never>?

        /// The head that the reader receives, or an error; `nil` if it must wait.
        var head: Head? {
            if let response { return .success(response) }
            return end.map { end in end.flatMap { .failure(.cancelled) } }
        }

        /// Returns what the reader receives next; `nil` if it must wait.
        mutating func take() -> Piece? {
            guard firstIndex < pieces.count else { return end.map { $0.map { nil } } }
            let piece = pieces[firstIndex]
            byteCount -= piece.count
            firstIndex += 1
            if firstIndex == pieces.count {
                pieces.removeAll(keepingCapacity: true)
                firstIndex = 0
            } else if firstIndex >= 64 {
                pieces.removeFirst(firstIndex)
                firstIndex = 0
            }
            return .success(piece)
        }
    }

    let task = DeferredTask()
    private let highWater: Int
    private let state = Lock(State())

    init(limit: Int) { highWater = Swift.max(1, limit) }

    var metrics: LoaderMetrics? { state.withLock { $0.metrics } }

    func receive(_ event: LoaderEvent) {
        let (headReader, head, reader, piece, isFull) = state.withLock { state in
            switch event {
            case .response(let response): state.response = response
            case .bytes(let bytes):
                state.pieces.append(bytes)
                state.byteCount += bytes.count
            case .report: if let metrics = event.metrics { state.metrics = metrics }
            case .refused: break
            case .finished(let result): state.end = result
            }
            let head = state.headReader == nil ? nil : state.head
            let headReader = head == nil ? nil : state.headReader
            if head != nil { state.headReader = nil }
            let piece = state.reader == nil ? nil : state.take()
            let reader = piece == nil ? nil : state.reader
            if piece != nil { state.reader = nil }
            return (headReader, head, reader, piece, state.byteCount >= highWater)
        }
        if case .finished = event { task.end() }
        if isFull { pauseWhileFull() }
        if let headReader, let head { headReader.resume(returning: head) }
        if let reader, let piece { reader.resume(returning: piece) }
    }

    func response() async -> Head {
        await withCheckedContinuation { continuation in
            let head = state.withLock { state -> Head? in
                if state.head == nil { state.headReader = continuation }
                return state.head
            }
            if let head { continuation.resume(returning: head) }
        }
    }

    /// Returns the next piece. Only one reader at a time: a second one receives ``WebImageError/cancelled``.
    func next() async -> Piece {
        await withCheckedContinuation { continuation in
            let (piece, isLow) = state.withLock { state -> (Piece?, Bool) in
                let piece = state.reader == nil ? state.take() : .failure(.cancelled)
                if piece == nil { state.reader = continuation }
                return (piece, state.byteCount <= highWater / 4)
            }
            if isLow { task.resume() }
            if let piece { continuation.resume(returning: piece) }
        }
    }

    /// Checks again after pausing, since the reader may have emptied the buffer and resumed the load in between.
    private func pauseWhileFull() {
        task.pause()
        if state.withLock({ $0.byteCount <= highWater / 4 }) { task.resume() }
    }
}
