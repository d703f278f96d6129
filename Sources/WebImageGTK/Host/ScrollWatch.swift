internal import CWebImageGTK

/// Knows whether a `GtkScrolledWindow` is being scrolled; the widget owns it.
@MainActor final class ScrollWatch {
    /// That of the nearest scrolled window around `widget`.
    static func around(_ widget: UnsafeMutablePointer<GtkWidget>) -> ScrollWatch? {
        guard let ancestor = gtk_widget_get_ancestor(widget, gtk_scrolled_window_get_type()) else { return nil }
        let pointer = ObjectPointer(ancestor)
        if let watch = key.value(of: pointer) { return watch }
        let watch = ScrollWatch(pointer)
        key.set(watch, on: pointer)
        return watch
    }

    private static let key = AssociationKey<ScrollWatch>("web-image-scroll-watch")

    /// How long nothing must have moved: about nine frames.
    static let restMilliseconds: UInt32 = 150

    private var restCall: MainLoopCall?
    private var waiting: [@MainActor () -> Void] = []

    private init(_ scrolledWindow: ObjectPointer) {
        let adjustments = [
            gtk_scrolled_window_get_hadjustment(scrolledWindow.opaque),
            gtk_scrolled_window_get_vadjustment(scrolledWindow.opaque),
        ]
        for adjustment in adjustments.compactMap({ $0 }) {
            ObjectPointer(adjustment).onSignal("value-changed") { [weak self] in self?.didScroll() }
        }
    }

    var isScrolling: Bool { restCall != nil }

    /// Calls `body` once when nothing moves any more: at the earliest later.
    func whenAtRest(_ body: @escaping @MainActor () -> Void) {
        waiting.append(body)
        if restCall == nil { didScroll() }
    }

    private func didScroll() {
        restCall = MainLoopCall.after(milliseconds: Self.restMilliseconds) { [weak self] in self?.didRest() }
    }

    private func didRest() {
        restCall = nil
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
    }
}
