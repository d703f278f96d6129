import CWebImageGTK
import WebImageGTK

/// The area of the viewer that shows an image, and lets the user zoom, move and rotate it.
@MainActor final class PhotoCanvas: Canvas {
    private(set) var layer: PhotoLayer?
    /// The former image, while it fades.
    private var outgoing: PhotoLayer?
    private var fade: TimedAnimation?
    private var fadeProgress = 1.0
    /// A zoom in progress, from a geometry to that of the layer.
    private var zoom: (animation: TimedAnimation, from: ZoomGeometry, progress: Double)?
    /// Whether the image is on black, as in a dark room.
    var isImmersive = false { didSet { if isImmersive != oldValue { queueDraw() } } }
    /// The pointer in the widget; `nil` outside it.
    var pointer: ZoomGeometry.Vector?
    /// How far two fingers have moved sideways over a fitted image, in points.
    var scrolled = 0.0
    private var sizedBody: (@MainActor () -> Void)?
    /// Called with 1 for the next image and -1 for the previous one.
    var onSwipe: (_ step: Int) -> Void = { _ in }

    /// The time of a zoom by key or wheel.
    private static let zoomMilliseconds = 150
    static let fadeMilliseconds = 600

    init() {
        super.init(role: GTK_ACCESSIBLE_ROLE_IMG)
        gtk_widget_set_focusable(widget.widget, 1)
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        widget.expanding().style("photo-canvas")
        addGestures()
    }

    /// Calls `body` when the canvas has its size: at once, or after the first layout.
    func whenSized(_ body: @escaping @MainActor () -> Void) {
        sizedBody = nil
        if width > 0 { body() } else { sizedBody = body }
    }

    var viewport: PointSize { PointSize(width: Double(max(1, width)), height: Double(max(1, height))) }

    // MARK: Images

    /// Shows a layer in place of the former one.
    func show(_ new: PhotoLayer?, fading: Bool = false) {
        endMotion()
        outgoing?.clear()
        outgoing = nil
        let former = layer
        layer = new
        new?.onRedraw = { [weak self] in self?.queueDraw() }
        if fading, former != nil, new != nil {
            outgoing = former
            fadeProgress = 0
            let animation = TimedAnimation(on: widget, milliseconds: Self.fadeMilliseconds) { [weak self] in
                self?.fadeProgress = $0
                self?.queueDraw()
            } completion: { [weak self] in
                self?.endFade()
            }
            fade = animation
            animation.play()
        } else {
            former?.clear()
        }
        queueDraw()
    }

    private func endFade() {
        fade = nil
        fadeProgress = 1
        outgoing?.clear()
        outgoing = nil
        queueDraw()
    }

    private func endMotion() {
        zoom = nil
        if fade != nil { endFade() }
    }

    var isMoving: Bool { zoom != nil || fade != nil }

    // MARK: Zoom

    /// Changes the place of the image.
    ///
    /// - Parameter isAnimated: whether it gets there in steps.
    func change(isAnimated: Bool = false, _ body: (inout ZoomGeometry) -> Void) {
        guard let layer else { return }
        let from = shownGeometry(of: layer)
        zoom = nil
        layer.changeGeometry(body)
        guard isAnimated, layer.geometry != from, layer.geometry.quarterTurns == from.quarterTurns else { return }
        let animation = TimedAnimation(on: widget, milliseconds: Self.zoomMilliseconds) { [weak self] progress in
            self?.zoom?.progress = progress
            self?.queueDraw()
        } completion: { [weak self] in
            self?.zoom = nil
            self?.queueDraw()
        }
        zoom = (animation, from, 0)
        animation.play()
    }

    /// Returns the geometry to draw, which may be on its way to that of the layer.
    private func shownGeometry(of layer: PhotoLayer) -> ZoomGeometry {
        zoom.map { $0.from.step(to: layer.geometry, progress: $0.progress) } ?? layer.geometry
    }

    // MARK: Canvas

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) { (120, 480) }

    override func layOut(width: Int, height: Int) {
        zoom = nil
        for layer in [layer, outgoing] { layer?.changeGeometry { $0.resize(to: viewport) } }
        guard let sizedBody else { return }
        self.sizedBody = nil
        callBeforeNextFrame(sizedBody)
    }

    override func draw(into snapshot: OpaquePointer) {
        if isImmersive {
            var black = GdkRGBA(red: 0, green: 0, blue: 0, alpha: 1)
            var area = graphene_rect_t(PointRect(x: 0, y: 0, width: Double(width), height: Double(height)))
            gtk_snapshot_append_color(snapshot, &black, &area)
        }
        guard let layer else { return }
        guard let outgoing, fadeProgress < 1 else { return layer.draw(into: snapshot, shownGeometry(of: layer)) }
        gtk_snapshot_push_cross_fade(snapshot, fadeProgress)
        outgoing.draw(into: snapshot, outgoing.geometry)
        gtk_snapshot_pop(snapshot)
        layer.draw(into: snapshot, layer.geometry)
        gtk_snapshot_pop(snapshot)
    }
}
