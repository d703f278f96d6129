public import FoundationEssentials
import Synchronization
public import WebImageCore

extension WebImageManager {
    /// Loads the picture at `url`, decoded whole.
    ///
    /// - Throws: what went wrong; ``WebImageError/cancelled`` when the task was cancelled.
    public func image(at url: URL) async throws(WebImageError) -> Image {
        try await image(for: WebImageRequest(url))
    }

    /// Loads the picture that `request` describes.
    ///
    /// - Throws: what went wrong; ``WebImageError/cancelled`` when the task was cancelled.
    public func image(for request: WebImageRequest) async throws(WebImageError) -> Image {
        let request = prepared(request)
        if let image = imageAtOnce(for: request) { return image }
        return try await response(forPrepared: request).image
    }

    /// Loads the picture that `request` describes, and tells where it came from.
    ///
    /// - Throws: what went wrong; ``WebImageError/cancelled`` when the task was cancelled.
    public func response(for request: WebImageRequest) async throws(WebImageError) -> WebImageResponse {
        try await response(forPrepared: prepared(request))
    }

    private func response(forPrepared request: WebImageRequest) async throws(WebImageError) -> WebImageResponse {
        let cancellation = OperationCancellation()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let callbacks = WebImageOperation.Callbacks(DirectCallbackQueue()) {
                    continuation.resume(returning: $0)
                }
                let operation = start(request, callbacks, manner: StartManner())
                cancellation.attach(operation)
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try result.get()
    }
}

/// Cancels an operation for a task that may be cancelled before the operation exists.
private final class OperationCancellation: Sendable {
    private let state = Lock((operation: WebImageOperation?.none, isCancelled: false))

    func attach(_ operation: WebImageOperation) {
        let isCancelled = state.withLock { state in
            state.operation = operation
            return state.isCancelled
        }
        if isCancelled { operation.cancel() }
    }

    func cancel() {
        let operation = state.withLock { state in
            state.isCancelled = true
            return state.operation
        }
        operation?.cancel()
    }
}
