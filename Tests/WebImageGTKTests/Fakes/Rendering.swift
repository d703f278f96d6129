import CWebImageGTK

@testable import WebImageGTK

/// The pixels a paintable draws, without a display: snapshot, render node, cairo.
struct Rendering {
    let width: Int
    private var rows: [UInt8] = []

    init(of paintable: OpaquePointer, width: Int, height: Int) {
        self.width = width
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, gint(width), gint(height))
        defer { cairo_surface_destroy(surface) }
        let snapshot = gtk_snapshot_new()
        gdk_paintable_snapshot(paintable, snapshot, Double(width), Double(height))
        if let node = gtk_snapshot_free_to_node(snapshot) {
            let context = cairo_create(surface)
            gsk_render_node_draw(node, context)
            cairo_destroy(context)
            gsk_render_node_unref(node)
        }
        cairo_surface_flush(surface)
        guard let bytes = cairo_image_surface_get_data(surface) else { return }
        let stride = Int(cairo_image_surface_get_stride(surface))
        for row in 0..<height {
            rows += UnsafeBufferPointer(start: bytes + row * stride, count: width * 4)
        }
    }

    /// What a widget in a window draws, without what is below it; after the next frame, so that all is laid out and drawn.
    @MainActor init(of widget: UnsafeMutablePointer<GtkWidget>) {
        var frameCount = 0
        let ticker = FrameTicker(host: ViewHost.of(widget)) { _ in
            frameCount += 1
            return true
        }
        ticker.start()
        gtk_widget_queue_draw(widget)
        pump("two frames") { frameCount > 2 }
        ticker.stop()
        let paintable = ObjectReference(owning: ObjectPointer(gtk_widget_paintable_new(widget)))
        self.init(
            of: paintable.pointer.opaque, width: Int(gtk_widget_get_width(widget)),
            height: Int(gtk_widget_get_height(widget)))
    }

    /// Red, green, blue and alpha, premultiplied; cairo keeps them as a native-endian word.
    subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        let offset = (y * width + x) * 4
        return SIMD4(rows[offset + 2], rows[offset + 1], rows[offset], rows[offset + 3])
    }
}
