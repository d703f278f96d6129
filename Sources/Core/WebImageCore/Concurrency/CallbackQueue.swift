public import Dispatch

/// Runs callbacks: a dispatch queue, the main loop of a GUI, or a custom queue.
///
/// ```swift
/// manager.load(WebImageRequest(url), callbackQueue: DispatchQueue.main) { result in print(result) }
/// ```
///
/// A queue must run its closures one at a time and in order, and never inside the call to ``enqueue(_:)``.
public protocol CallbackQueue: Sendable {
    /// Runs `body` later.
    func enqueue(_ body: @escaping @Sendable () -> Void)
}

extension DispatchQueue: CallbackQueue {
    /// Runs `body` asynchronously. The queue must be serial.
    public func enqueue(_ body: @escaping @Sendable () -> Void) { async(execute: body) }
}

/// A serial queue that runs the callbacks that wait as one block, since starting a block takes longer than many
/// callbacks.
package final class BatchingCallbackQueue: CallbackQueue {
    private let queue: DispatchQueue
    private let waiting = Lock<[Callback]>([])

    // In an array, a closure alone would need another closure around it.
    private struct Callback {
        let body: @Sendable () -> Void
    }

    package init(label: String) { queue = DispatchQueue(label: label) }

    package func enqueue(_ body: @escaping @Sendable () -> Void) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(Callback(body: body))
            return waiting.count == 1
        }
        guard isFirst else { return }
        queue.async { [self] in
            let callbacks = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for callback in callbacks { callback.body() }
        }
    }
}

/// Calls back at once on the reporting thread. For continuations, which only store the result and return.
package struct DirectCallbackQueue: CallbackQueue {
    package init() {}

    package func enqueue(_ body: @escaping @Sendable () -> Void) { body() }
}
