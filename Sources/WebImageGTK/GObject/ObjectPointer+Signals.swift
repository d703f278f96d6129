internal import CWebImageGTK

extension ObjectPointer {
    /// Calls `body` whenever the object emits `signal`, one without arguments, until the object is disposed.
    ///
    /// - Returns: what ``disconnect(_:)`` takes.
    @MainActor @discardableResult
    package func onSignal(_ signal: String, _ body: @escaping @MainActor () -> Void) -> SignalConnection {
        let trampoline: @convention(c) (gpointer, gpointer) -> Void = { _, data in
            nonisolated(unsafe) let data = data  // GTK emits its signals on the main thread.
            MainActor.assumeIsolated { SignalHandler<() -> Void>.of(data).body() }
        }
        return connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with the object that comes as the only argument of `signal`.
    @MainActor @discardableResult
    package func onSignal(_ signal: String, _ body: @escaping @MainActor (ObjectPointer) -> Void) -> SignalConnection {
        let trampoline: @convention(c) (gpointer, gpointer, gpointer) -> Void = { _, argument, data in
            nonisolated(unsafe) let (argument, data) = (argument, data)
            MainActor.assumeIsolated { SignalHandler<(ObjectPointer) -> Void>.of(data).body(ObjectPointer(argument)) }
        }
        return connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with the number, flags or enumeration case that comes as the only argument of `signal`.
    @MainActor @discardableResult
    package func onSignal(_ signal: String, _ body: @escaping @MainActor (UInt32) -> Void) -> SignalConnection {
        let trampoline: @convention(c) (gpointer, guint, gpointer) -> Void = { _, argument, data in
            nonisolated(unsafe) let data = data
            MainActor.assumeIsolated { SignalHandler<(UInt32) -> Void>.of(data).body(argument) }
        }
        return connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` whenever `property` may have changed.
    @MainActor @discardableResult
    package func onChange(of property: String, _ body: @escaping @MainActor () -> Void) -> SignalConnection {
        onSignal("notify::\(property)") { (_: ObjectPointer) in body() }
    }

    /// Ends a connection before the object's end.
    @MainActor package func disconnect(_ connection: SignalConnection) {
        g_signal_handler_disconnect(address, connection.number)
    }

    /// The closure data owns `handler`: it goes with the connection.
    private func connect(_ signal: String, _ handler: AnyObject, _ callback: @escaping GCallback) -> SignalConnection {
        SignalConnection(
            number: g_signal_connect_data(
                address, signal, callback, Unmanaged.passRetained(handler).toOpaque(),
                { data, _ in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } },
                GConnectFlags(rawValue: 0)))
    }
}

/// A signal's way to a closure.
package struct SignalConnection: Sendable {
    fileprivate let number: UInt
}

/// A closure as C can carry it.
private final class SignalHandler<Body> {
    let body: Body

    init(_ body: Body) { self.body = body }

    static func of(_ data: UnsafeMutableRawPointer) -> SignalHandler {
        Unmanaged<SignalHandler>.fromOpaque(data).takeUnretainedValue()
    }
}
