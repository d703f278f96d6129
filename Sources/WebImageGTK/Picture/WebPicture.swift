public import CWebImageGTK
import FoundationEssentials
public import WebImage

/// Shows the picture of a URL in a `GtkPicture`, and another one while it is highlighted.
///
/// ```swift
/// let picture = WebPicture()
/// picture.setImage(url, placeholder: .color(.white), options: .fadeIn)
/// gtk_box_append(box, picture.widget)
/// ```
///
/// The widget owns the `WebPicture`, so there is no need to keep it: it lives until the widget is destroyed, which also
/// cancels its load. Like any new widget, one that is never put into a container is never freed.
///
/// Loads follow what can be seen. Off screen (not mapped) a load has low priority; on screen it has its own. One whose
/// widget leaves the screen is given up as soon as the main loop is idle, so that moving a widget between containers does
/// not count, and starts again when the widget comes back. In a list, set the URL when an item is bound and call
/// ``ImageSlotOwner/prepareForReuse()`` when it is unbound, or let a ``WebPictureFactory`` do it.
///
/// Animations play while the widget is on screen (``ImageSlotOwner/autoplay``).
@MainActor public final class WebPicture: ImageSlotOwner {
    /// The `GtkPicture`; valid as long as this object.
    public let widget: UnsafeMutablePointer<GtkWidget>
    /// The picture's slot, of the operation key `image`.
    public let imageSlot: ImageSlot

    let paintable: PicturePaintable
    private let host: ViewHost
    private var highlightedSlot: ImageSlot?
    private var roomCall: MainLoopCall?
    private var knownRoom: PointSize?
    private let ownership: WidgetOwnership<WebPicture>

    /// Makes a new `GtkPicture`. GTK must be initialised, as it is inside an application's `activate`.
    public convenience init() { self.init(wrapping: gtk_picture_new()) }

    /// Takes over a `GtkPicture` that exists: its paintable is replaced, its other properties stay. A `WebPicture` that
    /// it has already loses its place.
    public init(wrapping widget: UnsafeMutablePointer<GtkWidget>) {
        self.widget = widget
        host = ViewHost.of(widget)
        let surface = PaintedSurface(host: host)
        imageSlot = ImageSlot(key: "image", host: host, surface: surface)
        paintable = PicturePaintable(surface.layers)
        let pointer = ObjectPointer(widget)
        ownership = WidgetOwnership(of: pointer, under: Self.key)
        if let former = Self.key.value(of: pointer)?.highlightedSlot { host.remove(former) }
        host.add(imageSlot)
        ownership.begin(with: self) { [weak self] in self?.didDestroyWidget() }
        imageSlot.resizeMode = { [weak self] in self?.resizeMode }
        gtk_picture_set_paintable(pointer.opaque, paintable.reference.pointer.opaque)
        paintable.onSnapshot = { [weak self] in self?.willDraw() }
        host.whenStateChanges { [weak self] in self?.updateHighlight() }
        imageSlot.visibilityDidChange()
    }

    /// Takes over a `GtkPicture` that exists, given as the pointer type Swift uses for classes with hidden fields.
    public convenience init(wrapping picture: OpaquePointer) { self.init(wrapping: ObjectPointer(picture).widget) }

    /// ``widget`` as the pointer type Swift uses for classes with hidden fields, for `gtk_picture_…` functions.
    public var picture: OpaquePointer { ObjectPointer(widget).opaque }

    /// The `WebPicture` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebPicture? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebPicture>("web-image-picture")

    // MARK: Highlight

    /// The slot of the picture that is shown, once it is there, while the pointer is over the widget or presses it, while it
    /// is selected or checked, and while ``isHighlighted``. Its operation key is `highlighted`.
    public var highlighted: ImageSlot {
        if let highlightedSlot { return highlightedSlot }
        let surface = PaintedSurface(host: host)
        let slot = ImageSlot(key: "highlighted", host: host, surface: surface)
        slot.isOnShow = false
        highlightedSlot = slot
        guard !ownership.isWidgetDestroyed else {
            slot.retire()
            return slot
        }
        host.add(slot)
        slot.resizeMode = { [weak self] in self?.resizeMode }
        slot.decodesAtDisplaySize = imageSlot.decodesAtDisplaySize
        slot.offscreenLoading = imageSlot.offscreenLoading
        surface.layers.contentMode = imageSlot.painted?.layers.contentMode
        surface.onContentChange = { [weak self] in self?.updateHighlight() }
        return slot
    }

