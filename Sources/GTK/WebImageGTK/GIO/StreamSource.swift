internal import CWebImageGTK
internal import Dispatch
internal import FoundationEssentials
internal import GTKObjects
internal import WebImage

/// The bytes of a `GInputStream`, which can be read once only: the first load reads them, as far as it gets before it is cancelled, and
/// others continue.
final class StreamSource: Sendable {
    private struct State {
        var bytes = Data()
        var isComplete = false
        /// Why the rest cannot be read.
        var failure: WebImageError?

        /// `nil` as long as there may be more.
        var result: Result<Data, WebImageError>? { isComplete ? .success(bytes) : failure.map { .failure($0) } }

        /// Adds the next piece; an empty one is the end.
        mutating func add(_ piece: Data) {
            if piece.isEmpty { isComplete = true } else { bytes.append(piece) }
        }
    }

    static let byteLimit = 200 << 20
    private static let pieceByteCount = 256 << 10

    private let id: String
    private let stream: GIOObject
    /// One load at a time reads. Its thread waits for the stream.
    private let queue = DispatchQueue(label: "webimage-stream")
    private let state = Lock(State())

    init(_ stream: UnsafeMutablePointer<GInputStream>, id: String) {
        self.stream = GIOObject(retaining: ObjectPointer(stream))
        self.id = id
    }

    /// Returns all bytes.
    func read() async throws(WebImageError) -> Data {
        guard let cancellable = GIOObject.newCancellable() else { throw .cancelled }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(returning: Result { () throws(WebImageError) in try read(cancellable) })
                }
            }
        } onCancel: {
            g_cancellable_cancel(cancellable.cancellable)
        }
        return try result.get()
    }

    private func read(_ cancellable: GIOObject) throws(WebImageError) -> Data {
        while true {
            if let result = state.withLock({ $0.result }) { return try result.get() }
            do throws(WebImageError) {
                let piece = try readPiece(cancellable)
                state.withLock { $0.add(piece) }
            } catch {
                // What was read stays, for the next load.
                if error != .cancelled { state.withLock { $0.failure = error } }
                throw error
            }
        }
    }

    private func readPiece(_ cancellable: GIOObject) throws(WebImageError) -> Data {
        var piece = Data(count: Self.pieceByteCount)
        var error: UnsafeMutablePointer<GError>?
        let count = piece.withUnsafeMutableBytes { bytes in
            g_input_stream_read(stream.stream, bytes.baseAddress, gsize(bytes.count), cancellable.cancellable, &error)
        }
        guard count >= 0 else { throw WebImageError(taking: error, reading: id) }
        let byteCount = state.withLock { $0.bytes.count } + count
        guard byteCount <= Self.byteLimit else {
            throw .custom(id: id, message: "the stream has more than \(Self.byteLimit) bytes")
        }
        return piece.prefix(count)
    }
}
