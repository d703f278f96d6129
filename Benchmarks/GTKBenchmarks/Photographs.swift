import BenchmarkReport
import CWebImageGTK
import Foundation
import WebImageGTK

/// JPEG files of 400 by 300 pixels, as a page of search results has them: noise over twelve large blocks that spell the
/// file's number, so that one can see which picture a cell shows.
struct Photographs {
    static let size = PixelSize(width: 400, height: 300)
    /// In the middle, which a square cell shows.
    private static let (columnCount, rowCount) = (4, 3)
    static let most = 1 << (columnCount * rowCount)

    let directory: String
    let count: Int

    func path(of number: Int) -> String { "\(directory)/\(number).jpg" }

    /// Makes the files.
    func write() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for number in 0..<count {
            let file = try CodecRegistry.shared.encode(
                Self.picture(of: number), as: .jpeg, options: EncodingOptions(quality: 0.8))
            try file.write(to: URL(filePath: path(of: number)))
        }
    }

    private static func picture(of number: Int) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        var state = UInt32(truncatingIfNeeded: number &* 2_654_435_761 | 1)
        let (width, height) = (size.width, size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let column = min(columnCount - 1, max(0, x - (width - height) / 2) * columnCount / height)
                    let block = y * rowCount / height * columnCount + column
                    state = state &* 1_664_525 &+ 1_013_904_223
                    let value = (number >> block & 1 == 1 ? 180 : 50) + Int(state >> 28)
                    let pixel = SIMD4(
                        UInt8(value), UInt8(value + x * 40 / width), UInt8(value + y * 40 / height), 255)
                    bytes.storeBytes(of: pixel, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// The number of the photograph that `widget` draws, filled and cut off; `nil` where there is none.
    @MainActor static func number(drawnBy widget: UnsafeMutablePointer<GtkWidget>) -> Int? {
        let (width, height) = (Int(gtk_widget_get_width(widget)), Int(gtk_widget_get_height(widget)))
        guard width > 0, height > 0, let snapshot = gtk_snapshot_new() else { return nil }
        let paintable = ObjectPointer(gtk_widget_paintable_new(widget))
        defer { g_object_unref(paintable.address) }
        gdk_paintable_snapshot(paintable.opaque, snapshot, Double(width), Double(height))
        guard let node = gtk_snapshot_free_to_node(snapshot) else { return nil }
        defer { gsk_render_node_unref(node) }
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, gint(width), gint(height))
        defer { cairo_surface_destroy(surface) }
        let context = cairo_create(surface)
        gsk_render_node_draw(node, context)
        cairo_destroy(context)
        cairo_surface_flush(surface)
        guard let bytes = cairo_image_surface_get_data(surface) else { return nil }
        let stride = Int(cairo_image_surface_get_stride(surface))
        var number = 0
        for block in 0..<columnCount * rowCount {
            let (column, row) = (block % columnCount, block / columnCount)
            let (x, y) = ((2 * column + 1) * width / (2 * columnCount), (2 * row + 1) * height / (2 * rowCount))
            let pixel = bytes + y * stride + x * 4
            guard pixel[3] == 255 else { return nil }
            if pixel[2] > 120 { number |= 1 << block }
        }
        return number
    }
}
