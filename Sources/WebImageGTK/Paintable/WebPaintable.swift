public import CWebImageGTK
public import WebImage

/// The picture of a URL as a bare `GdkPaintable`: for any widget, list, cursor or drawing of your own.
///
/// ```swift
/// let icon = WebPaintable(in: gtk_image_new())        // a GtkImage; the widget owns it
/// icon.setImage(url, thumbnail: Thumbnail(width: 32, height: 32))
///
/// let picture = WebPaintable()                        // on its own: keep it as long as it is to load and play
/// picture.setImage(url)
/// gdk_paintable_snapshot(picture.paintable, snapshot, 200, 150)
/// ```
///
/// One without a widget counts as on screen from the first time somebody draws it, and until nobody has for a second although
/// it asked: animations then stand still. Its loads go on off screen.
@MainActor public final class WebPaintable: ImageSlotOwner {
    /// The picture's slot.
    public let imageSlot: ImageSlot

    private let layersPaintable: PicturePaintable
    private let ownHost: ViewHost?
    private var visibilityCall: MainLoopCall?

    /// How long it may ask to be drawn in vain.
    private static let patienceMicroseconds: gint64 = 1_000_000

    /// Makes one without a widget.
    public init() {
        let host = ViewHost()
        ownHost = host
        let surface = PaintedSurface(host: host)
        imageSlot = ImageSlot(key: "image", host: host, surface: surface)
        imageSlot.offscreenLoading = .demote
        layersPaintable = PicturePaintable(surface.layers)
        host.add(imageSlot)
        layersPaintable.onSnapshot = { [weak self] in self?.note(isDrawn: true) }
        layersPaintable.onInvalidate = { [weak self] in self?.didInvalidate() }
    }

    /// Makes one that lives with `widget`, which owns it and in which it is to be seen: its visibility, frame clock and scale
    /// factor count. In a `GtkImage` or `GtkPicture` it shows itself; elsewhere, use ``paintable``.
    ///
    /// - Parameter key: the operation key of its slot; one that the widget has under the same key is retired.
    public init(in widget: UnsafeMutablePointer<GtkWidget>, key: String = "image") {
        let host = ViewHost.of(widget)
        ownHost = nil
        let surface = PaintedSurface(host: host)
        imageSlot = ImageSlot(key: key, host: host, surface: surface)
        layersPaintable = PicturePaintable(surface.layers)
        host.add(imageSlot)
        let pointer = ObjectPointer(widget)
        AssociationKey<WebPaintable>("web-image-paintable-\(key)").set(self, on: pointer)
        if pointer.isInstance(of: gtk_image_get_type()) {
            gtk_image_set_from_paintable(pointer.opaque, paintable)
        } else if pointer.isInstance(of: gtk_picture_get_type()) {
            gtk_picture_set_paintable(pointer.opaque, paintable)
        }
        imageSlot.visibilityDidChange()
    }

    /// The one that `widget` owns under an operation key; `nil` for none.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>, key: String = "image") -> WebPaintable? {
        AssociationKey<WebPaintable>("web-image-paintable-\(key)").value(of: ObjectPointer(widget))
    }

    isolated deinit { if let ownHost { ownHost.remove(imageSlot) } }

    /// The `GdkPaintable`, valid as long as this object; whoever keeps it takes a reference, as widgets do.
    public var paintable: OpaquePointer { layersPaintable.reference.pointer.opaque }

    /// How pictures lie in the area that is drawn; until it is set, they fill it, and whoever draws gives it the picture's
    /// proportions, as widgets do.
    public var contentMode: ImageContentMode {
        get { imageSlot.painted?.layers.contentMode ?? .scaleToFill }
        set { imageSlot.painted?.layers.contentMode = newValue }
    }

    // MARK: Without a widget

    private func didInvalidate() {
        guard layersPaintable.undrawnMicroseconds > Self.patienceMicroseconds else { return }
        note(isDrawn: false)
    }

    /// Later: neither may change what is drawn while it is being drawn.
    private func note(isDrawn: Bool) {
        guard let ownHost, ownHost.isDrawn != isDrawn else { return }
        visibilityCall = MainLoopCall.whenIdle { [weak self] in
            self?.visibilityCall = nil
            self?.ownHost?.isDrawn = isDrawn
        }
    }
}
