import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

// Signals with more arguments than those of the library's views. GTK emits all of them on the main thread.
@MainActor extension ObjectPointer {
    /// Calls `body` with the value that the user gives a `GtkRange`.
    func onValueChange(_ body: @escaping @MainActor (_ value: Double) -> Void) {
        let trampoline: @convention(c) (gpointer, gint, Double, gpointer) -> gboolean = { _, _, value, data in
            SignalHandler<(Double) -> Void>.with(data) { $0(value) }
            return 0
        }
        connect("change-value", SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
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
