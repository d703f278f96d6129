public import CWebImageGTK

// Signals of gestures and event controllers. GTK emits all of them on the main thread.
@MainActor extension ObjectPointer {
    /// Calls `body` with two numbers: `drag-begin`, `drag-update`, `drag-end`, `motion`, `enter`.
    public func onPoint(_ signal: String, _ body: @escaping @MainActor (_ x: Double, _ y: Double) -> Void) {
        let trampoline: @convention(c) (gpointer, Double, Double, gpointer) -> Void = { _, x, y, data in
            SignalHandler<(Double, Double) -> Void>.with(data) { $0(x, y) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkGestureClick` emits `pressed` or `released`.
    public func onPress(
        _ signal: String, _ body: @escaping @MainActor (_ count: Int, _ x: Double, _ y: Double) -> Void
    ) {
        let trampoline: @convention(c) (gpointer, gint, Double, Double, gpointer) -> Void = { _, count, x, y, data in
            SignalHandler<(Int, Double, Double) -> Void>.with(data) { $0(Int(count), x, y) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkEventControllerScroll` scrolls; it returns whether it has used the event.
    public func onScroll(_ body: @escaping @MainActor (_ x: Double, _ y: Double) -> Bool) {
        let trampoline: @convention(c) (gpointer, Double, Double, gpointer) -> gboolean = { _, x, y, data in
            SignalHandler<(Double, Double) -> Bool>.with(data) { $0(x, y) ? 1 : 0 }
        }
        connect("scroll", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkEventControllerKey` gets a key; it returns whether it has used the event.
    public func onKey(_ body: @escaping @MainActor (_ key: Int32, _ modifiers: GdkModifierType) -> Bool) {
        let trampoline: @convention(c) (gpointer, guint, guint, GdkModifierType, gpointer) -> gboolean = {
            _, key, _, modifiers, data in
            SignalHandler<(Int32, GdkModifierType) -> Bool>.with(data) { $0(Int32(bitPattern: key), modifiers) ? 1 : 0 }
        }
        connect("key-pressed", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` for a signal whose only argument is not needed, and may be nothing: `begin`, `end`.
    public func onEvent(_ signal: String, _ body: @escaping @MainActor () -> Void) {
        let trampoline: @convention(c) (gpointer, gpointer?, gpointer) -> Void = { _, _, data in
            SignalHandler<() -> Void>.with(data) { $0() }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with one number: `scale-changed`, `angle-changed`.
    public func onNumber(_ signal: String, _ body: @escaping @MainActor (_ number: Double) -> Void) {
        let trampoline: @convention(c) (gpointer, Double, gpointer) -> Void = { _, number, data in
            SignalHandler<(Double) -> Void>.with(data) { $0(number) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}

extension ObjectPointer {
    /// Whether the event that a gesture handles is from a touch screen.
    @MainActor public var isTouchEvent: Bool {
        guard let device = gtk_event_controller_get_current_event_device(opaque) else { return false }
        return gdk_device_get_source(device) == GDK_SOURCE_TOUCHSCREEN
    }
}
