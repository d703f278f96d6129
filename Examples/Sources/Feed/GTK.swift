import CGTK

// Three functions that a Swift binding of GTK would bring along.

/// Calls `body` after each emission of a signal without arguments, until the object is destroyed.
@MainActor func connect(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor () -> Void) {
    let function: @convention(c) (gpointer, gpointer) -> Void = { _, data in
        let handler = Unmanaged<Handler<Void>>.fromOpaque(data)
        MainActor.assumeIsolated { handler.takeUnretainedValue().body(()) }
    }
    connect(object, signal, unsafeBitCast(function, to: GCallback.self), Handler(body: body))
}

/// Calls `body` after each emission of a signal with one argument, which is an object.
@MainActor func connect(
    _ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor (OpaquePointer) -> Void
) {
    let function: @convention(c) (gpointer, OpaquePointer, gpointer) -> Void = { _, argument, data in
        let handler = Unmanaged<Handler<OpaquePointer>>.fromOpaque(data)
        nonisolated(unsafe) let argument = argument
        MainActor.assumeIsolated { handler.takeUnretainedValue().body(argument) }
    }
    connect(object, signal, unsafeBitCast(function, to: GCallback.self), Handler(body: body))
}

/// Returns a pointer of the type that functions of another class of the widget expect.
func cast<Object>(_ widget: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<Object> {
    UnsafeMutableRawPointer(widget).assumingMemoryBound(to: Object.self)
}

private final class Handler<Argument> {
    let body: @MainActor (Argument) -> Void

    init(body: @escaping @MainActor (Argument) -> Void) { self.body = body }
}

private func connect(
    _ object: UnsafeMutableRawPointer, _ signal: String, _ function: GCallback, _ handler: AnyObject
) {
    g_signal_connect_data(
        object, signal, function, Unmanaged.passRetained(handler).toOpaque(),
        { data, _ in data.map { Unmanaged<AnyObject>.fromOpaque($0).release() } }, GConnectFlags(rawValue: 0))
}
