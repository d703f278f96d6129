internal import CWebImageCairo
internal import CWebImageKernels
public import WebImageCore
public import WebImageProcessing

extension ImageProcessors {
    /// Keeps what lies inside a path, with smooth edges; the rest becomes clear.
    public struct PathMask: PixelProcessor, Hashable {
        /// In points.
        public let path: Path
        /// Which areas are inside.
        public let rule: Path.FillRule
        /// Whether the outside is kept instead.
        public let isInverted: Bool

        /// - Parameter isInverted: keeps the outside instead.
        public init(_ path: Path, rule: Path.FillRule = .winding, isInverted: Bool = false) {
            self.path = path
            self.rule = rule
            self.isInverted = isInverted
        }

        /// The path's steps with their numbers.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier("pathMask", ["path": path, "rule": rule.rawValue, "isInverted": isInverted])
        }

        /// The pixels times how much of each lies inside.
        ///
        /// - Throws: ``WebImageError/drawing(_:)`` for coordinates that make no sense and sizes that cairo can't take,
        ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try CairoCanvas.pixels(over: pixels, in: context) { drawing in
                let mode = isInverted ? BlendMode.destinationOut : .destinationIn
                if isInverted {
                    drawing.fill(path, with: .color(.black), rule: rule, mode: mode)
                } else {
                    drawing.keep(path, rule: rule)
                }
            }
        }
    }
}

extension DrawingContext {
    /// Clears what lies outside a path.
    fileprivate func keep(_ path: Path, rule: Path.FillRule) {
        // The mode changes everything the path does not cover, which is the point here.
        cairo_push_group_with_content(cairo, CAIRO_CONTENT_ALPHA)
        fill(path, with: .color(.black), rule: rule)
        cairo_pop_group_to_source(cairo)
        cairo_set_operator(cairo, CAIRO_OPERATOR_DEST_IN)
        cairo_paint(cairo)
        cairo_set_operator(cairo, CAIRO_OPERATOR_OVER)
    }
}

extension ImageProcessor where Self == ImageProcessors.PathMask {
    /// Keeps what lies inside a path; see ``ImageProcessors/PathMask``.
    public static func mask(_ path: Path, rule: Path.FillRule = .winding, isInverted: Bool = false) -> Self {
        Self(path, rule: rule, isInverted: isInverted)
    }
}

extension Image {
    /// This picture inside a path, clear outside it; blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessors/PathMask/process(_:in:)`` throws.
    public func masked(
        by path: Path, rule: Path.FillRule = .winding, isInverted: Bool = false, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.PathMask(path, rule: rule, isInverted: isInverted).process(self, cancellation: cancellation)
    }
}
