public import FoundationEssentials
public import WebImageCore

extension WebImageManager {
    /// Loads the image at `url` at its full size.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the task was cancelled.
    public func image(at url: URL) async throws(WebImageError) -> Image {
        try await image(for: WebImageRequest(url))
    }

    /// Loads the image that `request` describes.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the task was cancelled.
    public func image(for request: WebImageRequest) async throws(WebImageError) -> Image {
        let request = prepared(request)
        if let image = imageAtOnce(for: request) { return image }
        return try await response(forPrepared: request).image
    }

    /// Loads the image that `request` describes, and returns it with its origin and other details of the load.
    ///
    /// - Throws: the error of the load; ``WebImageError/cancelled`` if the task was cancelled.
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
            // The operation then ends with `WebImageError.cancelled`.
            task.cancel()
        }
        return try result.get()
    }
}

private struct OperationTask: LoaderTask {
    let operation: WebImageOperation

    func cancel() { operation.cancel() }
}
