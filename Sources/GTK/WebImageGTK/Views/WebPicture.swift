public import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
public import WebImage

/// Shows the image of a URL in a `GtkPicture`, and another image while it is highlighted.
///
/// ```swift
/// let picture = WebPicture()
/// picture.setImage(url, placeholder: .color(.white), options: .fadeIn)
/// gtk_box_append(box, picture.widget)
/// ```
///
/// The widget owns the `WebPicture`, so callers need not retain it. Destroying the widget cancels the load and releases
/// the `WebPicture`. Like any new widget, one that is never added to a container is never freed.
///
/// Loads follow visibility. A picture loads while it is mapped, and less than a page away from the visible area of the
/// scrolled windows around it; ``ImageSlotOwner/loading`` can make it load at once. On screen (mapped) a load has its
/// own priority, off screen at most `low`. When the widget leaves the screen, its load is cancelled once the main loop is idle, so that moving it between containers does not
/// count. The load starts again when the widget returns. In a list, set the URL when an item is bound and call
/// ``ImageSlotOwner/prepareForReuse()`` when it is unbound, or use ``makeListItemFactory(makeCell:unbind:bind:)``.
///
/// Animations play while the widget is on screen (``ImageSlotOwner/autoplay``).
@MainActor public final class WebPicture: ImageSlotOwner {
    /// The `GtkPicture`, valid during the life of this object.
    public let widget: UnsafeMutablePointer<GtkWidget>
    /// The slot of the image, with the operation key `image`.
    public let imageSlot: ImageSlot

    let picturePaintable: PicturePaintable
    private let host: ViewHost
    private var highlightedSlot: ImageSlot?
    private var sizeCall: MainLoopCall?
    private var knownSize: PointSize?
    private let ownership: WidgetOwnership<WebPicture>

    /// Makes a new `GtkPicture`, or takes over an existing one. GTK must be initialized, as it is in an application's
    /// `activate`.
    ///
    /// - Parameter widget: a `GtkPicture`. Its paintable is replaced, its other properties stay. An earlier
    ///   `WebPicture` of it is replaced. `nil`, the default, makes a new one.
    public init(wrapping widget: UnsafeMutablePointer<GtkWidget>? = nil) {
        let widget: UnsafeMutablePointer<GtkWidget> = if let widget { widget } else { gtk_picture_new() }
        self.widget = widget
        host = ViewHost.of(widget)
        imageSlot = ImageSlot(key: "image", host: host)
        picturePaintable = PicturePaintable(imageSlot.painter)
        let pointer = ObjectPointer(widget)
        ownership = WidgetOwnership(of: pointer, under: Self.key)
        if let former = Self.key.value(of: pointer)?.highlightedSlot { host.remove(former) }
        host.add(imageSlot)
        ownership.begin(with: self) { [weak self] in self?.didDestroyWidget() }
        configure(imageSlot)
        gtk_picture_set_paintable(pointer.opaque, picturePaintable.reference.pointer.opaque)
        picturePaintable.onSnapshot = { [weak self] in self?.willDraw() }
        picturePaintable.offset = { [weak self] in self?.offset(width: $0, height: $1) }
        picturePaintable.foreground = { [weak host] in host?.drawFocusOutline(into: $0, width: $1, height: $2) }
        host.whenStateChanges { [weak self] in self?.updateHighlight() }
        imageSlot.visibilityDidChange()
    }

    private func configure(_ slot: ImageSlot) {
        slot.resizeMode = { [weak self, weak slot] in slot.flatMap { self?.resizeMode(for: $0.contentMode) } }
        slot.defaultContentMode = { [weak self] in self?.contentModeOfWidget ?? .scaleAspectFit }
        slot.takesWholeArea = { [weak self] in self?.takeWholeArea() }
    }

    /// The widget that takes the focus while a load has failed (``ImageSlotOwner/retriesOnTap``): the `GtkPicture` by
    /// default, or a widget around it, such as a card or a row of a list.
    ///
    /// ```swift
    /// picture.retriesOnTap = true
    /// picture.retryFocusWidget = row
    /// ```
    ///
    /// Enter and Space start the load again while this widget has the focus. Only the `GtkPicture` draws an outline of
    /// its own for it. The widget is not retained: when it is destroyed, the `GtkPicture` takes its place.
    public var retryFocusWidget: UnsafeMutablePointer<GtkWidget> {
        get { host.retryFocus?.widget ?? widget }
        set { host.retryFocus = newValue == widget ? nil : ObjectPointer(newValue) }
    }

    /// ``widget`` as the pointer type of `gtk_picture_…` functions.
    var picture: OpaquePointer { ObjectPointer(widget).opaque }

    /// The `WebPicture` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebPicture? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebPicture>("web-image-picture")

    // MARK: Highlight

    /// The slot of the highlighted image, with the operation key `highlighted`. The image is shown, once it has loaded,
    /// while the pointer is over the widget or presses it, while it is selected or checked, and while
    /// ``isHighlighted``.
    public var highlighted: ImageSlot {
        if let highlightedSlot { return highlightedSlot }
        let slot = ImageSlot(key: "highlighted", host: host)
        slot.isOnShow = false
        highlightedSlot = slot
        guard !ownership.isWidgetDestroyed else {
            slot.retire()
            return slot
        }
        host.add(slot)
        configure(slot)
        slot.primary = imageSlot
        slot.loading = imageSlot.loading
        slot.loadsOffscreen = imageSlot.loadsOffscreen
        slot.releasesImageOffscreen = imageSlot.releasesImageOffscreen
        slot.painter.primary = imageSlot.painter
        slot.painter.onContentChange = { [weak self] in self?.updateHighlight() }
        return slot
    }

