internal import CWebImageCairo
internal import CWebImageKernels
public import WebImageCore
public import WebImageProcessing

extension ImageProcessor {
    /// Draws over the image, such as a caption or a border. Each frame of an animation is drawn on separately.
    ///
    /// cairo cannot be interrupted: cancellation takes effect before or after drawing.
    ///
    /// - Parameters:
    ///   - id: identifies this drawing in caches. Include everything that the closure depends on, such as the text of a
    ///     caption.
    ///   - draw: receives the image's size in points. Called on any thread, also concurrently.
    public static func draw(
        id: String, _ draw: @escaping @Sendable (borrowing DrawingContext, PointSize) throws -> Void
    ) -> Self { DrawingProcessor(id: id, draw: draw).erased }

    /// Keeps the inside of a path, with smooth edges; the rest becomes transparent.
    ///
    /// - Parameters:
    ///   - path: the outline of what is kept, in points of the image.
    ///   - isEvenOdd: whether a figure inside another one is a hole, regardless of its direction.
    ///   - isInverted: whether to keep the outside instead.
    public static func mask(_ path: Path, isEvenOdd: Bool = false, isInverted: Bool = false) -> Self {
        PathMaskProcessor(path: path, isEvenOdd: isEvenOdd, isInverted: isInverted).erased
    }
}

struct DrawingProcessor: PointProcessor {
    let id: String
    let draw: @Sendable (borrowing DrawingContext, PointSize) throws -> Void

    var identifier: ProcessorIdentifier { ProcessorIdentifier("drawing", ["id": id]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try CairoCanvas.pixels(over: pixels, in: context, isOpaque: pixels.isOpaque) { drawing in
            try draw(drawing, drawing.size)
        }
    }
}

struct PathMaskProcessor: PointProcessor {
    let path: Path
    let isEvenOdd: Bool
    let isInverted: Bool

    var identifier: ProcessorIdentifier {
        ProcessorIdentifier(
            "pathMask",
            ["path": path, "rule": isEvenOdd ? "evenOdd" : "winding", "isInverted": isInverted])
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try CairoCanvas.pixels(over: pixels, in: context) { drawing in
            let mode = isInverted ? BlendMode.destinationOut : .destinationIn
            if isInverted {
                drawing.fill(path, with: .color(.black), isEvenOdd: isEvenOdd, mode: mode)
            } else {
                drawing.keep(path, isEvenOdd: isEvenOdd)
            }
        }
    }
}

extension DrawingContext {
    /// Clears everything outside a path.
    fileprivate func keep(_ path: Path, isEvenOdd: Bool) {
        // Unlike with shapes, this mode should change the outside.
        cairo_push_group_with_content(cairo, CAIRO_CONTENT_ALPHA)
        fill(path, with: .color(.black), isEvenOdd: isEvenOdd)
        cairo_pop_group_to_source(cairo)
        cairo_set_operator(cairo, CAIRO_OPERATOR_DEST_IN)
        cairo_paint(cairo)
        cairo_set_operator(cairo, CAIRO_OPERATOR_OVER)
    }
}
