public import CWebImageGTK
public import FoundationEssentials
public import WebImage

/// Shows the picture of a URL in a `GtkPicture`.
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
/// ``prepareForReuse()`` when it is unbound.
@MainActor public final class WebPicture {
    /// The `GtkPicture`; valid as long as this object.
    public let widget: UnsafeMutablePointer<GtkWidget>

    /// Called after each change of ``loadState``, on the main thread; inside ``setImage(_:placeholder:options:thumbnail:priority:manager:progress:completion:)-(URL?,_,_,_,_,_,_,_)``
    /// for what is known at once.
    public var onLoadStateChange: (@MainActor (LoadState) -> Void)?

    let setter = ImageSetter()
    let paintable = PicturePaintable()
    /// The tick callback that moves a fade on; 0 when there is none.
    var fadeTickID: guint = 0
    /// Pauses the load some time after the widget left the screen.
    var pauseCall: IdleCall?
    private(set) var isDestroyed = false

    /// Makes a new `GtkPicture`. GTK must be initialised, as it is inside an application's `activate`.
    public convenience init() { self.init(wrapping: gtk_picture_new()) }

    /// Takes over a `GtkPicture` that exists: its paintable is replaced, its other properties stay. A `WebPicture` that
    /// it has already loses its place.
    public init(wrapping widget: UnsafeMutablePointer<GtkWidget>) {
        MainLoop.install()
        self.widget = widget
        let pointer = ObjectPointer(widget)
        Self.key.value(of: pointer)?.prepareForReuse()
        Self.key.set(self, on: pointer)
        setter.display = self
        gtk_picture_set_paintable(pointer.opaque, paintable.reference.pointer.opaque)
        pointer.onSignal("map") { [weak self] in self?.didMap() }
        pointer.onSignal("unmap") { [weak self] in self?.didUnmap() }
        pointer.onSignal("destroy") { [weak self] in self?.didDestroyWidget() }
    }

    /// Takes over a `GtkPicture` that exists, given as the pointer type Swift uses for classes with hidden fields.
    public convenience init(wrapping picture: OpaquePointer) { self.init(wrapping: ObjectPointer(picture).widget) }

    isolated deinit { if isDestroyed { g_object_unref(widget) } }

    /// ``widget`` as the pointer type Swift uses for classes with hidden fields, for `gtk_picture_…` functions.
    public var picture: OpaquePointer { ObjectPointer(widget).opaque }

    /// The `WebPicture` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> WebPicture? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<WebPicture>("web-image-picture")

    // MARK: State

    /// How far the picture is.
    public var loadState: LoadState { setter.state }

    /// The picture on display; `nil` while there is none or only a placeholder.
    public var image: Image? { setter.image }

    /// The URL last set; setting it is ``setImage(_:placeholder:options:thumbnail:priority:manager:progress:completion:)-(URL?,_,_,_,_,_,_,_)`` with
    /// the defaults.
    public var imageURL: URL? {
        get { setter.url }
        set { setImage(newValue) }
    }

    /// Whether a fade is under way.
    package var isFading: Bool { paintable.isFading }

    // MARK: Life of the widget

    private func didMap() {
        pauseCall = nil
        setter.didAppear()
    }

    private func didUnmap() {
        endFade()
        setter.didDisappear()
        pauseCall = IdleCall { [weak self] in self?.setter.pause() }
    }

    /// Ownership turns round: from now on this object, if anybody has it still, keeps the empty widget, so that
    /// ``widget`` never dangles.
    private func didDestroyWidget() {
        guard !isDestroyed else { return }
        isDestroyed = true
        g_object_ref(widget)
        pauseCall = nil
        endFade()
        setter.clear()
        forgetPaintable()
        let pointer = ObjectPointer(widget)
        if Self.key.value(of: pointer) === self { Self.key.set(nil, on: pointer) }
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

extension WebPicture: ImageDisplay {
    var isOnScreen: Bool { gtk_widget_get_mapped(widget) != 0 }

    func show(_ image: Image, isFading: Bool) {
        if isFading, isOnScreen, allowsAnimations {
            fade(to: .image(image))
        } else {
            endFade()
            paintable.show(.image(image))
        }
    }

    func show(_ placeholder: Placeholder?) {
        endFade()
        paintable.show(.placeholder(placeholder))
    }

    func loadStateDidChange(to state: LoadState) { onLoadStateChange?(state) }
}
