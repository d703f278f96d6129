internal import CWebImageCairo
internal import CWebImageKernels
public import WebImageCore
public import WebImageProcessing

extension DrawingContext {
    /// Draws a picture, stretched over a rectangle.
    ///
    /// Its pixels are copied, since cairo has another order of bytes. To make a large picture much smaller, resize it before:
    /// that is faster and sharper.
    ///
    /// - Parameters:
    ///   - mode: how it meets what is there, inside the rectangle alone.
    ///   - alpha: its opacity as a whole, 0 to 1.
    public func draw(_ image: Image, in rect: PointRect, mode: BlendMode = .sourceOver, alpha: Double = 1) {
        guard isIntact, check(rect.x, "coordinate"), check(rect.y, "coordinate"), checkLength(rect.width, "width"),
            checkLength(rect.height, "height"), checkLength(alpha, "alpha"), rect.width > 0, rect.height > 0
        else { return }
        do throws(WebImageError) {
            let pixels = image.pixels
            try CairoCanvas.check(pixels.size)
            let copy = try CairoPicture(pixels)
            cairo_save(cairo)
            cairo_translate(cairo, rect.x, rect.y)
            cairo_scale(cairo, rect.width / Double(pixels.width), rect.height / Double(pixels.height))
            cairo_set_source_surface(cairo, copy.surface, 0, 0)
            // Beyond its edges a picture goes on as they are; without that they would fade where it is enlarged.
            cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD)
            cairo_new_path(cairo)
            cairo_rectangle(cairo, 0, 0, Double(pixels.width), Double(pixels.height))
            cairo_clip(cairo)
            cairo_set_operator(cairo, mode.cairoOperator)
            cairo_paint_with_alpha(cairo, min(alpha, 1))
            cairo_restore(cairo)
            // The source would refer to the copy's memory.
            cairo_set_source_rgba(cairo, 0, 0, 0, 1)
        } catch {
            fail(error)
        }
    }

    /// Draws a picture at its own size in points.
    public func draw(_ image: Image, at point: Point, mode: BlendMode = .sourceOver, alpha: Double = 1) {
        let size = image.size
        draw(
            image, in: PointRect(x: point.x, y: point.y, width: size.width, height: size.height), mode: mode,
            alpha: alpha)
    }
}

/// A picture's pixels in cairo's order.
private final class CairoPicture {
    let surface: OpaquePointer
    private let memory: ScratchMemory

    init(_ pixels: PixelBuffer) throws(WebImageError) {
        let stride = pixels.width * 4
        memory = try ScratchMemory(byteCount: stride * pixels.height)
        let bytes = memory.address.assumingMemoryBound(to: UInt8.self)
        for y in 0..<pixels.height {
            cwi_swap_red_and_blue(pixels.row(y), bytes + y * stride, pixels.width)
        }
        let surface = cairo_image_surface_create_for_data(
            bytes, pixels.isOpaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32, Int32(pixels.width),
            Int32(pixels.height), Int32(stride))
        try CairoStatus.check(cairo_surface_status(surface))
        guard let surface else { throw .outOfMemory(byteCount: stride * pixels.height) }
        self.surface = surface
    }

    deinit {
        // Whoever still refers to the surface finds it empty.
        cairo_surface_finish(surface)
        cairo_surface_destroy(surface)
    }
}
