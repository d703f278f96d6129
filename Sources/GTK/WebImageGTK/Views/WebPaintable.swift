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
            imageSlot.loadsOffscreen = true
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
