/// Runs the body of a C callback that GTK calls on the main thread only.
///
/// - Parameter arguments: what the body needs of the callback's arguments. Pointers cannot be sent to an actor, although the callback
///   is already on its thread.
public func onMainThread<Arguments, Result: Sendable>(
    _ arguments: Arguments, _ body: @MainActor (Arguments) -> Result
) -> Result {
    nonisolated(unsafe) let arguments = arguments
    return MainActor.assumeIsolated { body(arguments) }
}

/// A closure that C code can hold.
public final class SignalHandler<Body> {
    /// The closure.
    public let body: Body

    /// Wraps a closure.
    public init(_ body: Body) { self.body = body }

    /// Calls `call` with the closure that `data` points to, in a callback of GTK's main thread.
    public static func with<Result: Sendable>(
        _ data: UnsafeMutableRawPointer, _ call: @MainActor (Body) -> Result
    ) -> Result {
        onMainThread(data) { call(Unmanaged<SignalHandler>.fromOpaque($0).takeUnretainedValue().body) }
    }
}
