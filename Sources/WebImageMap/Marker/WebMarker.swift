public import CWebImageGTK
public import CWebImageShumate
public import WebImageGTK

/// Shows the picture of a URL at a place on a map: a `ShumateMarker`, the counterpart of `MKAnnotationView`.
///
/// ```swift
/// let marker = WebMarker(latitude: 45.9763, longitude: 7.6586)
/// marker.size = PointSize(width: 48, height: 48)
/// marker.alternativeText = "Matterhorn"
/// marker.setImage(url, processors: [.circle()])
/// shumate_marker_layer_add_marker(layer, marker.marker)
/// ```
///
/// The widget owns the `WebMarker`, so there is no need to keep it: it lives until the widget is destroyed, which also cancels its
/// load. Like any new widget, one that is never put into a layer is never freed.
///
/// libshumate takes markers off the screen that are panned out of sight. Loads follow that as in every view, and so do pictures:
/// out of sight a marker gives up its load and lets go of its picture, and has both again when it comes back, from memory where
/// the picture is still there (``OffscreenLoading/release``). So a map may have any number of markers: what is out of sight takes
/// memory in the caches alone, which have limits. ``ImageSlot/offscreenLoading`` of ``imageSlot`` is the switch.
///
/// The middle of the marker is on its place. libshumate leaves out a marker that is as wide or as high as the map.
@MainActor public final class WebMarker: ImageSlotOwner {
    /// The `ShumateMarker`; valid as long as this object.
    public let marker: UnsafeMutablePointer<ShumateMarker>

    /// What it shows.
    private let picture: WebPicture
    private let ownership: WidgetOwnership<WebMarker>
    private var wasSelected: Bool

    /// Makes a new `ShumateMarker` that the keyboard can reach. GTK must be initialised.
    ///
    /// - Parameters:
    ///   - latitude: degrees north of the equator, limited to the map's: 85.05° on both sides.
    ///   - longitude: degrees east of Greenwich, from −180 to 180.
    public convenience init(latitude: Double = 0, longitude: Double = 0) {
        self.init(wrapping: Self.makeMarker())
        gtk_widget_set_focusable(widget, gboolean(1))
        setLocation(latitude: latitude, longitude: longitude)
    }

    /// Takes over a `ShumateMarker` that exists: its child is replaced, its properties stay. A `WebMarker` that it has already
    /// loses its place.
    public init(wrapping marker: UnsafeMutablePointer<ShumateMarker>) {
        self.marker = marker
        picture = WebPicture()
        let pointer = ObjectPointer(marker)
        ownership = WidgetOwnership(of: pointer, under: Self.key)
        wasSelected = shumate_marker_is_selected(marker) != 0
        // The actions of keys find whoever has the widget then.
        if Self.key.value(of: pointer) == nil { addKeys() }
        // The child takes its `WebPicture` along, if another `WebMarker` had put it there.
        shumate_marker_set_child(marker, picture.widget)
        ownership.begin(with: self)
        imageSlot.offscreenLoading = .release
        pointer.onSignal("state-flags-changed") { [weak self] (_: UInt32) in self?.stateDidChange() }
        updateHighlight()
    }

    /// Takes over a `ShumateMarker` that exists, given as a pointer to any of the classes it is of.
    public convenience init(wrapping marker: OpaquePointer) {
        self.init(wrapping: UnsafeMutablePointer<ShumateMarker>(marker))
    }

    /// The `WebMarker` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebMarker? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebMarker>("web-image-marker")

    /// ``marker`` as a widget.
    public var widget: UnsafeMutablePointer<GtkWidget> { ObjectPointer(marker).widget }

    // MARK: Pictures

    /// The slot of the marker's picture, of the operation key `image`.
    public var imageSlot: ImageSlot { picture.imageSlot }

    /// The slot of the picture that is shown, once it is there, while the marker is selected, while the pointer is over it or the
    /// keyboard's focus on it, and while ``isHighlighted``. Its operation key is `highlighted`.
    public var highlighted: ImageSlot { picture.highlighted }

    /// Highlights the marker whatever its state.
    public var isHighlighted = false {
        didSet { updateHighlight() }
    }

    /// The size of the marker in points; `nil`, the default, for that of its picture.
    ///
    /// With a size, pictures are decoded at that size on their screen, in pixels (``ImageSlot/decodesAtDisplaySize``), and lie in
    /// it as ``contentMode`` says.
    public var size: PointSize? {
        get { picture.fixedSize }
        set {
            picture.fixedSize = newValue
            picture.decodesAtDisplaySize = newValue != nil
        }
    }

    /// How pictures lie in the marker; by default they fit.
    public var contentMode: ImageContentMode {
        get { picture.contentMode }
        set { picture.contentMode = newValue }
    }

    /// The `GtkPicture` in the marker, for margins and CSS classes. Whoever gives the marker another child
    /// (`shumate_marker_set_child`) ends it and its loads.
    public var imageWidget: UnsafeMutablePointer<GtkWidget> { picture.widget }

    // MARK: Accessibility

    /// What screen readers call the marker and its picture; `nil`, the default, says nothing.
    public var alternativeText: String? {
        get { picture.alternativeText }
        set {
            guard !ownership.isWidgetDestroyed else { return }
            picture.alternativeText = newValue
            ObjectPointer(marker).setAccessibleLabel(newValue)
        }
    }

    // MARK: State

    /// Called after the marker was selected or is no longer, by the user or by the program.
    public var onSelectionChange: (@MainActor (_ isSelected: Bool) -> Void)?

    private func stateDidChange() {
        updateHighlight()
        guard isSelected != wasSelected else { return }
        wasSelected = isSelected
        ObjectPointer(marker).setAccessibleSelected(isSelected)
        onSelectionChange?(isSelected)
    }

    /// What counts as highlighted: what does in a picture, and the keyboard's focus, which is to be seen somehow.
    private static let highlightFlags = WebPicture.highlightFlags | GTK_STATE_FLAG_FOCUS_VISIBLE.rawValue

    private func updateHighlight() {
        picture.isHighlighted = isHighlighted || gtk_widget_get_state_flags(widget).rawValue & Self.highlightFlags != 0
    }
}
