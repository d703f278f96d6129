internal import Synchronization
package import WebImageCore

/// The process's threads for decoding and encoding: shared by all managers and caches, since they share the processors.
package enum DecodingQueue {
    private static let leavesRoomForViews = Atomic(false)

    /// Keeps one processor for the main loop, and the others polite; the view module calls it before the first load.
    package static func prepareForViews() { leavesRoomForViews.store(true, ordering: .relaxed) }

    /// All processors; with views one less, and at a lower priority than the main thread.
    package static let shared: WorkQueue = {
        let processorCount = PlatformThread.processorCount
        let hasViews = leavesRoomForViews.load(ordering: .relaxed)
        return WorkQueue(
            label: "webimage-decode", threadCount: hasViews ? processorCount - 1 : processorCount,
            niceness: hasViews ? 5 : 0)
    }()

    /// Runs `body` on one of them.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            shared.submit { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on one of them, unless the task is cancelled while it waits for its turn: then the answer is `nil`, and
    /// `body` never runs. Cancelled later, `body` finds its flag set.
    ///
    /// - Parameter onQueued: gets the waiting work, to move it to another priority.
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
                // The handler may have come too early to find the item.
                if cancellation.isCancelled, item.cancel() { continuation.resume(returning: nil) }
            }
        } onCancel: {
            cancellation.cancel()
            if let (item, giveUp) = waiting.withLock({ $0 }), item.cancel() { giveUp() }
        }
    }
}
