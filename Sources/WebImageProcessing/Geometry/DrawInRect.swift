internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Draws a picture in a rectangle of a canvas, the way a view shows it.
    ///
    /// Lengths are in points; the canvas has the picture's scale. Geometry is exact: an edge between two pixels covers a part
    /// of them, and the picture is read between its pixels where it lies between the canvas's.
    public struct DrawInRect: PixelProcessor, Hashable {
        /// Where, in points from the canvas's left top corner.
        public let rect: PointRect
        /// The canvas's size in points, rounded to whole pixels.
        public let canvas: PointSize
        /// How the picture lies in the rectangle.
        public let contentMode: ImageContentMode
        /// Whether what sticks out of the rectangle is cut off.
        public let clips: Bool
        /// The canvas's colour.
        public let background: Color

        /// - Parameters:
        ///   - clips: `false` unless said otherwise, as for views.
        ///   - background: the canvas's colour; clear unless said otherwise.
        public init(
            rect: PointRect, canvas: PointSize, contentMode: ImageContentMode = .scaleToFill, clips: Bool = false,
            background: Color = .clear
        ) {
            self.rect = rect
            self.canvas = canvas
            self.contentMode = contentMode
            self.clips = clips
            self.background = background
        }

        /// Such as `draw(rect:[0,0,50,50],canvas:100x100,contentMode:center,clips:no,background:[0,0,0,0])`.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier(
                "draw",
                [
                    "rect": rect, "canvas": canvas, "contentMode": contentMode, "clips": clips,
                    "background": background,
                ])
        }

        /// The canvas's pixels.
        ///
        /// - Throws: ``WebImageError/ProcessingFailure/emptyResult`` where the picture lies wholly outside of the canvas.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkPositive("scale", context.scale)
            try checkPositive("canvas.width", canvas.width)
            try checkPositive("canvas.height", canvas.height)
            try checkColor("background", background)
            let size = context.atLeastOnePixel(canvas)
            // Before anything is as long as the canvas.
            guard max(size.width, size.height) <= MutablePixelBuffer.maximumDimension else {
                throw .invalidSize(width: size.width, height: size.height)
            }
            try checkResult(size, of: pixels.size)
            return try draw(pixels, scale: context.scale, on: .color(background, size), in: context)
        }

        /// - Parameters:
        ///   - scale: the picture's; the context has the canvas's.
        func draw(
            _ pixels: PixelBuffer, scale: Double, on canvas: Canvas, in context: ProcessingContext
        ) throws(WebImageError) -> PixelBuffer {
            try checkPositive("scale", context.scale)
            try checkPositive("scale", scale)
            try checkRect("rect", rect)
            let size = PointSize(width: Double(pixels.width) / scale, height: Double(pixels.height) / scale)
            let place = context.region(contentMode.rect(of: size, in: rect))
            let limits = clips ? context.region(rect) : nil
            // Multiplied, the largest numbers are none any more.
            guard place.isFinite, limits?.isFinite ?? true else { throw invalid("rect", "too large") }
            guard place.width > 0, place.height > 0 else { throw emptyResult }
            guard let columns = Span(place.x, place.width, limits.map { ($0.x, $0.width) }, canvas.size.width),
                let rows = Span(place.y, place.height, limits.map { ($0.y, $0.height) }, canvas.size.height)
            else { throw emptyResult }
            // What the touched pixels show of the picture.
            let across = Double(pixels.width) / place.width
            let down = Double(pixels.height) / place.height
            let region = PixelRegion(
                x: (Double(columns.pixels.lowerBound) - place.x) * across,
                y: (Double(rows.pixels.lowerBound) - place.y) * down, width: Double(columns.pixels.count) * across,
                height: Double(rows.pixels.count) * down)
            let picture = try pixels.resampled(
                to: PixelSize(width: columns.pixels.count, height: rows.pixels.count), region: region,
                cancellation: context.cancellation)
            let coverage = EdgeCoverage(columns: columns.shares, rows: rows.shares)
            return try canvas.drawing(
                picture, x: columns.pixels.lowerBound, y: rows.pixels.lowerBound,
                coverage: coverage.isFull ? nil : coverage, cancellation: context.cancellation)
        }
    }
}

/// What a picture touches of a canvas in one direction.
private struct Span {
    let pixels: Range<Int>
    /// How much of each of these pixels lies inside.
    let shares: [Double]

    /// - Returns: `nil` where that is nothing.
    init?(_ start: Double, _ length: Double, _ limits: (start: Double, length: Double)?, _ canvasLength: Int) {
        var (lower, upper) = (max(start, 0), min(start + length, Double(canvasLength)))
        if let limits {
            lower = max(lower, limits.start)
            upper = min(upper, limits.start + limits.length)
        }
        guard lower < upper else { return nil }
        pixels = Int(lower)..<Int(upper.rounded(.up))
        shares = pixels.map { min(upper, Double($0 + 1)) - max(lower, Double($0)) }
    }
}

extension ImageProcessor where Self == ImageProcessors.DrawInRect {
    /// Draws the picture in a rectangle of a canvas; see ``ImageProcessors/DrawInRect``.
    public static func draw(
        in rect: PointRect, canvas: PointSize, contentMode: ImageContentMode = .scaleToFill, clips: Bool = false,
        background: Color = .clear
    ) -> Self { Self(rect: rect, canvas: canvas, contentMode: contentMode, clips: clips, background: background) }
}
