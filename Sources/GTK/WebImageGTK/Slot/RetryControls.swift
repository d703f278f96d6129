internal import CWebImageGTK
internal import GTKObjects

/// Lets users start failed loads of a widget again: with a click or tap, and with Enter or Space while the widget has the focus, which it
/// takes while a load has failed.
@MainActor final class RetryControls {
    private static let keys = [GDK_KEY_Return, GDK_KEY_ISO_Enter, GDK_KEY_KP_Enter, GDK_KEY_space, GDK_KEY_KP_Space]

    /// Whether a load can be started again.
    var isOffered = false {
        didSet { if isOffered != oldValue { offerDidChange() } }
    }

    /// The widget that takes the focus.
    private let focus: ObjectPointer
    private let retry: @MainActor () -> Bool
    private var controllers: [(widget: ObjectPointer, controller: ObjectPointer)] = []
    private var stateConnection: SignalConnection?
    /// Whether the widget takes the focus for this reason, and not because the program has set it.
    private var takesFocus = false

    /// - Parameters:
    ///   - clicked: the widget that is clicked.
    ///   - focus: the widget that takes the focus: the same, or one around it.
    ///   - retry: starts the loads. Returns whether there were some.
    init(clicked: ObjectPointer, focus: ObjectPointer, retry: @escaping @MainActor () -> Bool) {
        self.focus = focus
        self.retry = retry
        let gesture = ObjectPointer(gtk_gesture_click_new())
        // Handles the click before a button's gesture, which claims it.
        gtk_event_controller_set_propagation_phase(gesture.opaque, GTK_PHASE_CAPTURE)
        gesture.onClick { [weak self] in _ = self?.retry() }
        add(gesture, to: clicked)

        let shortcuts = ObjectPointer(gtk_shortcut_controller_new())
        for key in Self.keys {
            gtk_shortcut_controller_add_shortcut(shortcuts.opaque, shortcut(for: guint(key)).opaque)
        }
        add(shortcuts, to: focus)

        let controller = ObjectPointer(gtk_event_controller_focus_new())
        controller.onSignal("leave") { [weak self] in self?.updateFocus() }
        add(controller, to: focus)
        stateConnection = focus.onSignal("state-flags-changed") { [weak self] (former: UInt32) in
            self?.stateDidChange(from: former)
        }
    }

    private func add(_ controller: ObjectPointer, to widget: ObjectPointer) {
        gtk_widget_add_controller(widget.widget, controller.opaque)
        controllers.append((widget, controller))
    }

    /// Takes the controls from both widgets, which exist.
    func remove() {
        isOffered = false
        if takesFocus { gtk_widget_set_focusable(focus.widget, 0) }
        for (widget, controller) in controllers { gtk_widget_remove_controller(widget.widget, controller.opaque) }
        controllers = []
        if let stateConnection { focus.disconnect(stateConnection) }
        stateConnection = nil
    }

    private func shortcut(for key: guint) -> ObjectPointer {
        let handler = SignalHandler<@MainActor () -> Bool> { [weak self] in self?.keyWasPressed() ?? false }
        let action = gtk_callback_action_new(
            { _, _, data in
                guard let data else { return 0 }
                return SignalHandler<@MainActor () -> Bool>.with(data) { $0() } ? 1 : 0
            }, Unmanaged.passRetained(handler).toOpaque(),
            { data in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } })
        return ObjectPointer(gtk_shortcut_new(gtk_keyval_trigger_new(key, GdkModifierType(rawValue: 0)), action))
    }

    /// A button does what it does with the key in any case, as with a click.
    private func keyWasPressed() -> Bool {
        guard retry() else { return false }
        return !focus.isInstance(of: gtk_button_get_type())
    }

    private func offerDidChange() {
        focus.setAccessible(GTK_ACCESSIBLE_PROPERTY_KEY_SHORTCUTS, isOffered ? "Enter Space" : nil)
        updateFocus()
    }

    /// The focus stays during another attempt, so that its user keeps the place.
    private func updateFocus() {
        if isOffered, gtk_widget_get_focusable(focus.widget) == 0 {
            takesFocus = true
            gtk_widget_set_focusable(focus.widget, 1)
        } else if !isOffered, takesFocus, gtk_widget_is_focus(focus.widget) == 0 {
            takesFocus = false
            gtk_widget_set_focusable(focus.widget, 0)
        }
    }

    // MARK: Outline

    private static let outlineWidth: Float = 2

    private func stateDidChange(from former: UInt32) {
        let flag = GTK_STATE_FLAG_FOCUS_VISIBLE.rawValue
        if (former ^ gtk_widget_get_state_flags(focus.widget).rawValue) & flag != 0 {
            gtk_widget_queue_draw(focus.widget)
        }
    }

    /// Draws the outline of a widget that shows that it has the focus.
    func drawOutline(of widget: ObjectPointer, into snapshot: OpaquePointer, width: Double, height: Double) {
        guard widget == focus,
            gtk_widget_get_state_flags(widget.widget).rawValue & GTK_STATE_FLAG_FOCUS_VISIBLE.rawValue != 0
        else { return }
        var area = graphene_rect_t(
            origin: graphene_point_t(x: 0, y: 0), size: graphene_size_t(width: Float(width), height: Float(height)))
        var outline = GskRoundedRect()
        gsk_rounded_rect_init_from_rect(&outline, &area, Self.outlineWidth)
        var color = GdkRGBA()
        web_image_widget_get_color(widget.widget, &color)
        color.alpha /= 2
        gtk_snapshot_append_border(
            snapshot, &outline, [Float](repeating: Self.outlineWidth, count: 4), [GdkRGBA](repeating: color, count: 4))
    }
}
