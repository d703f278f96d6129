public import FoundationEssentials
public import WebImageCore

extension ImageLoader {
    /// Loads `request` piece by piece, no faster than the pieces are read.
    ///
    /// ```swift
    /// let bytes = try await ImageDownloader.shared.bytes(for: LoaderRequest(url: url))
    /// for try await piece in bytes { try file.write(contentsOf: piece) }
    /// ```
    ///
    /// Over HTTP/1.1 memory is flat. Over HTTP/2, libcurl itself takes up to 32 MiB, the window it announces, each time it goes
    /// on: about 128 MB were measured for one paused transfer, whatever its length.
    ///
    /// - Parameter bufferByteLimit: how many bytes may wait to be read; 512 KiB, and a piece or two more. Beyond it the
    ///   transfer is paused, and the server with it, until a quarter is left.
    /// - Returns: as soon as the head of the answer is there. Dropping it, or cancelling the task that reads it, cancels the
    ///   load.
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

/// The body of an answer in pieces, for one reader; see ``ImageLoader/bytes(for:priority:bufferByteLimit:)``.
public struct LoaderBytes: AsyncSequence, Sendable {
    /// The head of the answer.
    public let response: LoaderResponse
    let session: Session

    /// How the transfer went; `nil` until its last piece is there, and for a loader that does not measure.
    public var metrics: LoaderMetrics? { session.inbox.metrics }

    /// Reads on from where the last iterator stopped.
    public func makeAsyncIterator() -> Iterator { Iterator(session: session) }

    /// Reads the pieces.
    public struct Iterator: AsyncIteratorProtocol {
        let session: Session

        /// The next piece; `nil` after the last.
        ///
        /// - Throws: what went wrong, ``WebImageError/cancelled`` after a cancel; the pieces before it are good, but the
        ///   body is not complete.
        public mutating func next() async throws(WebImageError) -> Data? {
            try await next(isolation: nil)
        }

        /// The next piece; see ``next()``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebImageError) -> Data? {
            let inbox = session.inbox
            let result = await withTaskCancellationHandler(
                operation: { await inbox.next() }, onCancel: { inbox.task.cancel() }, isolation: actor)
            return try result.get()
        }
    }

    /// Ties a load to its readers: when they go, it is given up. A load that has ended does not mind.
    final class Session: Sendable {
        let inbox: ByteInbox

        init(inbox: ByteInbox) { self.inbox = inbox }

        deinit { inbox.task.cancel() }
    }
}

/// Bytes that one reader has not read yet.
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

        /// What its reader gets of the head; `nil` when it must wait.
        var head: Head? {
            if let response { return .success(response) }
            return end.map { end in end.flatMap { .failure(.cancelled) } }
        }

        /// What the reader gets next; `nil` when it must wait.
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
            case .queued, .started, .retrying, .waited, .attemptFailed, .refused: break
            case .metrics(let metrics): state.metrics = metrics
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

    /// The next piece. One reader at a time: a second one gets ``WebImageError/cancelled``.
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

    /// The reader may have emptied the buffer, and resumed the load, between the look at it and this.
    private func pauseWhileFull() {
        task.pause()
        if state.withLock({ $0.byteCount <= highWater / 4 }) { task.resume() }
    }
}
