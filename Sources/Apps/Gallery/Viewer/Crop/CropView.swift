import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Lies over the viewer's image, darkens what is cut off, and lets the user change the selection by pointer, touch and keys.
@MainActor final class CropView: Canvas {
    private(set) var selection: CropSelection?
    /// Returns the area of the whole image, in points.
    private let imageArea: () -> PointRect
    /// Called after each change of the selection.
    var onChange: () -> Void = {}

    private static let reach = 18.0

    init(imageArea: @escaping () -> PointRect) {
        self.imageArea = imageArea
        super.init(role: GTK_ACCESSIBLE_ROLE_GROUP)
        widget.expanding().style("crop").isVisible = false
        gtk_widget_set_focusable(widget.widget, 1)
        addPointer()
        addKeys(to: widget)
    }

    /// Begins with the whole image.
    func begin(size: PixelSize) {
        selection = CropSelection(size: size)
        widget.isVisible = true
        gtk_widget_grab_focus(widget.widget)
        didChange()
    }

    func end() {
        selection = nil
        widget.isVisible = false
    }

    func setShape(_ shape: CropSelection.Shape) { change { $0.shape = shape } }

    /// Changes the selection by a distance in points.
    ///
    /// - Parameter start: what the distance counts from; the selection as it is by default.
    func drag(_ handle: CropSelection.Handle, _ x: Double, _ y: Double, from start: CropSelection? = nil) {
        let area = imageArea()
        guard area.width > 0, area.height > 0 else { return }
        change { selection in
            selection = start ?? selection
            selection.drag(handle, by: CropSelection.Vector(x / area.width, y / area.height) * selection.size)
        }
    }

    private func change(_ body: (inout CropSelection) -> Void) {
        guard var changed = selection else { return }
        body(&changed)
        guard changed != selection else { return }
        selection = changed
        didChange()
    }

    private func didChange() {
        if let pixels = selection?.pixels {
            widget.setAccessibleLabel(
                localized(
                    "Selection of {width} × {height} pixels", ["width": pixels.width, "height": pixels.height]))
        }
        queueDraw()
        onChange()
    }

    // MARK: Input

    private func addPointer() {
        let drag = ObjectPointer(gtk_gesture_drag_new())
        var start: (selection: CropSelection, handle: CropSelection.Handle)?
        drag.onPoint("drag-begin") { [weak self] x, y in
            guard let self, let selection else { return }
            start = handle(at: x, y).map { (selection, $0) }
            gtk_widget_grab_focus(widget.widget)
        }
        for signal in ["drag-update", "drag-end"] {
            drag.onPoint(signal) { [weak self] x, y in
                if let self, let start { self.drag(start.handle, x, y, from: start.selection) }
            }
        }
        gtk_widget_add_controller(widget.widget, drag.opaque)
        let motion = ObjectPointer(gtk_event_controller_motion_new())
        motion.onPoint("motion") { [weak self] x, y in
            guard let self else { return }
            gtk_widget_set_cursor_from_name(widget.widget, handle(at: x, y).map(Self.cursor))
        }
        gtk_widget_add_controller(widget.widget, motion.opaque)
    }

    private func handle(at x: Double, _ y: Double) -> CropSelection.Handle? {
        selection?.handle(at: CropSelection.Vector(x, y), in: imageArea(), reach: Self.reach)
    }

    private static func cursor(of handle: CropSelection.Handle) -> String {
        if handle == .zero { return "move" }
        if handle.x == 0 { return "ns-resize" }
        if handle.y == 0 { return "ew-resize" }
        return handle.x == handle.y ? "nwse-resize" : "nesw-resize"
    }

    /// Arrows move the selection, with Shift its right and lower edges.
    func addKeys(to target: ObjectPointer) {
        let keys = ObjectPointer(gtk_event_controller_key_new())
        keys.onKey { [weak self] key, modifiers in
            guard let self, selection != nil else { return false }
            let step = 8.0
            let distance: (x: Double, y: Double)
            switch key {
            case GDK_KEY_Left: distance = (-step, 0)
            case GDK_KEY_Right: distance = (step, 0)
            case GDK_KEY_Up: distance = (0, -step)
            case GDK_KEY_Down: distance = (0, step)
            default: return false
            }
            let resizes = modifiers.rawValue & GDK_SHIFT_MASK.rawValue != 0
            let handle: CropSelection.Handle =
                resizes ? CropSelection.Handle(distance.x == 0 ? 0 : 1, distance.y == 0 ? 0 : 1) : .zero
            drag(handle, distance.x, distance.y)
            return true
        }
        gtk_widget_add_controller(target.widget, keys.opaque)
    }

    // MARK: Canvas

    override func draw(into snapshot: OpaquePointer) {
        guard let selection else { return }
        let image = imageArea()
        let kept = selection.place(in: image)
        let shade = GdkRGBA(red: 0, green: 0, blue: 0, alpha: 0.55)
        let (right, bottom) = (kept.x + kept.width, kept.y + kept.height)
        for part in [
            PointRect(x: image.x, y: image.y, width: image.width, height: kept.y - image.y),
            PointRect(x: image.x, y: bottom, width: image.width, height: image.y + image.height - bottom),
            PointRect(x: image.x, y: kept.y, width: kept.x - image.x, height: kept.height),
            PointRect(x: right, y: kept.y, width: image.x + image.width - right, height: kept.height),
        ] where part.width > 0 && part.height > 0 {
            snapshot.fill(graphene_rect_t(part), shade)
        }
        let white = GdkRGBA(red: 1, green: 1, blue: 1, alpha: 1)
        let line = GdkRGBA(red: 1, green: 1, blue: 1, alpha: 0.35)
        // Thirds, by which photographers compose.
        for number in 1...2 {
            let share = Double(number) / 3
            for part in [
                PointRect(x: kept.x + kept.width * share, y: kept.y, width: 1, height: kept.height),
                PointRect(x: kept.x, y: kept.y + kept.height * share, width: kept.width, height: 1),
            ] { snapshot.fill(graphene_rect_t(part), line) }
        }
        snapshot.appendBorder(2, in: graphene_rect_t(kept), white)
        drawCorners(of: kept, white, into: snapshot)
    }

    private func drawCorners(of kept: PointRect, _ color: GdkRGBA, into snapshot: OpaquePointer) {
        let (length, thickness) = (min(20, kept.width / 2, kept.height / 2), 5.0)
        for x in [kept.x, kept.x + kept.width] {
            for y in [kept.y, kept.y + kept.height] {
                let (left, top) = (x == kept.x ? x : x - length, y == kept.y ? y : y - length)
                let (edgeX, edgeY) = (x == kept.x ? x : x - thickness, y == kept.y ? y : y - thickness)
                for part in [
                    PointRect(x: left, y: edgeY, width: length, height: thickness),
                    PointRect(x: edgeX, y: top, width: thickness, height: length),
                ] { snapshot.fill(graphene_rect_t(part), color) }
            }
        }
    }
}
