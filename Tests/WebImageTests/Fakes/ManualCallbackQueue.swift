import WebImage

/// A callback queue that the test runs by hand, to stand between a result and its delivery.
final class ManualCallbackQueue: CallbackQueue {
    /// Yields whenever something is queued.
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let bodies = LockBox<[@Sendable () -> Void]>([])

    init() {
        (arrivals, arrived) = AsyncStream.makeStream()
    }

    func enqueue(_ body: @escaping @Sendable () -> Void) {
        bodies.withLock { $0.append(body) }
        arrived.yield()
    }

    /// Runs what is queued, and what that queues.
    func runAll() {
        while let body = bodies.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { body() }
    }
}
