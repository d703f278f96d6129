import WebImageCore

/// The tasks that wait until a count is high enough.
final class CountObservers: Sendable {
    private let waiting = Lock<[(count: Int, waiter: Waiter<Bool>)]>([])

    /// Waits until `current` returns at least `count`. ``tell(_:)`` is called after each change of it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    func wait(for count: Int, current: () -> Int) async throws {
        let waiter = Waiter<Bool>()
        waiting.withLock { $0.append((count, waiter)) }
        tell(current())
        let isReached = await withTaskCancellationHandler {
            await waiter.value
        } onCancel: {
            waiter.resume(false)
        }
        if !isReached { throw CancellationError() }
    }

    /// Resumes those that wait for no more than `count`.
    func tell(_ count: Int) {
        let reached = waiting.withLock { waiting in
            defer { waiting.removeAll { $0.count <= count } }
            return waiting.filter { $0.count <= count }
        }
        for (_, waiter) in reached { waiter.resume(true) }
    }
}