    /// Highlights the image regardless of the widget's state, as for a selected row; `false` by default.
    public var isHighlighted = false {
        didSet { updateHighlight() }
    }

    private func updateHighlight() {
        guard let highlightedSlot else { return }
        let isWanted = isHighlighted || host.stateFlags.areHighlighting
        let showsIt = isWanted && !highlightedSlot.painter.top.isEmpty
        picturePaintable.painter = showsIt ? highlightedSlot.painter : imageSlot.painter
        imageSlot.isOnShow = !showsIt
        highlightedSlot.isOnShow = showsIt
    }

    // MARK: Layout

    /// Gives the painter the widget's whole area, in which it lays out the image. All images without their own content
    /// mode keep the widget's.
    private func takeWholeArea() {
        if imageSlot.painter.contentMode == nil { imageSlot.painter.contentMode = contentModeOfWidget }
        gtk_picture_set_content_fit(picture, GTK_CONTENT_FIT_FILL)
        picturePaintable.invalidateContents()
    }

    private var contentModeOfWidget: ImageContentMode {
        switch gtk_picture_get_content_fit(picture) {
        case GTK_CONTENT_FIT_FILL: .scaleToFill
        case GTK_CONTENT_FIT_COVER: .scaleAspectFill
        default: .scaleAspectFit
        }
    }

    /// Where a `GtkPicture` that covers its area, and centers the image, moves it for the focal point; `nil` for the center, and where
    /// the painter lays out the image.
    private func offset(width: Double, height: Double) -> (x: Double, y: Double)? {
        let painter = picturePaintable.painter
        guard painter.focus != .center, painter.contentMode == nil, contentModeOfWidget == .scaleAspectFill else {
            return nil
        }
        let (areaWidth, areaHeight) = (Double(gtk_widget_get_width(widget)), Double(gtk_widget_get_height(widget)))
        return (
            (width - areaWidth) / 2 - FocalPoint.start(of: painter.focus.left, part: areaWidth, in: width),
            (height - areaHeight) / 2 - FocalPoint.start(of: painter.focus.top, part: areaHeight, in: height)
        )
    }

    /// The size that the widget prefers, in points; `nil`, the default, prefers the image's size.
    ///
    /// The layout is the same before and after the image has loaded, so that rows of a list with images of known
    /// proportions do not move. The layout may make the widget smaller or larger. The height then follows from the
    /// width, with the proportions of `naturalSize`. ``fixedSize`` takes precedence.
    ///
    /// A `GtkListView` gives rows their smallest height, which is 0 for a picture, unless its `vscroll-policy` is
    /// `GTK_SCROLL_NATURAL`:
    ///
    /// ```swift
    /// gtk_scrollable_set_vscroll_policy(list, GTK_SCROLL_NATURAL)
    /// ```
    public var naturalSize: PointSize? {
        didSet { preferredSizeDidChange() }
    }

    /// The size that the widget requests from the layout, in points; `nil`, the default, requests ``naturalSize`` or
    /// the image's size. The layout never makes the widget smaller.
    public var fixedSize: PointSize? {
        didSet {
            preferredSizeDidChange()
            let (width, height) = fixedSize?.wholePoints ?? (-1, -1)
            gtk_widget_set_size_request(widget, width, height)
        }
    }

    private func preferredSizeDidChange() {
        let size = fixedSize ?? naturalSize
        // From now on the paintable has the proportions of the widget, and lays out the image itself.
        if size != nil { takeWholeArea() }
        picturePaintable.preferredSize = size
    }

    /// The mode for decoding at display size; `nil` for content modes that show images at their own size, which need
    /// all pixels.
    private func resizeMode(for contentMode: ImageContentMode) -> ResizeMode? {
        switch contentMode {
        case .scaleAspectFit: .aspectFit
        case .scaleAspectFill, .scaleToFill: .aspectFill
        default: nil
        }
    }

    /// Checks whether a layout has changed the size, because GTK 4 has no signal for that.
    private func willDraw() {
        guard imageSlot.decodesAtDisplaySize, let size = host.displaySize, size != knownSize else { return }
        knownSize = size
        // Waits 100 ms, because windows grow in many steps. The first size is used at once.
        sizeCall = MainLoopCall.after(milliseconds: imageSlot.waitsForSize ? 0 : 100) { [weak self] in
            self?.host.displaySizeDidChange()
        }
    }

    // MARK: End

    private func didDestroyWidget() {
        sizeCall = nil
        for slot in [imageSlot, highlightedSlot] { slot?.retire() }
        // A widget with another reference is disposed of again at its end. GTK 4.8's GtkPicture releases its paintable
        // both times because it does not clear the field. This adds a reference for the second time and clears the
        // field.
        let pointer = picturePaintable.reference.pointer
        guard gtk_picture_get_paintable(picture) == pointer.opaque else { return }
        g_object_ref(pointer.address)
        gtk_picture_set_paintable(picture, nil)
    }
}
