import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

// Signals with more arguments than those of the library's views. GTK emits all of them on the main thread.
@MainActor extension ObjectPointer {
    /// Calls `body` with two numbers: `drag-begin`, `drag-update`, `drag-end`, `motion`, `enter`.
    func onPoint(_ signal: String, _ body: @escaping @MainActor (_ x: Double, _ y: Double) -> Void) {
        let trampoline: @convention(c) (gpointer, Double, Double, gpointer) -> Void = { _, x, y, data in
            SignalHandler<(Double, Double) -> Void>.with(data) { $0(x, y) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkGestureClick` emits `pressed` or `released`.
    func onPress(
        _ signal: String, _ body: @escaping @MainActor (_ count: Int, _ x: Double, _ y: Double) -> Void
    ) {
        let trampoline: @convention(c) (gpointer, gint, Double, Double, gpointer) -> Void = { _, count, x, y, data in
            SignalHandler<(Int, Double, Double) -> Void>.with(data) { $0(Int(count), x, y) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkEventControllerScroll` scrolls; it returns whether it has used the event.
    func onScroll(_ body: @escaping @MainActor (_ x: Double, _ y: Double) -> Bool) {
        let trampoline: @convention(c) (gpointer, Double, Double, gpointer) -> gboolean = { _, x, y, data in
            SignalHandler<(Double, Double) -> Bool>.with(data) { $0(x, y) ? 1 : 0 }
        }
        connect("scroll", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkEventControllerKey` gets a key; it returns whether it has used the event.
    func onKey(_ body: @escaping @MainActor (_ key: Int32, _ modifiers: GdkModifierType) -> Bool) {
        let trampoline: @convention(c) (gpointer, guint, guint, GdkModifierType, gpointer) -> gboolean = {
            _, key, _, modifiers, data in
            SignalHandler<(Int32, GdkModifierType) -> Bool>.with(data) { $0(Int32(bitPattern: key), modifiers) ? 1 : 0 }
        }
        connect("key-pressed", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` for a signal whose only argument is not needed, and may be nothing: `begin`, `end`.
    func onEvent(_ signal: String, _ body: @escaping @MainActor () -> Void) {
        let trampoline: @convention(c) (gpointer, gpointer?, gpointer) -> Void = { _, _, data in
            SignalHandler<() -> Void>.with(data) { $0() }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with the value that the user gives a `GtkRange`.
    func onValueChange(_ body: @escaping @MainActor (_ value: Double) -> Void) {
        let trampoline: @convention(c) (gpointer, gint, Double, gpointer) -> gboolean = { _, _, value, data in
            SignalHandler<(Double) -> Void>.with(data) { $0(value) }
            return 0
        }
        connect("change-value", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` with one number: `scale-changed`, `angle-changed`.
    func onNumber(_ signal: String, _ body: @escaping @MainActor (_ number: Double) -> Void) {
        let trampoline: @convention(c) (gpointer, Double, gpointer) -> Void = { _, number, data in
            SignalHandler<(Double) -> Void>.with(data) { $0(number) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` when a `GtkDropTarget` gets a drop; it returns whether it accepts the value.
    func onDrop(_ body: @escaping @MainActor (_ value: UnsafePointer<GValue>) -> Bool) {
        let trampoline: @convention(c) (gpointer, UnsafePointer<GValue>, Double, Double, gpointer) -> gboolean = {
            _, value, _, _, data in
            SignalHandler<(UnsafePointer<GValue>) -> Bool>.with(data) { $0(value) ? 1 : 0 }
        }
        connect("drop", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }

    /// Calls `body` for a signal whose only argument is an integer or enumeration, such as a dialog's `response`.
    func onResponse(_ signal: String = "response", _ body: @escaping @MainActor (_ response: Int) -> Void) {
        let trampoline: @convention(c) (gpointer, gint, gpointer) -> Void = { _, response, data in
            SignalHandler<(Int) -> Void>.with(data) { $0(Int(response)) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}
