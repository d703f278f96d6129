public import CWebImageGTK
internal import GTKObjects
import WebImage

/// The image of a URL as a `GdkPaintable`, for any widget, list, cursor or drawing.
///
/// ```swift
/// let icon = WebPaintable(in: gtk_image_new())        // a GtkImage; the widget owns it
/// icon.setImage(url, thumbnail: Thumbnail(.pixels(width: 32, height: 32)))
///
/// let image = WebPaintable()                          // without a widget: retain it while it loads and plays
/// image.setImage(url)
/// gdk_paintable_snapshot(image.paintable, snapshot, 200, 150)
/// ```
///
/// A paintable without a widget counts as on screen from its first drawing until its redraw requests go unanswered for
/// a second. Then its animations pause. Its loads continue off screen.
@MainActor public final class WebPaintable: ImageSlotOwner {
    /// The slot of the image.
    public let imageSlot: ImageSlot

    private let picturePaintable: PicturePaintable
    private let ownHost: ViewHost?
    private var visibilityCall: MainLoopCall?

    /// How long redraw requests may go unanswered on screen.
    private static let patienceMicroseconds: gint64 = 1_000_000

    /// Makes a paintable.
    ///
    /// - Parameters:
    ///   - widget: the widget that owns and shows the paintable. Its visibility, frame clock and scale factor apply. A
    ///     `GtkImage` or `GtkPicture` shows the paintable at once; for others use ``paintable``. `nil`, the default,
    ///     makes a paintable without a widget.
    ///   - key: the operation key of the slot. An earlier slot of the widget with the same key is retired.
    public init(in widget: UnsafeMutablePointer<GtkWidget>? = nil, key: String = "image") {
        let host = widget.map { ViewHost.of($0) } ?? ViewHost()
        ownHost = widget == nil ? host : nil
        imageSlot = ImageSlot(key: key, host: host)
        picturePaintable = PicturePaintable(imageSlot.painter)
        host.add(imageSlot)
        guard let widget else {
            (imageSlot.loading, imageSlot.loadsOffscreen) = (.eager, true)
            picturePaintable.onSnapshot = { [weak self] in self?.setDrawn(true) }
            picturePaintable.onInvalidate = { [weak self] in self?.didInvalidate() }
            return
        }
        let pointer = ObjectPointer(widget)
        AssociationKey<WebPaintable>("web-image-paintable-\(key)").set(self, on: pointer)
        if pointer.isInstance(of: gtk_image_get_type()) {
            gtk_image_set_from_paintable(pointer.opaque, paintable)
        } else if pointer.isInstance(of: gtk_picture_get_type()) {
            gtk_picture_set_paintable(pointer.opaque, paintable)
        }
        imageSlot.visibilityDidChange()
    }

    /// Returns the paintable that `widget` owns under an operation key; `nil` if there is none.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>, key: String = "image") -> WebPaintable? {
        AssociationKey<WebPaintable>("web-image-paintable-\(key)").value(of: ObjectPointer(widget))
    }

    isolated deinit { if let ownHost { ownHost.remove(imageSlot) } }

    /// The `GdkPaintable`, valid during the life of this object. Callers that store it must retain it, as widgets do.
    public var paintable: OpaquePointer { picturePaintable.reference.pointer.opaque }

    // MARK: Display

    /// How the image fits the area in which it is drawn.
    ///
    /// `GTK_CONTENT_FIT_FILL`, the default, is for widgets that draw a paintable with its own proportions: the paintable has the image's size
    /// and fills the area. With the others it has no size of its own, takes the area that the widget gives it, and covers it, or fits in it,
    /// also without enlarging (`GTK_CONTENT_FIT_SCALE_DOWN`). Use them in widgets that would show bars beside the image, such as an `AdwAvatar`.
    /// Setting it sets ``ImageSlotOwner/contentMode``.
    public var contentFit = GTK_CONTENT_FIT_FILL {
        didSet {
            imageSlot.contentMode =
                switch contentFit {
                case GTK_CONTENT_FIT_FILL: .scaleToFill
                case GTK_CONTENT_FIT_COVER: .scaleAspectFill
                default: .scaleAspectFit
                }
            imageSlot.painter.enlarges = contentFit != GTK_CONTENT_FIT_SCALE_DOWN
            picturePaintable.preferredSize =
                contentFit == GTK_CONTENT_FIT_FILL ? nil : PointSize(width: 0, height: 0)
        }
    }

    /// A `GdkPaintable` that is drawn while the image is being loaded, below a placeholder of `setImage`; `nil`, the default, draws nothing.
    /// Retained.
    public var pending: OpaquePointer? {
        get { imageSlot.pending?.reference.pointer.opaque }
        set { imageSlot.pending = imageSlot.watched(newValue) }
    }

    /// A `GdkPaintable` that is drawn while there is no image and none is being loaded: without a URL, and after a load has failed, such as with
    /// 404. It takes the place of the placeholder. `nil`, the default, leaves the placeholder. Retained.
    public var fallback: OpaquePointer? {
        get { imageSlot.fallback?.reference.pointer.opaque }
        set { imageSlot.fallback = imageSlot.watched(newValue) }
    }

    // MARK: Without a widget

    private func didInvalidate() {
        if picturePaintable.undrawnMicroseconds > Self.patienceMicroseconds { setDrawn(false) }
    }

    /// Applies the change when the main loop is idle, because the content must not change during a drawing.
    private func setDrawn(_ isDrawn: Bool) {
        guard let ownHost, ownHost.isDrawn != isDrawn else { return }
        visibilityCall = MainLoopCall.whenIdle { [weak self] in
            self?.visibilityCall = nil
            self?.ownHost?.isDrawn = isDrawn
        }
    }
}
