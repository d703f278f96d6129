internal import CWebImageCairo
internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore
internal import WebImageProcessing

extension Image {
    /// Creates an image and draws in it. Blocks the calling thread, which can be any thread.
    ///
    /// - Parameters:
    ///   - size: the size in points; fractions of a pixel at the right and bottom are rounded up.
    ///   - scale: pixels per point.
    ///   - isOpaque: whether the image has no transparency. It is then black before drawing instead of transparent.
    ///   - draw: draws the image; see ``DrawingContext`` for the coordinates.
    /// - Throws: ``WebImage/WebImageError/processing(identifier:reason:url:)`` for invalid sizes and numbers, and for errors
    ///   that `draw` throws, unless they are a ``WebImage/WebImageError``; ``WebImage/WebImageError/LimitFailure/pixels(size:limit:)``,
    ///   ``WebImage/WebImageError/outOfResources(reason:url:)``.
    public init(
        size: PointSize, scale: Double = 1, isOpaque: Bool = false,
        draw: (borrowing DrawingContext) throws -> Void
    ) throws(WebImageError) {
        let pixels = try CairoCanvas.pixelSize(size, scale: scale)
        self.init(
            pixels: try CairoCanvas.pixels(pixels, of: size, scale: scale, isOpaque: isOpaque, draw: draw),
            scale: scale)
    }
}

/// Draws on pixels in place with cairo:
///
///     RGBA ──swap──▶ ARGB32, little-endian ──closure draws──▶ ARGB32 ──swap──▶ RGBA
enum CairoCanvas {
    /// The longest side of cairo's image surfaces (`MAX_IMAGE_SIZE` in cairo-image-surface.c).
    static let maximumDimension = 32_767

    static func check(_ size: PixelSize) throws(WebImageError) {
        guard max(size.width, size.height) <= maximumDimension else {
            throw .drawing(.resultTooLarge(size, sideLimit: maximumDimension))
        }
        try DecodingLimits.default.check(size)
    }

    /// Returns `size` in pixels; fractions of a pixel are rounded up.
    static func pixelSize(_ size: PointSize, scale: Double) throws(WebImageError) -> PixelSize {
        func pixels(_ points: Double, _ name: String) throws(WebImageError) -> Int {
            // Products such as 100 × 1.1 are slightly too large.
            let length = (points * scale - 1e-6).rounded(.up)
            guard length >= 1, length <= Double(Int32.max) else {
                throw .drawing(.invalidParameter(name: name, value: points.description))
            }
            return Int(length)
        }
        guard scale > 0, scale.isFinite else {
            throw .drawing(.invalidParameter(name: "scale", value: scale.description))
        }
        return PixelSize(width: try pixels(size.width, "width"), height: try pixels(size.height, "height"))
    }

    /// Draws over the input of a processor.
    static func pixels(
        over background: PixelBuffer, in context: ProcessingContext, isOpaque: Bool = false,
        draw: (borrowing DrawingContext) throws -> Void
    ) throws(WebImageError) -> PixelBuffer {
        let scale = context.scale
        guard scale > 0, scale.isFinite else {
            throw .drawing(.invalidParameter(name: "scale", value: scale.description))
        }
        return try pixels(
            background.size,
            of: PointSize(width: Double(background.width) / scale, height: Double(background.height) / scale),
            scale: scale, background: background, isOpaque: isOpaque, cancellation: context.cancellation, draw: draw)
    }

    /// Draws over `background`; without one, over transparent pixels, or over black if `isOpaque`.
    static func pixels(
        _ size: PixelSize, of points: PointSize, scale: Double, background: PixelBuffer? = nil, isOpaque: Bool = false,
        cancellation: Cancellation? = nil, draw: (borrowing DrawingContext) throws -> Void
    ) throws(WebImageError) -> PixelBuffer {
        try check(size)
        try cancellation?.check()
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = output.bytesPerRow
        try output.fill(with: background, cancellation)
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            let surface = cairo_image_surface_create_for_data(
                bytes.bindMemory(to: UInt8.self).baseAddress, isOpaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32,
                Int32(size.width), Int32(size.height), Int32(stride))
            defer {
                // Remaining references find the surface empty.
                cairo_surface_finish(surface)
                cairo_surface_destroy(surface)
            }
            try CairoStatus.check(cairo_surface_status(surface))
            let cairo = cairo_create(surface)
            defer { cairo_destroy(cairo) }
            guard let cairo else { throw .outOfResources(reason: .memory(byteCount: bytes.count)) }
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
        let isWhollyOpaque = try output.convertSurface(isOpaque: isOpaque, cancellation)
        return output.freeze(isOpaque: isWhollyOpaque)
    }
}

