internal import CWebImageGTK
internal import WebImage

/// What the slots of a view know of the widget they lie in; the widget owns it.
///
/// A paintable of its own has no widget: its host takes the time from the main loop, and counts as visible for as long as
/// somebody draws it.
///
/// ```
///    widget ──owns──► ViewHost ──owns──► ImageSlot, one for each operation key
///      │ map, unmap, destroy, scale factor, state ─────────▲
/// ```
@MainActor final class ViewHost {
    /// The host of `widget`, made when it has none yet.
    static func of(_ widget: UnsafeMutablePointer<GtkWidget>) -> ViewHost {
        let pointer = ObjectPointer(widget)
        if let host = key.value(of: pointer) { return host }
        MainLoop.install()
        let host = ViewHost(widget)
        key.set(host, on: pointer)
        return host
    }

    /// The host of `widget`, if it has one.
    static func known(of widget: UnsafeMutablePointer<GtkWidget>) -> ViewHost? { key.value(of: ObjectPointer(widget)) }

    private static let key = AssociationKey<ViewHost>("web-image-host")

    /// `nil` once it is being destroyed, and for a paintable of its own.
    private(set) var widget: UnsafeMutablePointer<GtkWidget>?
    /// By operation key.
    private(set) var slots: [String: ImageSlot] = [:]
    /// Whether a paintable of its own is being drawn.
    var isDrawn = false {
        didSet { if isDrawn != oldValue { visibilityDidChange() } }
    }
    private let isBare: Bool
    private var onStateChange: [@MainActor () -> Void] = []

    private init(_ widget: UnsafeMutablePointer<GtkWidget>) {
        self.widget = widget
        isBare = false
        let pointer = ObjectPointer(widget)
        pointer.onSignal("map") { [weak self] in self?.visibilityDidChange() }
        pointer.onSignal("unmap") { [weak self] in self?.visibilityDidChange() }
        pointer.onSignal("destroy") { [weak self] in self?.didDestroyWidget() }
        pointer.onSignal("state-flags-changed") { [weak self] (_: UInt32) in self?.stateDidChange() }
        pointer.onChange(of: "scale-factor") { [weak self] in self?.roomDidChange() }
    }

    /// The host of a paintable that nobody has put into a widget of ours.
    init() {
        MainLoop.install()
        isBare = true
    }

    // MARK: Slots

    /// Keeps `slot` under its key; the one that was there is retired.
    func add(_ slot: ImageSlot) {
        slots[slot.key]?.retire()
        slots[slot.key] = slot
        slot.host = self
    }

    /// Lets a slot go.
    func remove(_ slot: ImageSlot) {
        guard slots[slot.key] === slot else { return }
        slots[slot.key] = nil
        slot.retire()
    }

    /// Calls `body` after each change of the widget's state flags.
    func whenStateChanges(_ body: @escaping @MainActor () -> Void) { onStateChange.append(body) }

    // MARK: Facts

    /// Whether the user can see it, as far as the toolkit knows.
    var isVisible: Bool { widget.map { gtk_widget_get_mapped($0) != 0 } ?? (isBare && isDrawn) }

    /// Pixels in a point of the screen it is on.
    var scaleFactor: Double { widget.map { Double(max(1, gtk_widget_get_scale_factor($0))) } ?? 1 }

    /// What the layout gave it, in points; `nil` while that is nothing, or left to the picture.
    var room: PointSize? {
        guard let widget else { return nil }
        let (width, height) = (gtk_widget_get_width(widget), gtk_widget_get_height(widget))
        if width > Self.emptySize || height > Self.emptySize {
            return PointSize(width: Double(width), height: Double(height))
        }
        // Before the first layout: what it asks for, as a cell of a list does.
        var (wantedWidth, wantedHeight): (gint, gint) = (0, 0)
        gtk_widget_get_size_request(widget, &wantedWidth, &wantedHeight)
        return wantedWidth > 0 && wantedHeight > 0
            ? PointSize(width: Double(wantedWidth), height: Double(wantedHeight)) : nil
    }

    /// What a `GtkPicture` without a picture asks for: one that has no more takes its size from the picture to come.
    private static let emptySize: gint = 16

    /// The user's wish in the desktop's settings.
    var allowsAnimations: Bool {
        guard let settings = widget.map({ gtk_widget_get_settings($0) }) ?? gtk_settings_get_default() else {
            return true
        }
        var value = GValue()
        g_object_get_property(ObjectPointer(settings).object, "gtk-enable-animations", &value)
        defer { g_value_unset(&value) }
        return g_value_get_boolean(&value) != 0
    }

    var isRightToLeft: Bool { widget.map { gtk_widget_get_direction($0) == GTK_TEXT_DIR_RTL } ?? false }

    var stateFlags: GtkStateFlags { widget.map { gtk_widget_get_state_flags($0) } ?? GtkStateFlags(rawValue: 0) }

    /// Whether the theme writes bright on dark there.
    var isDark: Bool {
        guard let widget else { return false }
        var color = GdkRGBA()
        web_image_widget_get_color(widget, &color)
        return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue > 0.5
    }

    /// The list it is scrolled with; `nil` outside of any.
    var scrollWatch: ScrollWatch? { widget.flatMap(ScrollWatch.around) }

    // MARK: Changes

    func roomDidChange() { for slot in slots.values { slot.roomDidChange() } }

    private func visibilityDidChange() { for slot in slots.values { slot.visibilityDidChange() } }

    private func stateDidChange() { for body in onStateChange { body() } }

    private func didDestroyWidget() {
        guard widget != nil else { return }
        for slot in slots.values { slot.retire() }
        slots = [:]
        onStateChange = []
        widget = nil
    }
}
