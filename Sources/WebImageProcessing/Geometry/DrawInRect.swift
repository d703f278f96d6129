internal import WebImageCoding
internal import WebImageCore

/// Geometry is exact: an edge between two pixels covers part of them, and the image is sampled between its pixels where it
/// lies between those of the canvas.
struct DrawInRectProcessor: PixelProcessor, Hashable {
    let rect: PointRect
    let canvas: PointSize
    let contentMode: ImageContentMode
    let clips: Bool
    let background: Color

    /// Such as `draw(rect:[0,0,50,50],canvas:100x100,contentMode:center,clips:no,background:[0,0,0,0])`.
    var identifier: ProcessorIdentifier {
        ProcessorIdentifier(
            "draw",
            values: [
                "rect": rect, "canvas": canvas, "contentMode": contentMode, "clips": clips,
                "background": background,
            ])
    }

    /// Throws ``WebImageError/ProcessingFailure/emptyResult`` if the image is entirely outside the canvas.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkPositive("scale", context.scale)
        try checkPositive("canvas.width", canvas.width)
        try checkPositive("canvas.height", canvas.height)
        try checkColor("background", background)
        let size = context.atLeastOnePixel(canvas)
        // Before allocating anything as long as the canvas.
        guard max(size.width, size.height) <= MutablePixelBuffer.maximumDimension else {
            throw .limitExceeded(reason: .side(width: size.width, height: size.height))
        }
        try checkResult(size, of: pixels.size)
        return try draw(pixels, scale: context.scale, on: .color(background, size), in: context)
    }

    /// - Parameters:
    ///   - scale: that of `pixels`; the context has the scale of `canvas`.
    func draw(
        _ pixels: PixelBuffer, scale: Double, on canvas: Canvas, in context: ProcessingContext
    ) throws(WebImageError) -> PixelBuffer {
        try checkPositive("scale", context.scale)
        try checkPositive("scale", scale)
        try checkRect("rect", rect)
        let size = PointSize(width: Double(pixels.width) / scale, height: Double(pixels.height) / scale)
        let place = context.region(contentMode.rect(of: size, in: rect))
        let limits = clips ? context.region(rect) : nil
        // The largest numbers overflow when multiplied.
        guard place.isFinite, limits?.isFinite ?? true else { throw invalid("rect", "too large") }
        guard place.width > 0, place.height > 0 else { throw emptyResult }
        guard let columns = Span(place.x, place.width, limits.map { ($0.x, $0.width) }, canvas.size.width),
            let rows = Span(place.y, place.height, limits.map { ($0.y, $0.height) }, canvas.size.height)
        else { throw emptyResult }
        // The part of the image that the covered pixels show.
        let across = Double(pixels.width) / place.width
        let down = Double(pixels.height) / place.height
        let region = PixelRegion(
            x: (Double(columns.pixels.lowerBound) - place.x) * across,
            y: (Double(rows.pixels.lowerBound) - place.y) * down, width: Double(columns.pixels.count) * across,
            height: Double(rows.pixels.count) * down)
        let image = try pixels.resampled(
            to: PixelSize(width: columns.pixels.count, height: rows.pixels.count), region: region,
            cancellation: context.cancellation)
        let coverage = EdgeCoverage(columns: columns.shares, rows: rows.shares)
        return try canvas.drawing(
            image, x: columns.pixels.lowerBound, y: rows.pixels.lowerBound,
            coverage: coverage.isFull ? nil : coverage, cancellation: context.cancellation)
    }
}

/// The pixels of a canvas that an image covers in one direction.
private struct Span {
    let pixels: Range<Int>
    /// How much of each pixel is covered.
    let shares: [Double]

    /// Returns `nil` if there are none.
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
