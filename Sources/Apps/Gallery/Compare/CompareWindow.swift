import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Two images side by side. Zooming and moving one does the same with the other, unless they are unlinked.
///
/// The arrow keys show other images in the pane that was used last: at first, the second.
@MainActor final class CompareWindow {
    let widget = ObjectPointer(adw_window_new())
    let panes: [ComparePane]
    private let link = ObjectPointer(gtk_toggle_button_new())
    private let content: ObjectPointer
    private var activePane = 1
    /// Those on screen, which GTK does not own.
    private static var open: [CompareWindow] = []

    /// - Parameters:
    ///   - first, second: the positions of the images in the collection.
    init(over parent: ObjectPointer, session: GallerySession, first: Int, second: Int) {
        panes = [ComparePane(session: session), ComparePane(session: session)]
        gtk_window_set_title(widget.as(), localized("Compare"))
        gtk_window_set_default_size(widget.as(), 1_100, 700)
        gtk_window_set_transient_for(widget.as(), parent.as())
        gtk_window_set_destroy_with_parent(widget.as(), 1)
        widget.sized(360, 294)
        let header = ObjectPointer(adw_header_bar_new())
        link.set("icon-name", "view-dual-symbolic").named(localized("Zoom and move both")).set("active", true)
        adw_header_bar_pack_end(header.opaque, link.widget)
        let row = ObjectPointer.row(spacing: 2, panes.map(\.widget)).set("homogeneous", true).expanding()
        content = .column([header, row])
        // Loads may end after the window is closed, whose parts they change then.
        g_object_ref_sink(content.address)
        adw_window_set_content(widget.as(), content.widget)
        for (index, pane) in panes.enumerated() { connect(pane, index) }
        link.onChange(of: "active") { [weak self] in if let self { placeDidChange(in: activePane) } }
        addKeys()
        widget.onSignal("destroy") { [weak self] in self?.didClose() }
        panes[0].show(first)
        panes[1].show(second)
    }

    isolated deinit { g_object_unref(content.address) }

    func present() {
        Self.open.append(self)
        gtk_window_present(widget.as())
        gtk_widget_grab_focus(panes[1].canvas.widget)
    }

    private func connect(_ pane: ComparePane, _ index: Int) {
        pane.onPlaceChange = { [weak self] in self?.placeDidChange(in: index) }
        let focus = ObjectPointer(gtk_event_controller_focus_new())
        focus.onSignal("enter") { [weak self] in self?.activePane = index }
        gtk_widget_add_controller(pane.canvas.widget, focus.opaque)
    }

    private func didClose() {
        for pane in panes { pane.close() }
        Self.open.removeAll { $0 === self }
    }

    private func placeDidChange(in index: Int) {
        if link.get("active") { panes[1 - index].follow(panes[index].canvas.place) }
    }

    // MARK: Keys

    private func addKeys() {
        let keys = ObjectPointer(gtk_event_controller_key_new())
        gtk_event_controller_set_propagation_phase(keys.opaque, GTK_PHASE_CAPTURE)
        keys.onKey { [weak self] key, modifiers in
            guard modifiers.rawValue & GDK_ALT_MASK.rawValue == 0 else { return false }
            return self?.keyPressed(key) ?? false
        }
        gtk_widget_add_controller(widget.widget, keys.opaque)
    }

    /// Returns whether the window uses the key.
    func keyPressed(_ key: Int32) -> Bool {
        let pane = panes[activePane]
        switch key {
        case GDK_KEY_Right, GDK_KEY_Page_Down: pane.move(by: 1)
        case GDK_KEY_Left, GDK_KEY_Page_Up: pane.move(by: -1)
        case GDK_KEY_plus, GDK_KEY_equal, GDK_KEY_KP_Add: pane.canvas.zoomIn()
        case GDK_KEY_minus, GDK_KEY_KP_Subtract: pane.canvas.zoomOut()
        case GDK_KEY_0, GDK_KEY_KP_0: pane.canvas.setZoom(.fit, isAnimated: true)
        case GDK_KEY_1, GDK_KEY_KP_1: pane.canvas.setZoom(.scale(1), isAnimated: true)
        case GDK_KEY_l: link.set("active", !link.get("active", as: Bool.self))
        case GDK_KEY_Escape, GDK_KEY_w: gtk_window_close(widget.as())
        default: return false
        }
        return true
    }

    // MARK: Opening

    /// Opens the window on two images: those that a command means, or the first of them and the one behind it.
    ///
    /// - Returns: the window; `nil` without two images.
    @discardableResult static func show(_ urls: [URL], over parent: ObjectPointer, _ session: GallerySession)
        -> CompareWindow?
    {
        let all = session.collection.urls
        let indices = urls.prefix(2).compactMap { all.firstIndex(of: $0) }
        guard let first = indices.first, all.count > 1 else {
            session.showToast(localized("There are no two images to compare"))
            return nil
        }
        let second = indices.count > 1 ? indices[1] : first + 1 < all.count ? first + 1 : first - 1
        let window = CompareWindow(over: parent, session: session, first: first, second: second)
        window.present()
        return window
    }
}
