import CWebImageGTK
import WebImageGTK

extension OpaquePointer {
    /// Fills an area of a snapshot.
    func fill(_ area: graphene_rect_t, _ color: GdkRGBA) {
        var (area, color) = (area, color)
        gtk_snapshot_append_color(self, &color, &area)
    }

    /// Draws the edge of an area into a snapshot, inside of the area.
    ///
    /// - Parameter width: in points.
    func appendBorder(_ width: Float, in area: graphene_rect_t, _ color: GdkRGBA) {
        var area = area
        var outline = GskRoundedRect()
        gsk_rounded_rect_init_from_rect(&outline, &area, 0)
        gtk_snapshot_append_border(
            self, &outline, Array(repeating: width, count: 4), Array(repeating: color, count: 4))
    }
}

extension graphene_rect_t {
    init(_ rect: PointRect) {
        self.init(
            origin: graphene_point_t(x: Float(rect.x), y: Float(rect.y)),
            size: graphene_size_t(width: Float(rect.width), height: Float(rect.height)))
    }
}