    /// Highlights the picture whatever the widget's state, as a selected row does.
    public var isHighlighted = false {
        didSet { updateHighlight() }
    }

    /// What counts as highlighted.
    package static let highlightFlags =
        GTK_STATE_FLAG_PRELIGHT.rawValue | GTK_STATE_FLAG_ACTIVE.rawValue | GTK_STATE_FLAG_SELECTED.rawValue
        | GTK_STATE_FLAG_CHECKED.rawValue

    private func updateHighlight() {
        guard let highlightedSlot, let highlighted = highlightedSlot.painted, let normal = imageSlot.painted else {
            return
        }
        let isWanted = isHighlighted || host.stateFlags.rawValue & Self.highlightFlags != 0
        let showsIt = isWanted && !highlighted.layers.top.isEmpty
        paintable.layers = showsIt ? highlighted.layers : normal.layers
        imageSlot.isOnShow = !showsIt
        highlightedSlot.isOnShow = showsIt
    }

    // MARK: Layout

    /// How pictures lie in the widget: all that UIKit has, ``ImageContentMode/scaleAspectFill`` being the one that fills it and
    /// cuts off what sticks out. Until it is set, the widget's own `content-fit` decides, which is to fit unless told
    /// otherwise.
    public var contentMode: ImageContentMode {
        get { imageSlot.painted?.layers.contentMode ?? contentModeOfWidget }
        set {
            for slot in [imageSlot, highlightedSlot] { slot?.painted?.layers.contentMode = newValue }
            // The paintable gets the whole area and does it itself.
            gtk_picture_set_content_fit(picture, GTK_CONTENT_FIT_FILL)
        }
    }

    private var contentModeOfWidget: ImageContentMode {
        switch gtk_picture_get_content_fit(picture) {
        case GTK_CONTENT_FIT_FILL: .scaleToFill
        case GTK_CONTENT_FIT_COVER: .scaleAspectFill
        default: .scaleAspectFit
        }
    }

    /// Whether pictures are decoded at the widget's size on its screen, in pixels, and again when it grows or moves to a screen
    /// with more pixels; see ``ImageSlot/decodesAtDisplaySize``.
    public var decodesAtDisplaySize: Bool {
        get { imageSlot.decodesAtDisplaySize }
        set { for slot in [imageSlot, highlightedSlot] { slot?.decodesAtDisplaySize = newValue } }
    }

    /// The size that the widget asks the layout for, in points, whatever its picture would like; `nil`, the default, asks for the
    /// picture's own.
    public var fixedSize: PointSize? {
        get { paintable.fixedSize }
        set {
            // The paintable has the proportions of the place from now on, and lays the picture out by itself.
            if newValue != nil { contentMode = contentMode }
            paintable.fixedSize = newValue
            let (width, height) = newValue?.wholePoints ?? (-1, -1)
            gtk_widget_set_size_request(widget, width, height)
        }
    }

    /// Pictures at their own size need all their pixels.
    private var resizeMode: ResizeMode? {
        switch contentMode {
        case .scaleAspectFit: .aspectFit
        case .scaleAspectFill, .scaleToFill, .redraw: .aspectFill
        default: nil
        }
    }

    /// A layout is over, and the widget may have another size: GTK 4 has no signal for that.
    private func willDraw() {
        guard decodesAtDisplaySize, let room = host.room, room != knownRoom else { return }
        knownRoom = room
        // Windows grow in many steps; the first size is wanted at once.
        roomCall = MainLoopCall.after(milliseconds: imageSlot.setter.waitsForRoom ? 0 : 100) { [weak self] in
            self?.host.roomDidChange()
        }
    }

    // MARK: Accessibility

    /// What screen readers say for the picture; `nil`, the default, says nothing.
    public var alternativeText: String? {
        get { gtk_picture_get_alternative_text(picture).map { String(cString: $0) } }
        set { gtk_picture_set_alternative_text(picture, newValue) }
    }

    // MARK: End

    private func didDestroyWidget() {
        roomCall = nil
        for slot in [imageSlot, highlightedSlot] { slot?.retire() }
        forgetPaintable()
    }

    /// A widget that is kept is disposed of a second time at its end. GTK 4.8's `GtkPicture` gives its paintable back both
    /// times: it does not clear the field. So this lends it a reference for the second and clears the field.
    private func forgetPaintable() {
        let pointer = paintable.reference.pointer
        guard gtk_picture_get_paintable(picture) == pointer.opaque else { return }
        g_object_ref(pointer.address)
        gtk_picture_set_paintable(picture, nil)
    }
}
