internal import CWebImageGTK
internal import WebImage

/// One layer of a ``PicturePaintable``.
@MainActor enum PaintableContent {
    /// Draws nothing.
    case empty
    /// Fills the area.
    case color(Color)
    /// Draws a texture; `size` is the picture's in points.
    case texture(ObjectReference, size: PointSize)

    /// The content that draws `image`.
    static func image(_ image: Image) -> PaintableContent { .texture(Texture.of(image), size: image.size) }

    /// The content that stands for a picture that is not there.
    static func placeholder(_ placeholder: Placeholder?) -> PaintableContent {
        switch placeholder {
        case .image(let image): .image(image)
        case .color(let color): .color(color)
        case nil: .empty
        }
    }

    /// The size it would like to have, in whole points; 0 by 0 when any will do.
    var intrinsicSize: (width: gint, height: gint) {
        guard case .texture(_, let size) = self else { return (0, 0) }
        func whole(_ length: Double) -> gint { gint(exactly: length.rounded(.up)) ?? 0 }
        return (whole(size.width), whole(size.height))
    }

    /// Draws it over the whole of `width` by `height`, whatever that does to its proportions.
    func snapshot(into snapshot: OpaquePointer, width: Double, height: Double) {
        var area = graphene_rect_t(width: width, height: height)
        switch self {
        case .empty:
            break
        case .color(let color):
            var components = GdkRGBA(
                red: Float(color.red), green: Float(color.green), blue: Float(color.blue), alpha: Float(color.alpha))
            gtk_snapshot_append_color(snapshot, &components, &area)
        case .texture(let texture, _):
            gtk_snapshot_append_texture(snapshot, texture.pointer.opaque, &area)
        }
    }

    /// Draws it so that it covers `width` by `height` with its own proportions; what sticks out is cut off.
    func snapshotCovering(into snapshot: OpaquePointer, width: Double, height: Double) {
        guard case .texture(_, let size) = self, size.width > 0, size.height > 0 else {
            self.snapshot(into: snapshot, width: width, height: height)
            return
        }
        let scale = max(width / size.width, height / size.height)
        let (drawnWidth, drawnHeight) = (size.width * scale, size.height * scale)
        var area = graphene_rect_t(width: width, height: height)
        var corner = graphene_point_t(x: Float((width - drawnWidth) / 2), y: Float((height - drawnHeight) / 2))
        gtk_snapshot_push_clip(snapshot, &area)
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &corner)
        self.snapshot(into: snapshot, width: drawnWidth, height: drawnHeight)
        gtk_snapshot_restore(snapshot)
        gtk_snapshot_pop(snapshot)
    }
}

extension graphene_rect_t {
    /// A rectangle at the origin.
    init(width: Double, height: Double) {
        self.init(
            origin: graphene_point_t(x: 0, y: 0), size: graphene_size_t(width: Float(width), height: Float(height)))
    }
}
