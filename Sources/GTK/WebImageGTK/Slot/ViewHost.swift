internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// Connects the slots of a view with their widget: visibility, size, scale factor, theme and state. The widget owns the
/// host.
///
/// The host of a paintable without a widget uses a timer for frames, and is visible while the paintable is drawn.
///
/// ```
///    widget ──owns──► ViewHost ──owns──► ImageSlot, one for each operation key
///      │ map, unmap, destroy, scale factor, state ─────────▲
/// ```
@MainActor final class ViewHost {
    /// Returns the host of `widget`, which is made on first use.
    static func of(_ widget: UnsafeMutablePointer<GtkWidget>) -> ViewHost {
        let pointer = ObjectPointer(widget)
        if let host = key.value(of: pointer) { return host }
        MainLoop.install()
        let host = ViewHost(widget)
        key.set(host, on: pointer)
        return host
    }

    /// Returns the host of `widget`; `nil` if there is none.
    static func known(of widget: UnsafeMutablePointer<GtkWidget>) -> ViewHost? { key.value(of: ObjectPointer(widget)) }

    private static let key = AssociationKey<ViewHost>("web-image-host")

    /// The widget; `nil` once it is being destroyed, and for a paintable without a widget.
    private(set) var widget: UnsafeMutablePointer<GtkWidget>?
    /// The slots by operation key.
    private(set) var slots: [String: ImageSlot] = [:]
    /// Whether a paintable without a widget is being drawn.
    var isDrawn = false {
        didSet { if isDrawn != oldValue { visibilityDidChange() } }
    }
    /// What is known of the widget's place in scrolled windows.
    var place = Place()
    private let isBare: Bool
    private var onStateChange: [@MainActor () -> Void] = []
    private var retryControls: RetryControls?
    /// The widget around this one that takes the focus for another attempt; `nil` for this one. Not retained.
    var retryFocus: ObjectPointer? {
        didSet { if retryFocus != oldValue { retryFocusDidChange() } }
    }

    private init(_ widget: UnsafeMutablePointer<GtkWidget>) {
        self.widget = widget
        isBare = false
        let pointer = ObjectPointer(widget)
        pointer.onSignal("map") { [weak self] in self?.visibilityDidChange() }
        pointer.onSignal("unmap") { [weak self] in
            self?.placeIsUnknown()
            self?.visibilityDidChange()
        }
        // A list has taken the cell.
        pointer.onChange(of: "root") { [weak self] in self?.checkPlace() }
        pointer.onSignal("destroy") { [weak self] in self?.didDestroyWidget() }
        pointer.onSignal("state-flags-changed") { [weak self] (_: UInt32) in self?.stateDidChange() }
        pointer.onChange(of: "scale-factor") { [weak self] in self?.displaySizeDidChange() }
    }

    /// The host of a paintable without a widget.
    init() {
        MainLoop.install()
        isBare = true
    }

    // MARK: Slots

    /// Adds `slot` under its key, and retires an earlier slot with that key.
    func add(_ slot: ImageSlot) {
        slots[slot.key]?.retire()
        slots[slot.key] = slot
        slot.host = self
    }

    /// Retires a slot and removes it.
    func remove(_ slot: ImageSlot) {
        guard slots[slot.key] === slot else { return }
        slots[slot.key] = nil
        slot.retire()
        updateRetryControls()
    }

    /// Calls `body` after each change of the widget's state flags.
    func whenStateChanges(_ body: @escaping @MainActor () -> Void) { onStateChange.append(body) }

    // MARK: Retries

    /// Called when a slot begins or ceases to allow retries, fails, or starts another load.
    func updateRetryControls() {
        let retriable = slots.values.filter { $0.retriesOnTap && $0.isOnShow }
        if retryControls == nil, !retriable.isEmpty, let widget {
            let pointer = ObjectPointer(widget)
            retryControls = RetryControls(clicked: pointer, focus: retryFocus ?? pointer) { [weak self] in
                self?.retry() ?? false
            }
        }
        retryControls?.isOffered = retriable.contains { if case .failed = $0.state { true } else { false } }
    }

    private func retryFocusDidChange() {
        retryControls?.remove()
        retryControls = nil
        if let focus = retryFocus {
            focus.onSignal("destroy") { [weak self] in if self?.retryFocus == focus { self?.retryFocus = nil } }
        }
        updateRetryControls()
    }

    private func retry() -> Bool {
        slots.values.filter { $0.retriesOnTap && $0.isOnShow }.map { $0.retry() }.contains(true)
    }

    func drawFocusOutline(into snapshot: OpaquePointer, width: Double, height: Double) {
        guard let widget else { return }
        retryControls?.drawOutline(of: ObjectPointer(widget), into: snapshot, width: width, height: height)
    }

    // MARK: Properties

    /// Whether the widget is mapped, or the paintable without a widget is being drawn.
    var isVisible: Bool { widget.map { gtk_widget_get_mapped($0) != 0 } ?? (isBare && isDrawn) }

    /// Pixels per point on the widget's screen; 1 without a widget.
    var scaleFactor: Double { widget.map { Double(max(1, gtk_widget_get_scale_factor($0))) } ?? 1 }

    /// The size from the layout in points; `nil` while it is empty or depends on the image.
    var displaySize: PointSize? {
        guard let widget else { return nil }
        let (width, height) = (gtk_widget_get_width(widget), gtk_widget_get_height(widget))
        if width > Self.emptySize || height > Self.emptySize {
            return PointSize(width: Double(width), height: Double(height))
        }
        // Before the first layout, the size request applies, such as that of a list cell.
        var (wantedWidth, wantedHeight): (gint, gint) = (0, 0)
        gtk_widget_get_size_request(widget, &wantedWidth, &wantedHeight)
        return wantedWidth > 0 && wantedHeight > 0
            ? PointSize(width: Double(wantedWidth), height: Double(wantedHeight)) : nil
    }

    /// The size of a `GtkPicture` without an image, in points. A widget that is no larger may take its size from the
    /// image.
    private static let emptySize: gint = 16

    /// The user's setting `gtk-enable-animations`.
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

    /// Whether the theme of the widget is dark, which the brightness of its text tells.
    var isDark: Bool {
        guard let widget else { return false }
        var color = GdkRGBA()
        web_image_widget_get_color(widget, &color)
        return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue > 0.5
    }

    /// The nearest scrolled window around the widget; `nil` if there is none.
    var scrollWatch: ScrollWatch? { widget.flatMap(ScrollWatch.around) }

    func setAlternativeText(_ text: String?) {
        guard let pointer = widget.map({ ObjectPointer($0) }) else { return }
        if pointer.isInstance(of: gtk_picture_get_type()) {
            gtk_picture_set_alternative_text(pointer.opaque, text)
        } else {
            pointer.setAccessibleLabel(text)
        }
    }

    // MARK: Changes

    func displaySizeDidChange() { for slot in slots.values { slot.displaySizeDidChange() } }

    private func visibilityDidChange() { for slot in slots.values { slot.visibilityDidChange() } }

    private func stateDidChange() { for body in onStateChange { body() } }

    private func didDestroyWidget() {
        guard widget != nil else { return }
        for slot in slots.values { slot.retire() }
        slots = [:]
        onStateChange = []
        // The widget around this one may stay.
        if retryFocus != nil { retryControls?.remove() }
        retryControls = nil
        widget = nil
    }
}
