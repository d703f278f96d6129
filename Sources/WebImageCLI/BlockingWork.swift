internal import WebImage
internal import WebImageCore

/// Runs blocking work on its own threads instead of Swift's cooperative ones.
enum BlockingWork {
    private static let queue = WorkQueue(label: "webimage.tool", threadCount: PlatformThread.processorCount)

    /// Runs `body` on a thread that may block.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws(WebImageError) -> Result
    ) async throws(WebImageError) -> Result {
        let result: Swift.Result<Result, WebImageError> = await withCheckedContinuation { continuation in
            queue.submit { continuation.resume(returning: Swift.Result(catching: body)) }
        }
        return try result.get()
    }
}
