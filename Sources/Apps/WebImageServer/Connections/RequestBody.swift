internal import CWebImageHTTPD
internal import FoundationEssentials
internal import Synchronization

/// The body of a request, in pieces as they arrive. One task reads it.
///
///     connection ─► queue of 64 KiB ─► task
///         ▲            │ full: the connection is not read
///         └────────────┘ space again
///
/// `@unchecked`: the C object has a lock of its own.
final class RequestBody: AsyncSequence, @unchecked Sendable {
    typealias Element = Data
    typealias Failure = any Error

    private struct State {
        var pieces: [Data] = []
        var byteCount = 0
        /// All that have arrived.
        var totalByteCount = 0
        var hasEnded = false
        /// Whether the rest is of no use: the client has left, or has its answer.
        var isDiscarded = false
        var isPaused = false
        var continuation: CheckedContinuation<Void, Never>?

        /// Returns what to resume once the lock is released.
        mutating func wake() -> CheckedContinuation<Void, Never>? { continuation.take() }
    }

    private let handle: OpaquePointer
    private let byteLimit: Int
    private let state = Mutex(State())

    private static let queuedByteLimit = 64 << 10

    /// Takes a reference of its own.
    ///
    /// - Parameter byteLimit: the connection is closed beyond it.
    init(_ handle: OpaquePointer, byteLimit: Int) {
        (self.handle, self.byteLimit) = (handle, byteLimit)
        cwi_request_retain(handle)
    }

    deinit { cwi_request_release(handle) }

    /// Whether all of it has arrived.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    /// The bytes that were not read yet, for tests.
    var queuedByteCount: Int { state.withLock { $0.byteCount } }

    // MARK: The connection

    func add(_ piece: Data) -> cwi_body_step {
        let (step, continuation) = state.withLock {
            state -> (cwi_body_step, CheckedContinuation<Void, Never>?) in
            state.totalByteCount += piece.count
            guard state.totalByteCount <= byteLimit else { return (CWI_BODY_CLOSE, nil) }
            guard !state.isDiscarded else { return (CWI_BODY_GO_ON, nil) }
            state.pieces.append(piece)
            state.byteCount += piece.count
            state.isPaused = state.byteCount >= Self.queuedByteLimit
            return (state.isPaused ? CWI_BODY_WAIT : CWI_BODY_GO_ON, state.wake())
        }
        continuation?.resume()
        return step
    }

    func end() {
        let continuation = state.withLock { state in
            state.hasEnded = true
            return state.wake()
        }
        continuation?.resume()
    }

    /// Drops what was not read, and what still arrives. A task that reads it gets an error. The connection is read on when an answer is sent.
    func discard() {
        let continuation = state.withLock { state in
            (state.pieces, state.byteCount, state.isPaused, state.isDiscarded) = ([], 0, false, true)
            return state.wake()
        }
        continuation?.resume()
    }

    // MARK: The task

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let body: RequestBody

        func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Data? {
            while true {
                switch try body.take() {
                case .piece(let piece): return piece
                case .end: return nil
                case .nothingYet: await body.waitForMore()
                }
                try Task.checkCancellation()
            }
        }
    }

    private enum Step { case piece(Data), end, nothingYet }

    private func take() throws -> Step {
        let (step, readsOn) = state.withLock { state -> (Step?, Bool) in
            guard !state.isDiscarded else { return (nil, false) }
            guard !state.pieces.isEmpty else { return (state.hasEnded ? Step.end : Step.nothingYet, false) }
            let piece = state.pieces.removeFirst()
            state.byteCount -= piece.count
            let readsOn = state.isPaused && state.byteCount < Self.queuedByteLimit
            if readsOn { state.isPaused = false }
            return (Step.piece(piece), readsOn)
        }
        if readsOn { cwi_request_read_on(handle) }
        guard let step else { throw CancellationError() }
        return step
    }

    private func waitForMore() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.pieces.isEmpty, !state.hasEnded, !state.isDiscarded, !Task.isCancelled else {
                        return true
                    }
                    state.continuation = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.wake() }?.resume()
        }
    }
}
