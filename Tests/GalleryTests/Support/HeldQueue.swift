import Dispatch

/// Keeps a queue from its work until it is released.
final class HeldQueue: Sendable {
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        self.queue = queue
        queue.suspend()
    }

    func release() { queue.resume() }
}
