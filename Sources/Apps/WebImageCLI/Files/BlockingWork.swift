internal import Dispatch
internal import FoundationEssentials
internal import WebImageCore

/// Runs blocking work on its own threads instead of Swift's cooperative ones.
enum BlockingWork {
    /// How many threads can run at once, at least 1.
    static let processorCount = max(1, ProcessInfo.processInfo.activeProcessorCount)

    /// Dispatch runs as many of its blocks as there are processors, and others while these wait. Swift's tasks have other threads, because
    /// they have another quality of service.
    private static let queue = DispatchQueue(label: "webimage.tool", qos: .utility, attributes: .concurrent)

    /// Runs `body` on a thread that may block.
    static func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws(WebImageError) -> Result
    ) async throws(WebImageError) -> Result {
        let result: Swift.Result<Result, WebImageError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Swift.Result(catching: body)) }
        }
        return try result.get()
    }
}
