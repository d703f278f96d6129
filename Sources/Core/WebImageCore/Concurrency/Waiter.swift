package import Dispatch

/// The first value of several that may arrive, and the one task or thread that waits for it.
///
/// The value is read under the lock: ThreadSanitizer does not see everything that a continuation passes on.
package final class Waiter<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        /// Until the value is there. A checked one has no fixed layout; see ``BootTime``.
        var continuation: UnsafeContinuation<Void, Never>?
        var semaphore: DispatchSemaphore?
    }

    private let state = Lock(State())

    package init() {}

    /// The value that the first call of ``resume(_:)`` passes. Awaited by one task.
    package var value: Value {
        get async {
            while true {
                if let value = state.withLock({ $0.value }) { return value }
                await withUnsafeContinuation { attach($0) }
            }
        }
    }

    /// Blocks the calling thread until the value is there.
    ///
    /// - Parameter leave: called at the deadline, and on the thread that sets the flag, perhaps more than once. The value must arrive soon
    ///   after.
    package func wait(
        until deadline: DispatchTime = .distantFuture, cancellation: Cancellation?,
        orLeave leave: @escaping @Sendable () -> Void
    ) -> Value {
        let semaphore = DispatchSemaphore(value: 0)
        state.withLock { $0.semaphore = semaphore }
        func sleep() -> Value {
            var time = deadline
            while true {
                if let value = state.withLock({ $0.value }) { return value }
                if semaphore.wait(timeout: time) == .timedOut { leave() }
                time = .distantFuture
            }
        }
        return cancellation.map { $0.withHandler(leave, sleep) } ?? sleep()
    }

    private func attach(_ continuation: UnsafeContinuation<Void, Never>) {
        let isThere = state.withLock { state in
            if state.value == nil { state.continuation = continuation }
            return state.value != nil
        }
        if isThere { continuation.resume() }
    }

    /// Returns whether this was the first call.
    @discardableResult
    package func resume(_ value: Value) -> Bool {
        let (continuation, semaphore, isFirst) = state.withLock {
            state -> (UnsafeContinuation<Void, Never>?, DispatchSemaphore?, Bool) in
            guard state.value == nil else { return (nil, nil, false) }
            state.value = value
            return (state.continuation.take(), state.semaphore, true)
        }
        continuation?.resume()
        semaphore?.signal()
        return isFirst
    }
}
