internal import Synchronization
package import WebImageCore

/// The threads of the process for decoding and encoding, shared by all managers and caches.
package enum DecodingQueue {
    private static let reservesProcessorForViews = Atomic(false)

    /// Keeps one processor for the main loop, at a higher priority than decoding. The views call it before the first
    /// load.
    package static func prepareForViews() { reservesProcessorForViews.store(true, ordering: .relaxed) }

    /// One thread per processor; with views one less, at a lower priority than the main thread.
    package static let shared: WorkQueue = {
        let processorCount = PlatformThread.processorCount
        let hasViews = reservesProcessorForViews.load(ordering: .relaxed)
        return WorkQueue(
            label: "webimage-decode", threadCount: hasViews ? processorCount - 1 : processorCount,
            niceness: hasViews ? 5 : 0)
    }()

    /// Runs `body` on a decoding thread.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            shared.submit { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on a decoding thread. If the task is cancelled while waiting, returns `nil` and never calls `body`;
    /// later, it sets `body`'s flag.
    ///
    /// - Parameter onQueued: receives the queued work, to change its priority.
    package static func run<Result: Sendable>(
        priority: LoadPriority, onQueued: (WorkItem) -> Void = { _ in },
        _ body: @escaping @Sendable (Cancellation) -> Result
    ) async -> Result? {
        let (cancellation, waiting) = (Cancellation(), Lock<(item: WorkItem, giveUp: @Sendable () -> Void)?>(nil))
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let item = shared.submit(priority: priority) {
                    continuation.resume(returning: cancellation.isCancelled ? nil : body(cancellation))
                }
                waiting.withLock { $0 = (item, { continuation.resume(returning: nil) }) }
                onQueued(item)
                // The cancellation handler may have run before the item was set.
                if cancellation.isCancelled, item.cancel() { continuation.resume(returning: nil) }
            }
        } onCancel: {
            cancellation.cancel()
            if let (item, giveUp) = waiting.withLock({ $0 }), item.cancel() { giveUp() }
        }
    }
}
