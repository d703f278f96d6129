public import Dispatch

/// Where callbacks run: a dispatch queue, a GUI's main loop, or one of your own.
///
/// A queue must run what it is given one at a time, in order, and never inside the call to ``enqueue(_:)``.
public protocol CallbackQueue: Sendable {
    /// Runs `body` later.
    func enqueue(_ body: @escaping @Sendable () -> Void)
}

extension DispatchQueue: CallbackQueue {
    /// Runs `body` asynchronously. The queue must be a serial one.
    public func enqueue(_ body: @escaping @Sendable () -> Void) { async(execute: body) }
}

/// Calls back at once, on the thread that has the news: for continuations, which only note the result and return.
struct DirectCallbackQueue: CallbackQueue {
    func enqueue(_ body: @escaping @Sendable () -> Void) { body() }
}
