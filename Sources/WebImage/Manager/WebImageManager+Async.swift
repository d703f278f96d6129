public import FoundationEssentials
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
        let (waiter, task) = (Waiter<Result<WebImageResponse, WebImageError>>(), DeferredTask())
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.attach(continuation)
                let callbacks = WebImageOperation.Callbacks(DirectCallbackQueue()) { waiter.resume($0) }
                task.attach(OperationTask(operation: start(request, callbacks)))
            }
        } onCancel: {
            // The operation ends with the error.
            task.cancel()
        }
        return try result.get()
    }
}

private struct OperationTask: LoaderTask {
    let operation: WebImageOperation

    func cancel() { operation.cancel() }
}
