internal import CWebImageGTK
internal import WebImage

/// What a slot shows, as it is drawn.
@MainActor enum PaintableContent {
    /// Draws nothing.
    case empty
    /// Fills the area.
    case color(Color)
    /// Draws a texture; `size` is the picture's in points.
    case texture(ObjectReference, size: PointSize)

    /// The content that draws `image`.
    static func image(_ image: Image) -> PaintableContent { .texture(Texture.of(image.pixels), size: image.size) }

    /// The content that draws a frame of an animation.
    ///
    /// - Parameter size: the animation's, in points.
    static func frame(_ pixels: PixelBuffer, size: PointSize) -> PaintableContent {
        .texture(Texture.of(pixels), size: size)
    }

    /// The content that stands for a picture that is not there.
    static func placeholder(_ placeholder: Placeholder?) -> PaintableContent {
        if case .image(let image) = placeholder { return .image(image) }
        if case .color(let color) = placeholder { return .color(color) }
        return .empty
    }

    var isEmpty: Bool { if case .empty = self { true } else { false } }

    /// The size it would like to have, in whole points; 0 by 0 when any will do.
    var intrinsicSize: (width: gint, height: gint) {
        guard case .texture(_, let size) = self else { return (0, 0) }
        return size.wholePoints
    }

    /// Draws it in an area of `width` by `height` points; what reaches beyond is cut off.
    func snapshot(into snapshot: OpaquePointer, width: Double, height: Double, mode: ImageContentMode) {
        let area = PointRect(x: 0, y: 0, width: width, height: height)
        guard case .texture(let texture, let size) = self, mode != .scaleToFill, mode != .redraw, size.width > 0,
            size.height > 0
        else { return fill(area, in: snapshot) }
        let place = mode.rect(of: size, in: area)
        guard place.x < 0 || place.y < 0 || place.width > width || place.height > height else {
            return append(texture, to: snapshot, at: place)
        }
        var clip = graphene_rect_t(area)
        gtk_snapshot_push_clip(snapshot, &clip)
        append(texture, to: snapshot, at: place)
        gtk_snapshot_pop(snapshot)
    }

    private func fill(_ area: PointRect, in snapshot: OpaquePointer) {
        switch self {
        case .empty:
            break
        case .color(let color):
            var components = GdkRGBA(color)
            var rect = graphene_rect_t(area)
            gtk_snapshot_append_color(snapshot, &components, &rect)
        case .texture(let texture, _):
            append(texture, to: snapshot, at: area)
        }
    }

    private func append(_ texture: ObjectReference, to snapshot: OpaquePointer, at place: PointRect) {
        var rect = graphene_rect_t(place)
        gtk_snapshot_append_texture(snapshot, texture.pointer.opaque, &rect)
    }
}

extension PointSize {
    /// As layouts count: rounded up; 0 for what they can't count.
    var wholePoints: (width: gint, height: gint) {
        func whole(_ length: Double) -> gint { max(0, gint(exactly: length.rounded(.up)) ?? 0) }
        return (whole(width), whole(height))
    }
}

extension graphene_rect_t {
    /// A rectangle at the origin.
    init(width: Double, height: Double) { self.init(x: 0, y: 0, width: width, height: height) }

    init(x: Double, y: Double, width: Double, height: Double) {
        self.init(
            origin: graphene_point_t(x: Float(x), y: Float(y)),
            size: graphene_size_t(width: Float(width), height: Float(height)))
    }

    init(_ rect: PointRect) { self.init(x: rect.x, y: rect.y, width: rect.width, height: rect.height) }
}

extension GdkRGBA {
    init(_ color: Color) {
        self.init(
            red: Float(color.red), green: Float(color.green), blue: Float(color.blue), alpha: Float(color.alpha))
    }
}
