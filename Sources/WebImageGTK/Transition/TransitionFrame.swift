import CWebImageGTK
internal import WebImage

/// One frame of a transition, for its ``ImageTransition/draw``.
///
/// Lengths are points, from the left top corner of the view's picture. Everything goes to ``snapshot``, and to the
/// functions here that wrap it; it is good during the call only.
@MainActor public struct TransitionFrame {
    /// GTK's `GtkSnapshot`.
    public let snapshot: OpaquePointer
    /// Points across.
    public let width: Double
    /// Points down.
    public let height: Double
    /// From 0, where only the old picture is to be seen, to 1.
    public let progress: Double
    /// Whether text runs from right to left there.
    public let isRightToLeft: Bool
    let old: PaintableContent
    let new: PaintableContent
    let contentMode: ImageContentMode?

    /// Draws what was there: a picture, a placeholder or nothing. It keeps its proportions.
    public func drawOld() {
        // Without a mode the area has the new picture's proportions: the old one must not be squeezed into them.
        old.snapshot(into: snapshot, width: width, height: height, mode: contentMode ?? .scaleAspectFill)
    }

    /// Draws the new picture.
    public func drawNew() {
        new.snapshot(into: snapshot, width: width, height: height, mode: contentMode ?? .scaleToFill)
    }

    /// Mixes two drawings: `progress` of the second one, the rest of the first.
    public func crossFade(_ progress: Double, _ first: () -> Void, _ second: () -> Void) {
        gtk_snapshot_push_cross_fade(snapshot, progress)
        first()
        gtk_snapshot_pop(snapshot)
        second()
        gtk_snapshot_pop(snapshot)
    }

    /// Draws something elsewhere.
    public func moved(x: Double, y: Double, _ body: () -> Void) {
        var offset = graphene_point_t(x: Float(x), y: Float(y))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &offset)
        body()
        gtk_snapshot_restore(snapshot)
    }

    /// Draws something larger or smaller, about the middle; nothing at 0.
    public func scaled(by factor: Double, _ body: () -> Void) { scaled(x: factor, y: factor, body) }

    /// Draws only what lies in the view's area.
    public func clipped(_ body: () -> Void) {
        clipped(to: graphene_rect_t(width: width, height: height), body)
    }

    /// Draws something as a card that is turned about its middle, seen from a distance of twice its length. GTK's cairo
    /// renderer knows no third dimension, so it is cut into strips, each of which is scaled.
    ///
    /// - Parameters:
    ///   - quarters: from -1 to 1; 1 and -1 show the edge alone. Positive: the left or top edge comes forward.
    ///   - isVertical: whether the axis lies across, so that the top or bottom edge comes forward.
    func drawTurned(byQuarters quarters: Double, isVertical: Bool, _ body: () -> Void) {
        let angle = quarters * .pi / 2
        let (length, breadth) = isVertical ? (height, width) : (width, height)
        let (sine, cosine) = (sin(angle), cos(angle))
        guard cosine > 0.001, length > 0, breadth > 0 else { return }
        let distance = 2 * length
        /// How near a place on the card is, and where it is seen; both from the middle.
        func seen(_ place: Double) -> (scale: Double, place: Double) {
            let scale = distance / (distance + place * sine)
            return (scale, place * cosine * scale)
        }
        if quarters == 0 { return body() }
        for strip in 0..<Self.stripCount {
            let start = length * (Double(strip) / Double(Self.stripCount) - 0.5)
            let end = start + length / Double(Self.stripCount)
            let (from, to) = (seen(start).place, seen(end).place)
            let across = seen((start + end) / 2).scale
            let along = (to - from) / (end - start)
            // Each goes on under the next one: edges that only meet let the ground shine through.
            let extent = to - from + 1
            let area =
                isVertical
                ? graphene_rect_t(x: -breadth, y: from + length / 2, width: 3 * breadth, height: extent)
                : graphene_rect_t(x: from + length / 2, y: -breadth, width: extent, height: 3 * breadth)
            clipped(to: area) {
                // The strip's start comes to lie where it is seen.
                let shift = from + length / 2 - (start + length / 2) * along
                let centring = breadth / 2 * (1 - across)
                moved(x: isVertical ? centring : shift, y: isVertical ? shift : centring) {
                    gtk_snapshot_scale(
                        snapshot, Float(isVertical ? across : along), Float(isVertical ? along : across))
                    body()
                }
            }
        }
    }

    private static let stripCount = 12

    private func scaled(x: Double, y: Double, _ body: () -> Void) {
        guard x > 0, y > 0 else { return }
        moved(x: width / 2 * (1 - x), y: height / 2 * (1 - y)) {
            gtk_snapshot_scale(snapshot, Float(x), Float(y))
            body()
        }
    }

    private func clipped(to area: graphene_rect_t, _ body: () -> Void) {
        var area = area
        gtk_snapshot_push_clip(snapshot, &area)
        body()
        gtk_snapshot_pop(snapshot)
    }
}
