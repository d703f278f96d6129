public import CWebImageGTK
internal import FoundationEssentials
internal import GTKObjects
public import WebImage

/// Shows the image of a URL, and lets the user zoom, move and rotate it: a viewer of photographs, maps or scans.
///
/// ```swift
/// let view = ZoomView()
/// view.setImage(url, loadOptions: .progressive)
/// gtk_window_set_child(window, view.widget)
/// ```
///
/// | input | fitted | zoomed in |
/// |---|---|---|
/// | wheel, or Control with any scrolling | zooms at the pointer, or see ``wheelTurnsPages`` | the same |
/// | pinch | zooms | zooms |
/// | two fingers on a touchpad | sideways: ``onSwipe`` | moves the image, which glides on |
/// | drag | touch, sideways: ``onSwipe`` | moves the image, which glides on |
/// | double click | 100 % | fits |
/// | `+`, `-`, `0`, `1` | zooms in, zooms out, fits, 100 % | the same |
/// | arrow keys | | move the image |
///
/// At 100 % a pixel of the image is a pixel of the screen. The image is decoded at the size of the view first
/// (``ImageSlotOwner/decodesAtDisplaySize`` is `true`), and with more pixels when it is zoomed in: all of them if they take at most
/// ``pixelByteLimit``, else tiles of the part in sight. See <doc:Zooming>.
///
/// A new image begins with ``initialZoom`` and without a rotation. A transition fades from the whole view, for its
/// duration; its drawing and ``ImageSlotOwner/contentMode`` do not apply. A request with a thumbnail size shows no more pixels than that.
///
/// The widget owns the `ZoomView`, as with ``WebPicture``.
@MainActor public final class ZoomView: ImageSlotOwner {
    /// The widget, valid during the life of this object. It takes the focus, has the role of an image, and takes the size that
    /// its parent gives it.
    public let widget: UnsafeMutablePointer<GtkWidget>
    /// The slot of the image, with the operation key `image`.
    public let imageSlot: ImageSlot

    let canvas: ZoomCanvas
    let host: ViewHost
    let paintable: PicturePaintable
    private let ownership: WidgetOwnership<ZoomView>

    // Zoom, in ZoomView+Zooming.swift.
    var geometry: ZoomGeometry
    /// A movement in progress, to the geometry or of it.
    var motion: Motion?
    lazy var ticker = FrameTicker(host: host) { [weak self] in self?.advance(to: $0) ?? false }
    /// The time of the last frame of a motion, in microseconds.
    var lastTime: gint64 = 0
    /// Calls ``onZoomChange``.
    var changeCall: MainLoopCall?
    /// Whether nothing but the image itself has changed its place, so that ``initialZoom`` applies.
    var isAtStart = true

    // Input, in ZoomView+Gestures.swift.
    /// The pointer in the widget; `nil` outside it.
    var pointer: ZoomGeometry.Vector?
    /// How far two fingers have moved sideways over a fitted image, in points.
    var scrolled = 0.0

    // Pixels, in ZoomView+Detail.swift.
    var shown = Identity()
    var full: TiledImage?
    var fullLoad: WebImageOperation?
    var tiles: FileTiles?
    /// Reads the size in the file's header, or the file for tiles.
    var sizeTask: Task<Void, Never>?
    var fileTask: Task<Void, Never>?
    /// The bytes of the image on display, if it is drawn in tiles.
    var fileData: Data?
    var detailCall: MainLoopCall?
    /// Whether more pixels have been requested, for the image on display.
    var needsFull = false
    var sizeCall: MainLoopCall?

    // Drawing, in ZoomView+Drawing.swift.
    /// What was drawn last, from which a transition fades.
    var lastDrawing: OpaquePointer?
    var outgoing: OpaquePointer?

    /// How a view shows an image.
    public enum Zoom: Sendable, Equatable {
        /// The whole image, not enlarged; it follows the size of the view.
        case fit
        /// As small as covers the view; it follows the size of the view.
        case fill
        /// The device pixels for a pixel of the image: 1 is 100 %.
        case scale(Double)
    }

