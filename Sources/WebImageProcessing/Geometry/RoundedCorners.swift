internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Rounds a picture's corners, and may draw a border along its edge.
    ///
    /// Pixels that the shape cuts through are covered by as much as lies inside of it. Where radii are too large for a side,
    /// all of them shrink by the same factor, as in CSS; a radius of half of the short side or more makes a pill or a circle.
    /// The border lies inside the picture's edge, and is at most as wide as the picture.
    public struct RoundedCorners: PixelProcessor, Hashable {
        /// In points.
        public let radii: CornerRadii
        /// Along the edge.
        public let border: Border?

        /// - Parameter border: along the edge, inside of it; none unless said otherwise.
        public init(radii: CornerRadii, border: Border? = nil) {
            self.radii = radii
            self.border = border
        }

        /// Such as `roundedCorners(radii:[12,12,0,0],border:none)`.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier("roundedCorners", ["radii": radii, "border": border])
        }

        /// In pixels: sums of larger ones might not be finite.
        private static let largestRadius = 0x1p40

        /// The pixels inside the shape, with the border; the same object for radii of 0 without a border.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkPositive("scale", context.scale)
            for radius in radii.clockwise { try checkNotNegative("radii", radius) }
            let borderWidth = try checkedWidth(of: border, in: context)
            guard borderWidth > 0 || radii != CornerRadii(0) else { return pixels }
            return try RoundedShape(
                size: pixels.size, radii: radii.clockwise.map { min($0 * context.scale, Self.largestRadius) },
                borderWidth: borderWidth,
                border: border
            ).cut(pixels, cancellation: context.cancellation)
        }
    }

    /// Cuts the largest circle out of a picture's middle; the result is a square.
    public struct Circle: PixelProcessor, Hashable {
        /// Along the edge.
        public let border: Border?

        /// - Parameter border: along the edge, inside of it; none unless said otherwise.
        public init(border: Border? = nil) { self.border = border }

        /// Such as `circle(border:[[2,[1,1,1,1],miter]])`.
        public var identifier: ProcessorIdentifier { ProcessorIdentifier("circle", ["border": border]) }

        /// The pixels inside the circle, with the border.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkPositive("scale", context.scale)
            let borderWidth = try checkedWidth(of: border, in: context)
            let side = min(pixels.width, pixels.height)
            let middle = PixelRect(
                x: (pixels.width - side) / 2, y: (pixels.height - side) / 2, width: side, height: side)
            guard let square = try pixels.cropped(to: middle) else { throw emptyResult }
            return try RoundedShape(
                size: square.size, radii: [Double](repeating: Double(side) / 2, count: 4), borderWidth: borderWidth,
                border: border
            ).cut(square, cancellation: context.cancellation)
        }
    }
}

extension ImageProcessor {
    /// A border's width in pixels; 0 for none.
    fileprivate func checkedWidth(of border: Border?, in context: ProcessingContext) throws(WebImageError) -> Double {
        guard let border else { return 0 }
        try checkNotNegative("border.width", border.width)
        try checkColor("border.color", border.color)
        return border.width * context.scale
    }
}

extension ImageProcessor where Self == ImageProcessors.RoundedCorners {
    /// Rounds some corners, or all, with one radius in points; see ``ImageProcessors/RoundedCorners``.
    public static func roundedCorners(radius: Double, corners: Corners = .all, border: Border? = nil) -> Self {
        Self(radii: CornerRadii(radius, corners: corners), border: border)
    }

    /// Rounds each corner with a radius of its own; see ``ImageProcessors/RoundedCorners``.
    public static func roundedCorners(radii: CornerRadii, border: Border? = nil) -> Self {
        Self(radii: radii, border: border)
    }
}

extension ImageProcessor where Self == ImageProcessors.Circle {
    /// Cuts the largest circle out of the middle; see ``ImageProcessors/Circle``.
    public static func circle(border: Border? = nil) -> Self { Self(border: border) }
}
