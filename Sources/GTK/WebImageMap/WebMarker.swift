internal import CWebImageGTK
public import CWebImageShumate
internal import GTKObjects
@_exported public import WebImageGTK

/// Shows the image of a URL at a location on a map: a `ShumateMarker`, the counterpart of `MKAnnotationView`.
///
/// ```swift
/// let marker = WebMarker(latitude: 45.9763, longitude: 7.6586)
/// marker.size = PointSize(width: 48, height: 48)
/// marker.alternativeText = "Matterhorn"
/// marker.setImage(url, processors: [.circle()])
/// shumate_marker_layer_add_marker(markers, marker.marker)
/// ```
///
/// The widget owns the `WebMarker`, so apps need not retain it. It exists until the widget is destroyed, which also
/// cancels its load. Like any new widget, one that is never added to a layer is never freed.
///
/// libshumate hides markers that are panned out of view. Loads and images follow, as in every view. A hidden marker
/// cancels its load and releases its image; it loads the image again when it becomes visible
/// (``WebImageGTK/ImageSlotOwner/releasesImageOffscreen``). A map may have any number of markers: hidden ones only use memory in
/// the caches, which have limits.
///
/// The center of the marker is at its location. libshumate omits a marker that is as wide or as high as the map. The
/// layer (`shumate_marker_layer_set_selection_mode`) and the marker (`shumate_marker_set_selectable`) determine whether
/// it can be selected, by click or keyboard.
@MainActor public final class WebMarker: ImageSlotOwner {
    /// The `ShumateMarker`, valid while this object exists.
    public let marker: UnsafeMutablePointer<ShumateMarker>

    private let picture: WebPicture
    private let ownership: WidgetOwnership<WebMarker>
    private var wasSelected: Bool

    /// Creates a `ShumateMarker`, or wraps an existing one. GTK must be initialized.
    ///
    /// - Parameters:
    ///   - existing: its child and a previous `WebMarker` are replaced; its properties are not changed. `nil`, the
    ///     default, creates a marker with keyboard access.
    ///   - latitude: degrees north of the equator, limited to the map's 85.05° on both sides; `nil`, the default, does
    ///     not move the marker. A new one is at 0°.
    ///   - longitude: degrees east of Greenwich, limited to −180 and 180; `nil`, the default, as for the latitude.
    public init(
        wrapping existing: UnsafeMutablePointer<ShumateMarker>? = nil, latitude: Double? = nil, longitude: Double? = nil
    ) {
        let marker = existing ?? Self.makeMarker()
        self.marker = marker
        picture = WebPicture()
        let pointer = ObjectPointer(marker)
        ownership = WidgetOwnership(of: pointer, under: Self.key)
        wasSelected = shumate_marker_is_selected(marker) != 0
        // The shortcuts' actions find the widget's current `WebMarker`.
        if Self.key.value(of: pointer) == nil { addKeys() }
        // The previous child's `WebPicture` is released with it.
        shumate_marker_set_child(marker, picture.widget)
        ownership.begin(with: self)
        // One stop of Tab, also after a failure.
        picture.retryFocusWidget = widget
        // A map shows a marker once it has the size of its image.
        (picture.loading, picture.releasesImageOffscreen) = (.eager, true)
        ObjectPointer(picture.widget).onChange(of: "alternative-text") { [weak self] in self?.alternativeTextDidChange()
        }
        pointer.onSignal("state-flags-changed") { [weak self] (_: UInt32) in self?.stateDidChange() }
        updateHighlight()
        if existing == nil { gtk_widget_set_focusable(widget, gboolean(1)) }
        if latitude != nil || longitude != nil {
            setLocation(latitude: latitude ?? self.latitude, longitude: longitude ?? self.longitude)
        }
    }

    /// The `WebMarker` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebMarker? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebMarker>("web-image-marker")

    var widget: UnsafeMutablePointer<GtkWidget> { ObjectPointer(marker).widget }

    // MARK: Location

    /// The latitude in degrees north of the equator, limited to 85.05° on both sides.
    public var latitude: Double {
        get { shumate_location_get_latitude(ObjectPointer(marker).opaque) }
        set { setLocation(latitude: newValue, longitude: longitude) }
    }

    /// The longitude in degrees east of Greenwich, limited to −180 and 180.
    public var longitude: Double {
        get { shumate_location_get_longitude(ObjectPointer(marker).opaque) }
        set { setLocation(latitude: latitude, longitude: newValue) }
    }

    /// Moves the marker: ``latitude`` and ``longitude`` at once, in degrees.
    public func setLocation(latitude: Double, longitude: Double) {
        shumate_location_set_location(ObjectPointer(marker).opaque, latitude, longitude)
    }

    // MARK: Images

    /// The slot of the marker's image, with the operation key `image`.
    public var imageSlot: ImageSlot { picture.imageSlot }

