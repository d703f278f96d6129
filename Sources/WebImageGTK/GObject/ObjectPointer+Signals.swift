internal import CWebImageGTK

extension ObjectPointer {
    /// Calls `body` whenever the object emits `signal`, one without arguments, until the object is disposed.
    @MainActor package func onSignal(_ signal: String, _ body: @escaping @MainActor () -> Void) {
        let trampoline: @convention(c) (gpointer, gpointer) -> Void = { _, data in
            nonisolated(unsafe) let data = data  // GTK emits its signals on the main thread.
            MainActor.assumeIsolated { SignalHandler<() -> Void>.of(data).body() }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with the object that comes as the only argument of `signal`.
    @MainActor package func onSignal(_ signal: String, _ body: @escaping @MainActor (ObjectPointer) -> Void) {
        let trampoline: @convention(c) (gpointer, gpointer, gpointer) -> Void = { _, argument, data in
            nonisolated(unsafe) let (argument, data) = (argument, data)
            MainActor.assumeIsolated { SignalHandler<(ObjectPointer) -> Void>.of(data).body(ObjectPointer(argument)) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// The closure data owns `handler`: it goes with the connection.
    private func connect(_ signal: String, _ handler: AnyObject, _ callback: @escaping GCallback) {
        g_signal_connect_data(
            address, signal, callback, Unmanaged.passRetained(handler).toOpaque(),
            { data, _ in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } }, GConnectFlags(rawValue: 0))
    }
}

/// A closure as C can carry it.
private final class SignalHandler<Body> {
    let body: Body

    init(_ body: Body) { self.body = body }

    static func of(_ data: UnsafeMutableRawPointer) -> SignalHandler {
        Unmanaged<SignalHandler>.fromOpaque(data).takeUnretainedValue()
    }
}
