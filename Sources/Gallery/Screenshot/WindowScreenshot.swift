import CWebImageGTK
import WebImageGTK

/// A screenshot of a window with its frame and shadow, taken inside the process.
@MainActor struct WindowScreenshot {
    private let window: ObjectPointer
    /// The area that the window draws, in points and in its own coordinates. The frame and shadow lie outside the content.
    private let bounds: graphene_rect_t
    /// Pixels per point.
    private let scale: Double

    init(of window: ObjectPointer) {
        self.window = window
        scale = Double(gtk_widget_get_scale_factor(window.widget))
        var bounds = graphene_rect_t()
        _ = gtk_widget_compute_bounds(window.widget, window.widget, &bounds)
        self.bounds = bounds
    }

    /// The size in pixels.
    var size: PixelSize {
        PixelSize(
            width: Int((Double(bounds.size.width) * scale).rounded(.up)),
            height: Int((Double(bounds.size.height) * scale).rounded(.up)))
    }

    /// Saves the screenshot as a PNG file. Returns `false` if drawing or writing failed.
    func save(to path: String) -> Bool {
        guard let node = renderNode() else { return false }
        defer { gsk_render_node_unref(node) }
        guard let renderer = gtk_native_get_renderer(gtk_widget_get_native(window.widget)) else { return false }
        var area = graphene_rect_t(
            origin: graphene_point_t(x: 0, y: 0),
            size: graphene_size_t(width: Float(size.width), height: Float(size.height)))
        guard let texture = gsk_renderer_render_texture(renderer, node, &area) else { return false }
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        return gdk_texture_save_to_png(texture, path) != 0
    }

    /// Returns the position and size of `widget` in the screenshot, in pixels.
    func frame(of widget: UnsafeMutablePointer<GtkWidget>) -> (x: Int, y: Int, width: Int, height: Int) {
        var frame = graphene_rect_t()
        _ = gtk_widget_compute_bounds(widget, window.widget, &frame)
        func pixels(_ points: Float) -> Int { Int((Double(points) * scale).rounded()) }
        return (
            pixels(frame.origin.x - bounds.origin.x), pixels(frame.origin.y - bounds.origin.y),
            pixels(frame.size.width), pixels(frame.size.height)
        )
    }

    private func renderNode() -> OpaquePointer? {
        let paintable = gtk_widget_paintable_new(window.widget)
        defer { g_object_unref(paintable.map { UnsafeMutableRawPointer($0) }) }
        let snapshot = gtk_snapshot_new()
        gdk_paintable_snapshot(
            paintable, snapshot, Double(bounds.size.width) * scale, Double(bounds.size.height) * scale)
        return gtk_snapshot_free_to_node(snapshot)
    }
}