    /// The slot of the highlighted image, with the operation key `highlighted`. Once loaded, the image is shown while
    /// the marker is selected, hovered or focused by keyboard.
    public var highlighted: ImageSlot { picture.highlighted }

    /// Highlights the marker regardless of its state.
    public var isHighlighted = false {
        didSet { updateHighlight() }
    }

    /// The size of the marker in points; `nil`, the default, for the size of its image.
    ///
    /// With a size, images are decoded at that size in pixels (``WebImageGTK/ImageSlotOwner/decodesAtDisplaySize``), and laid out
    /// according to ``WebImageGTK/ImageSlotOwner/contentMode``.
    public var size: PointSize? {
        get { picture.fixedSize }
        set {
            picture.fixedSize = newValue
            picture.decodesAtDisplaySize = newValue != nil
        }
    }

    /// The `GtkPicture` in the marker.
    var imageWidget: UnsafeMutablePointer<GtkWidget> { picture.widget }

    // MARK: Selection

    /// Whether the marker is selected. Setting it selects or deselects the marker; a layer with single selection
    /// deselects the others. Setting it has no effect outside a layer, or if the layer or the marker does not allow
    /// selection.
    public var isSelected: Bool {
        get { shumate_marker_is_selected(marker) != 0 }
        set { if newValue { select() } else { deselect() } }
    }

    /// Called after the user or the program selected or deselected the marker.
    public var onSelectionChange: (@MainActor (_ isSelected: Bool) -> Void)?

    /// - Returns: `false` outside a layer, and if the layer or the marker does not allow selection.
    @discardableResult func select() -> Bool {
        guard let layer else { return false }
        return shumate_marker_layer_select_marker(layer, marker) != 0
    }

    func deselect() {
        if let layer { shumate_marker_layer_unselect_marker(layer, marker) }
    }

    /// The marker's layer; `nil` for none.
    private var layer: OpaquePointer? {
        guard let parent = gtk_widget_get_parent(widget) else { return nil }
        let pointer = ObjectPointer(parent)
        return pointer.isInstance(of: shumate_marker_layer_get_type()) ? pointer.opaque : nil
    }

    private func stateDidChange() {
        updateHighlight()
        guard isSelected != wasSelected else { return }
        wasSelected = isSelected
        ObjectPointer(marker).setAccessibleSelected(isSelected)
        onSelectionChange?(isSelected)
    }

    /// As for a picture, plus the keyboard focus, which must be visible.
    private func updateHighlight() {
        let flags = gtk_widget_get_state_flags(widget)
        let hasVisibleFocus = flags.rawValue & GTK_STATE_FLAG_FOCUS_VISIBLE.rawValue != 0
        picture.isHighlighted = isHighlighted || flags.areHighlighting || hasVisibleFocus
    }

    // MARK: Keyboard and accessibility

    private func alternativeTextDidChange() {
        guard !ownership.isWidgetDestroyed else { return }
        let text = gtk_picture_get_alternative_text(ObjectPointer(picture.widget).opaque)
        ObjectPointer(marker).setAccessibleLabel(text.map { String(cString: $0) })
    }

    /// Makes the keys that activate a button act like a click.
    private func addKeys() {
        let shortcuts = ObjectPointer(gtk_shortcut_controller_new())
        for key in [GDK_KEY_space, GDK_KEY_KP_Space, GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_ISO_Enter] {
            let action = gtk_callback_action_new(
                { widget, _, _ in
                    guard let widget else { return gboolean(0) }
                    return onMainThread(widget) {
                        WebMarker.attached(to: $0)?.toggleSelection() == true ? gboolean(1) : gboolean(0)
                    }
                }, nil, nil)
            gtk_shortcut_controller_add_shortcut(
                shortcuts.opaque,
                gtk_shortcut_new(gtk_keyval_trigger_new(guint(key), GdkModifierType(rawValue: 0)), action))
        }
        gtk_widget_add_controller(widget, shortcuts.opaque)
    }

    /// - Returns: `false` if the key was not used.
    private func toggleSelection() -> Bool {
        guard isSelected, let layer else { return select() }
        // Browse mode always keeps one marker selected.
        if shumate_marker_layer_get_selection_mode(layer) != GTK_SELECTION_BROWSE { deselect() }
        return true
    }

    /// Creates a marker with an accessible role, as an item of its layer. By default, markers have no role.
    private static func makeMarker() -> UnsafeMutablePointer<ShumateMarker> {
        var role = GValue()
        g_value_init(&role, gtk_accessible_role_get_type())
        g_value_set_enum(&role, gint(GTK_ACCESSIBLE_ROLE_LIST_ITEM.rawValue))
        defer { g_value_unset(&role) }
        let marker = "accessible-role".withCString { name in
            var name: UnsafePointer<CChar>? = name
            return ObjectPointer(g_object_new_with_properties(shumate_marker_get_type(), 1, &name, &role))
        }
        return marker.address.assumingMemoryBound(to: ShumateMarker.self)
    }
}