    /// Makes the view and its widget. GTK must be initialized, as it is in an application's `activate`.
    public init() {
        canvas = ZoomCanvas()
        widget = canvas.widget.widget
        host = ViewHost.of(widget)
        imageSlot = ImageSlot(key: "image", host: host)
        paintable = PicturePaintable(imageSlot.painter)
        ownership = WidgetOwnership(of: canvas.widget, under: Self.key)
        geometry = ZoomGeometry(content: PointSize(width: 1, height: 1), viewport: PointSize(width: 1, height: 1))
        host.add(imageSlot)
        ownership.begin(with: self) { [weak self] in self?.didDestroyWidget() }
        canvas.view = self
        gtk_widget_set_focusable(widget, 1)
        gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN)
        imageSlot.decodesAtDisplaySize = true
        imageSlot.resizeMode = { .aspectFit }
        imageSlot.displaySize = { [weak self] in self?.displaySize }
        imageSlot.didLoad = { [weak self] in self?.didLoad($0) }
        imageSlot.painter.drawsContentOnly = true
        imageSlot.painter.onContentChange = { [weak self] in self?.contentDidChange() }
        paintable.onInvalidate = { [weak self] in self?.canvas.queueDraw() }
        addGestures()
        imageSlot.visibilityDidChange()
    }

    isolated deinit { releaseDrawings() }

    /// The `ZoomView` that `widget` owns; `nil` for a widget without one.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> ZoomView? {
        key.value(of: ObjectPointer(widget))
    }

    private static let key = AssociationKey<ZoomView>("web-image-zoom-view")

    private func didDestroyWidget() {
        stopDetail()
        sizeTask?.cancel()
        ticker.stop()
        // It shows nothing from now on, which is a change.
        imageSlot.retire()
        (motion, changeCall, detailCall, sizeCall) = (nil, nil, nil, nil)
        releaseDrawings()
    }

    // MARK: Settings

    /// How a new image is shown; the whole image by default.
    public var initialZoom = Zoom.fit {
        didSet { if isAtStart { applyInitialZoom() } }
    }

    /// The smallest scale, at most that at which the image fits; `nil`, the default, for that one.
    public var minimumScale: Double? {
        didSet { change { [minimumScale] in $0.smallestScale = minimumScale } }
    }

    /// The largest scale, in device pixels for a pixel of the image; 20 by default. An image that needs more to fit is fitted.
    public var maximumScale = 20.0 {
        didSet { change { [maximumScale] in $0.largestScale = maximumScale } }
    }

    /// The maximum memory for the pixels of an image that is zoomed in, in bytes; 160 MiB by default. Larger images are drawn in
    /// tiles, for which the same limit applies; see <doc:Zooming>. A change applies to the next image.
    public var pixelByteLimit = 160 << 20

    /// Whether `+`, `-`, `0`, `1` and the arrow keys zoom and move the image; `true` by default. Turn it off in apps that have their own keys.
    public var handlesKeys = true

    /// Whether the wheel without the Control key calls ``onSwipe`` instead of zooming: with 1 for a notch down, and -1 for one up. `false` by
    /// default, because the wheel zooms in maps and most viewers.
    public var wheelTurnsPages = false

    /// Called on the main thread when the main loop is idle after a change of scale, place, rotation or ``imageSize``.
    public var onZoomChange: (@MainActor () -> Void)?

    /// Called on the main thread when the user swipes over an image that cannot be moved, or turns the wheel with ``wheelTurnsPages``: with 1 for the
    /// next image and -1 for the previous one, which depends for swipes on the direction of text.
    public var onSwipe: (@MainActor (_ step: Int) -> Void)?

    /// Called on the main thread with the error of a load of more pixels. The image with fewer pixels stays.
    public var onDetailFailure: (@MainActor (WebImageError) -> Void)?

    /// A widget over the whole view, such as a selection or labels; `nil` by default. The view takes over a floating
    /// reference, and releases the former widget.
    public var overlay: UnsafeMutablePointer<GtkWidget>? {
        didSet {
            guard overlay != oldValue, !ownership.isWidgetDestroyed else { return }
            for child in canvas.children { canvas.remove(child) }
            if let overlay { canvas.add(ObjectPointer(overlay)) }
            canvas.queueLayout()
        }
    }

    /// Draws over the image, for each frame; `nil` by default. Called on the main thread with the `GtkSnapshot` and the
    /// place of the image. It must not change widgets. Call `gtk_widget_queue_draw` when it has something else to draw.
    public var drawOverlay: (@MainActor (_ snapshot: OpaquePointer, _ place: ZoomPlace) -> Void)? {
        didSet { canvas.queueDraw() }
    }

    /// The size of the image at 100 %, in its pixels, before the rotation of the view; `nil` while it is unknown.
    public internal(set) var imageSize: PixelSize?
}

/// Where a ``ZoomView`` shows its image.
public struct ZoomPlace: Sendable, Equatable {
    let geometry: ZoomGeometry
    let scaleFactor: Double

    /// The area of the whole image after its rotation, in points of the widget. Parts of it may be out of sight.
    public var area: PointRect { geometry.area.snapped(to: 1 / scaleFactor) }

    /// The device pixels for a pixel of the image.
    public var scale: Double { geometry.scale }

    /// The number of clockwise quarter turns, 0 to 3.
    public var quarterTurns: Int { geometry.quarterTurns }

    /// Returns the area of a part of the image, in points of the widget.
    ///
    /// - Parameter part: in pixels of the image before its rotation.
    public func area(of part: PixelRect) -> PointRect {
        let size = geometry.content * scaleFactor
        let share = PointRect(
            x: Double(part.x) / size.x, y: Double(part.y) / size.y, width: Double(part.width) / size.x,
            height: Double(part.height) / size.y)
        return geometry.area(ofPart: share, in: area)
    }
}

/// The widget of a view.
final class ZoomCanvas: Canvas {
    weak var view: ZoomView?

    init() { super.init(role: GTK_ACCESSIBLE_ROLE_IMG) }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        var lengths: (gint, gint) = (0, 0)
        for child in children { gtk_widget_measure(child.widget, orientation, -1, &lengths.0, &lengths.1, nil, nil) }
        return (max(48, Int(lengths.0)), max(480, Int(lengths.1)))
    }

    override func layOut(width: Int, height: Int) {
        for child in children { place(child, x: 0, y: 0, width: width, height: height) }
        view?.layOut()
    }

    override func draw(into snapshot: OpaquePointer) { view?.draw(into: snapshot) }
}