extension MutablePixelBuffer {
    /// Copies the background in the order of a surface's components; clears all pixels without one.
    fileprivate mutating func fill(
        with background: PixelBuffer?, _ cancellation: Cancellation?
    ) throws(WebImageError) {
        guard let background else { return clear() }
        let width = width
        try withRows(cancellation: cancellation) { y, row in cwi_swap_red_and_blue(background.row(y), row, width) }
    }

    /// Brings a surface's components into the order of an image. Returns whether all pixels are opaque.
    fileprivate mutating func convertSurface(
        isOpaque: Bool, _ cancellation: Cancellation?
    ) throws(WebImageError) -> Bool {
        var opaqueRows = 0
        let width = width
        try withRows(cancellation: cancellation) { _, row in
            cwi_swap_red_and_blue(row, row, width)
            // The fourth byte of an opaque surface is undefined.
            if isOpaque { cwi_make_opaque(row, width) }
            if isOpaque || cwi_is_opaque(row, width) { opaqueRows += 1 }
        }
        return opaqueRows == height
    }

    /// Calls `body` with each row and checks `cancellation` regularly.
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

/// Converts cairo's status to an error.
enum CairoStatus {
    static func check(_ status: cairo_status_t) throws(WebImageError) {
        guard status != CAIRO_STATUS_SUCCESS else { return }
        let message = cairo_status_to_string(status).map { String(cString: $0) } ?? "unknown"
        throw .drawing(.failed("\(message) (cairo status \(Int(status.rawValue)))"))
    }
}

extension BlendMode {
    var cairoOperator: cairo_operator_t {
        switch self {
        case .clear: CAIRO_OPERATOR_CLEAR
        case .source: CAIRO_OPERATOR_SOURCE
        case .sourceOver: CAIRO_OPERATOR_OVER
        case .sourceIn: CAIRO_OPERATOR_IN
        case .sourceOut: CAIRO_OPERATOR_OUT
        case .sourceAtop: CAIRO_OPERATOR_ATOP
        case .destination: CAIRO_OPERATOR_DEST
        case .destinationOver: CAIRO_OPERATOR_DEST_OVER
        case .destinationIn: CAIRO_OPERATOR_DEST_IN
        case .destinationOut: CAIRO_OPERATOR_DEST_OUT
        case .destinationAtop: CAIRO_OPERATOR_DEST_ATOP
        case .xor: CAIRO_OPERATOR_XOR
        case .add: CAIRO_OPERATOR_ADD
        case .multiply: CAIRO_OPERATOR_MULTIPLY
        case .screen: CAIRO_OPERATOR_SCREEN
        case .overlay: CAIRO_OPERATOR_OVERLAY
        case .darken: CAIRO_OPERATOR_DARKEN
        case .lighten: CAIRO_OPERATOR_LIGHTEN
        case .colorDodge: CAIRO_OPERATOR_COLOR_DODGE
        case .colorBurn: CAIRO_OPERATOR_COLOR_BURN
        case .hardLight: CAIRO_OPERATOR_HARD_LIGHT
        case .softLight: CAIRO_OPERATOR_SOFT_LIGHT
        case .difference: CAIRO_OPERATOR_DIFFERENCE
        case .exclusion: CAIRO_OPERATOR_EXCLUSION
        case .hue: CAIRO_OPERATOR_HSL_HUE
        case .saturation: CAIRO_OPERATOR_HSL_SATURATION
        case .color: CAIRO_OPERATOR_HSL_COLOR
        case .luminosity: CAIRO_OPERATOR_HSL_LUMINOSITY
        }
    }
}

extension WebImageError {
    /// The error of a drawing that failed.
    static func drawing(_ reason: ProcessingFailure) -> WebImageError {
        .processing(identifier: "drawing", reason: reason)
    }
}
