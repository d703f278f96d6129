internal import CWebImageGTK
public import WebImage

/// One frame of a transition or an indicator, for the closure that draws it.
///
/// Lengths are points from the top left corner of the area of the view's image. A frame is valid during the call only.
@MainActor public struct ImageFrame {
    /// The `GtkSnapshot` to draw into.
    public let snapshot: OpaquePointer
    /// The size of the area in points.
    public let size: PointSize
    /// The progress from 0 to 1. A transition shows the old image at 0 and the new one at 1. An indicator gets the
    /// progress of the load; `nil` while the length is unknown.
    public internal(set) var progress: Double?
    /// The time of a monotonic clock in seconds.
    let time: Double
    /// Whether text runs from right to left.
    let isRightToLeft: Bool
    weak var host: ViewHost?
    let old: SlotPainter.Content
    let new: SlotPainter.Content
    let layout: SlotPainter.Layout

    /// Whether the theme of the view is dark: bright text on a dark background. `false` for a paintable without a widget.
    public var isDark: Bool { host?.isDark ?? false }

    var width: Double { size.width }
    var height: Double { size.height }

    /// Draws the content before a transition: an image, a placeholder or nothing. The content keeps its proportions.
    public func drawOld() {
        // Without a mode the area has the new image's proportions, which must not distort the old image.
        old.snapshot(into: snapshot, width: width, height: height, layout.otherwise(.scaleAspectFill))
    }

    /// Draws the image on display, or the new image of a transition.
    public func drawNew() {
        new.snapshot(into: snapshot, width: width, height: height, layout.otherwise(.scaleToFill))
    }

    /// Draws with cairo in a centered box.
    ///
    /// - Parameter body: gets a `cairo_t` whose origin is the center.
    func drawCentered(width: Double, height: Double, _ body: (OpaquePointer) -> Void) {
        var box = graphene_rect_t(
            x: (self.width - width) / 2, y: (self.height - height) / 2, width: width, height: height)
        guard let context = gtk_snapshot_append_cairo(snapshot, &box) else { return }
        cairo_translate(context, self.width / 2, self.height / 2)
        body(context)
        cairo_destroy(context)
    }

    func moved(x: Double, y: Double, _ body: () -> Void) {
        var offset = graphene_point_t(x: Float(x), y: Float(y))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &offset)
        body()
        gtk_snapshot_restore(snapshot)
    }

    /// Scales a drawing about the center. Draws nothing at 0.
    func scaled(by factor: Double, _ body: () -> Void) {
        guard factor > 0 else { return }
        moved(x: width / 2 * (1 - factor), y: height / 2 * (1 - factor)) {
            gtk_snapshot_scale(snapshot, Float(factor), Float(factor))
            body()
        }
    }

    func clipped(to area: graphene_rect_t, _ body: () -> Void) {
        var area = area
        gtk_snapshot_push_clip(snapshot, &area)
        body()
        gtk_snapshot_pop(snapshot)
    }

    /// Draws a card rotated about its center, seen from a distance of twice its length. GTK's cairo renderer draws in
    /// two dimensions, so the card is cut into strips, each with its own scale.
    ///
    /// - Parameters:
    ///   - quarters: the angle in quarter turns. At -1 and 1 only the edge is visible. Positive values bring the left
    ///     or top edge forward.
    ///   - isVertical: whether the axis is horizontal, so that the top or bottom edge comes forward.
    func drawTurned(byQuarters quarters: Double, isVertical: Bool, _ body: () -> Void) {
        let angle = quarters * .pi / 2
        let (length, breadth) = isVertical ? (height, width) : (width, height)
        let (sine, cosine) = (sin(angle), cos(angle))
        guard cosine > 0.001, length > 0, breadth > 0 else { return }
        let distance = 2 * length
        /// Returns the scale and the projected position of a position on the card. Positions are distances from the
        /// center.
        func projected(_ place: Double) -> (scale: Double, place: Double) {
            let scale = distance / (distance + place * sine)
            return (scale, place * cosine * scale)
        }
        if quarters == 0 { return body() }
        let stripCount = 12
        for strip in 0..<stripCount {
            let start = length * (Double(strip) / Double(stripCount) - 0.5)
            let end = start + length / Double(stripCount)
            let (from, to) = (projected(start).place, projected(end).place)
            let across = projected((start + end) / 2).scale
            let along = (to - from) / (end - start)
            // Strips overlap by a point, because the background would show between edges that only touch.
            let extent = to - from + 1
            let area =
                isVertical
                ? graphene_rect_t(x: -breadth, y: from + length / 2, width: 3 * breadth, height: extent)
                : graphene_rect_t(x: from + length / 2, y: -breadth, width: extent, height: 3 * breadth)
            clipped(to: area) {
                let shift = from + length / 2 - (start + length / 2) * along
                let centering = breadth / 2 * (1 - across)
                moved(x: isVertical ? centering : shift, y: isVertical ? shift : centering) {
                    gtk_snapshot_scale(
                        snapshot, Float(isVertical ? across : along), Float(isVertical ? along : across))
                    body()
                }
            }
        }
    }
}
