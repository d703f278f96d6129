internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Cuts a rectangle out of a picture.
    ///
    /// Its edges are rounded to whole pixels, at least one each way, so that nothing is filtered. Where it sticks out of
    /// the picture, the result is smaller; wholly outside is an error. At least half of a picture is not copied: the result
    /// shares its memory (``PixelBuffer/cropped(to:)``).
    public struct Crop: PixelProcessor, Hashable {
        private enum Area: Hashable {
            case points(PointRect)
            case pixels(PixelRect)
        }

        private let area: Area

        /// Crops to a rectangle in points.
        public init(to rect: PointRect) { area = .points(rect) }

        /// Crops to a rectangle in pixels, whatever the picture's scale.
        public init(toPixels rect: PixelRect) { area = .pixels(rect) }

        /// Such as `crop(rect:[10,20,100,50],unit:points)`.
        public var identifier: ProcessorIdentifier {
            switch area {
            case .points(let rect): ProcessorIdentifier("crop", ["rect": rect, "unit": "points"])
            case .pixels(let rect): ProcessorIdentifier("crop", ["rect": rect, "unit": "pixels"])
            }
        }

        /// The rectangle's pixels.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            guard let part = try pixels.cropped(to: try rect(in: context)) else { throw emptyResult }
            return part
        }

        private func rect(in context: ProcessingContext) throws(WebImageError) -> PixelRect {
            switch area {
            case .pixels(let rect):
                guard rect.width > 0 else { throw invalid("rect.width", rect.width) }
                guard rect.height > 0 else { throw invalid("rect.height", rect.height) }
                return rect
            case .points(let rect):
                try checkPositive("scale", context.scale)
                try checkRect("rect", rect)
                let (left, top) = (context.wholePixels(rect.x), context.wholePixels(rect.y))
                return PixelRect(
                    x: left, y: top, width: max(1, context.wholePixels(rect.x + rect.width) - left),
                    height: max(1, context.wholePixels(rect.y + rect.height) - top))
            }
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Crop {
    /// Cuts out a rectangle in points; see ``ImageProcessors/Crop``.
    public static func crop(to rect: PointRect) -> Self { Self(to: rect) }

    /// Cuts out a rectangle in pixels, whatever the picture's scale; see ``ImageProcessors/Crop``.
    public static func crop(toPixels rect: PixelRect) -> Self { Self(toPixels: rect) }
}
