public import Dispatch

/// Runs callbacks: a dispatch queue, the main loop of a GUI, or a custom queue.
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

/// Calls back at once on the reporting thread. For continuations, which only store the result and return.
struct DirectCallbackQueue: CallbackQueue {
    func enqueue(_ body: @escaping @Sendable () -> Void) { body() }
}
