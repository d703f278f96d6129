internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Moves a picture's edges: inwards, which cuts pixels off, or outwards, which adds some of a colour.
    ///
    /// Distances are rounded to whole pixels, so that nothing is filtered.
    public struct Inset: PixelProcessor, Hashable {
        /// How far each edge moves, in points.
        public let insets: PointInsets
        /// What is added outside.
        public let color: Color

        /// - Parameter color: of what is added outside; clear unless said otherwise.
        public init(by insets: PointInsets, color: Color = .clear) {
            self.insets = insets
            self.color = color
        }

        /// Such as `inset(insets:[-4,0,-4,0],color:[1,1,1,1])`: from the top anticlockwise.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier("inset", ["insets": insets, "color": color])
        }

        /// The pixels inside the moved edges.
        ///
        /// - Throws: ``WebImageError/ProcessingFailure/emptyResult`` where edges meet or cross, or the picture lies outside of
        ///   them.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkPositive("scale", context.scale)
            for (name, value) in [
                ("top", insets.top), ("left", insets.left), ("bottom", insets.bottom), ("right", insets.right),
            ] {
                try checkFinite(name, value)
            }
            try checkColor("color", color)
            let (left, top) = (context.wholePixels(insets.left), context.wholePixels(insets.top))
            let rect = PixelRect(
                x: left, y: top, width: pixels.width - left - context.wholePixels(insets.right),
                height: pixels.height - top - context.wholePixels(insets.bottom))
            guard let visible = rect.clamped(to: pixels.size) else { throw emptyResult }
            guard visible != rect else {
                guard let part = try pixels.cropped(to: rect) else { throw emptyResult }
                return part
            }
            try checkResult(rect.size, of: pixels.size)
            return try Canvas.color(color, rect.size).drawing(
                pixels, x: -left, y: -top, replacesBackground: true, cancellation: context.cancellation)
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Inset {
    /// Moves the edges inwards, or outwards where a distance is negative; see ``ImageProcessors/Inset``.
    public static func inset(by insets: PointInsets, color: Color = .clear) -> Self { Self(by: insets, color: color) }
}
