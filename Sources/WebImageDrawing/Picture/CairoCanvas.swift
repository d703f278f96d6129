internal import CWebImageCairo
internal import CWebImageKernels
internal import WebImageCoding
internal import WebImageCore
internal import WebImageProcessing

/// Pixels that cairo draws on, in place:
///
///     RGBA ──swap──▶ ARGB32, little-endian ──closure draws──▶ ARGB32 ──swap──▶ RGBA
enum CairoCanvas {
    /// The longest side of cairo's image surfaces (`MAX_IMAGE_SIZE` in cairo-image-surface.c).
    static let maximumDimension = 32_767

    static func check(_ size: PixelSize) throws(WebImageError) {
        guard max(size.width, size.height) <= maximumDimension else {
            throw .drawing(.tooLarge(size, maximumDimension: maximumDimension))
        }
        try DecodingLimits.default.check(size)
    }

    /// The pixels of `size` points, a fraction of one counting as one.
    static func pixelSize(_ size: PointSize, scale: Double) throws(WebImageError) -> PixelSize {
        func pixels(_ points: Double, _ name: String) throws(WebImageError) -> Int {
            // Products such as 100 × 1.1 are a little more than they should be.
            let length = (points * scale - 1e-6).rounded(.up)
            guard length >= 1, length <= Double(Int32.max) else {
                throw .drawing(.invalidNumber(name: name, value: points.description))
            }
            return Int(length)
        }
        guard scale > 0, scale.isFinite else {
            throw .drawing(.invalidNumber(name: "scale", value: scale.description))
        }
        return PixelSize(width: try pixels(size.width, "width"), height: try pixels(size.height, "height"))
    }

    /// What `draw` makes of a processor's input; its size in points is the context's.
    static func pixels(
        over background: PixelBuffer, in context: ProcessingContext, isOpaque: Bool = false,
        draw: (borrowing DrawingContext) throws -> Void
    ) throws(WebImageError) -> PixelBuffer {
        let scale = context.scale
        guard scale > 0, scale.isFinite else {
            throw .drawing(.invalidNumber(name: "scale", value: scale.description))
        }
        return try pixels(
            background.size,
            of: PointSize(width: Double(background.width) / scale, height: Double(background.height) / scale),
            scale: scale, background: background, isOpaque: isOpaque, cancellation: context.cancellation, draw: draw)
    }

    /// The picture that `draw` makes of `background`, or of nothing: clear, or black if it is to be opaque.
    static func pixels(
        _ size: PixelSize, of points: PointSize, scale: Double, background: PixelBuffer? = nil, isOpaque: Bool = false,
        cancellation: Cancellation? = nil, draw: (borrowing DrawingContext) throws -> Void
    ) throws(WebImageError) -> PixelBuffer {
        try check(size)
        try cancellation?.check()
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = output.bytesPerRow
        if let background {
            try output.withRows(cancellation: cancellation) { y, row in
                cwi_swap_red_and_blue(background.row(y), row, size.width)
            }
        } else {
            output.clear()
        }
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            let surface = cairo_image_surface_create_for_data(
                bytes.bindMemory(to: UInt8.self).baseAddress, isOpaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32,
                Int32(size.width), Int32(size.height), Int32(stride))
            defer {
                // Whoever still refers to the surface finds it empty.
                cairo_surface_finish(surface)
                cairo_surface_destroy(surface)
            }
            try CairoStatus.check(cairo_surface_status(surface))
            let cairo = cairo_create(surface)
            defer { cairo_destroy(cairo) }
            guard let cairo else { throw .outOfMemory(byteCount: bytes.count) }
            try CairoStatus.check(cairo_status(cairo))
            cairo_scale(cairo, scale, scale)
            let context = DrawingContext(cairo: cairo, size: points, scale: scale)
            do {
                try draw(context)
            } catch let error as WebImageError {
                throw error
            } catch {
                throw .drawing(.failed(String(describing: error)))
            }
            try context.finish()
            cairo_surface_flush(surface)
        }
        var opaqueRows = 0
        try output.withRows(cancellation: cancellation) { _, row in
            cwi_swap_red_and_blue(row, row, size.width)
            // An opaque surface's fourth byte means nothing.
            if isOpaque { cwi_make_opaque(row, size.width) }
            if isOpaque || cwi_is_opaque(row, size.width) { opaqueRows += 1 }
        }
        return output.freeze(isOpaque: opaqueRows == size.height)
    }
}

extension MutablePixelBuffer {
    /// Calls `body` with each row, and looks at `cancellation` now and then.
    mutating func withRows(
        cancellation: Cancellation?, _ body: (_ y: Int, _ row: UnsafeMutablePointer<UInt8>) -> Void
    ) throws(WebImageError) {
        let (height, stride) = (height, bytesPerRow)
        try withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            for y in 0..<height {
                if y % 64 == 0 { try cancellation?.check() }
                body(y, start + y * stride)
            }
        }
    }
}
