public import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// The round picture of a person or a group, and the initials of its name on a color until there is a picture, and if there is none.
///
/// ```swift
/// let avatar = WebAvatar(text: "Ada Lovelace", size: 48)
/// avatar.setImage(url)
/// gtk_box_append(box, avatar.widget)
/// ```
///
/// The initials are the first letters of the first and the last word. Each name has one color, in every run of every program, with a contrast for
/// white text, in light and dark themes. The picture covers the circle, around its ``ImageSlotOwner/focus``, and is decoded at that size. The
/// initials return if another URL is set, and stay if the load fails.
///
/// The widget owns the `WebAvatar`, as with a ``WebPicture``, which it is built on. For an `AdwAvatar`, see <doc:Views>.
@MainActor public final class WebAvatar: ImageSlotOwner {
    /// The name, also for assistive technologies. An avatar without a name has a figure in place of the initials.
    public var text: String {
        didSet { if text != oldValue { textDidChange() } }
    }
    /// The diameter in points; 48 by default.
    public var size: Double {
        didSet { if size != oldValue { picture.fixedSize = PointSize(width: size, height: size) } }
    }
    /// The slot of the picture, with the operation key `image`.
    public var imageSlot: ImageSlot { picture.imageSlot }
    /// The `GtkPicture`, valid during the life of this object.
    public var widget: UnsafeMutablePointer<GtkWidget> { picture.widget }

    private let picture: WebPicture

    /// Makes an avatar with a new `GtkPicture`.
    ///
    /// - Parameters:
    ///   - text: the name; empty by default.
    ///   - size: the diameter in points; 48 by default.
    public init(text: String = "", size: Double = 48) {
        self.text = text
        self.size = size
        picture = WebPicture()
        for align in [gtk_widget_set_halign, gtk_widget_set_valign] { align(picture.widget, GTK_ALIGN_CENTER) }
        picture.contentMode = .scaleAspectFill
        picture.fixedSize = PointSize(width: size, height: size)
        picture.decodesAtDisplaySize = true
        picture.picturePaintable.isRound = true
        textDidChange()
        let pointer = ObjectPointer(picture.widget)
        Self.key.set(self, on: pointer)
        // The picture retains its destroyed widget.
        pointer.onSignal("destroy") { Self.key.set(nil, on: pointer) }
    }

    /// The `WebAvatar` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebAvatar? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebAvatar>("web-image-avatar")

    /// Returns a new `GdkPaintable` that fills its area with the color of a name, and its initials, such as for the
    /// ``WebPaintable/fallback`` of a paintable. The caller owns the reference (`g_object_unref`).
    public static func makeInitials(of name: String) -> OpaquePointer {
        let initials = Initials(of: name).makePaintable()
        g_object_ref(initials.pointer.address)
        return initials.pointer.opaque
    }

    private func textDidChange() {
        let initials = Initials(of: text).makePaintable()
        imageSlot.pending = imageSlot.watched(initials.pointer.opaque)
        imageSlot.fallback = imageSlot.pending
        ObjectPointer(widget).setAccessibleLabel(text.isEmpty ? nil : text)
    }
}
