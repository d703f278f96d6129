internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore

/// A background that an image is drawn on.
struct Canvas {
    let color: Color
    let size: PixelSize

    /// Draws an image at whole pixels, cropped to the canvas.
    ///
    /// - Parameters:
    ///   - x: the column of its left edge.
    ///   - y: the row of its top edge.
    ///   - coverage: how much of its columns and rows is visible; everything by default.
    ///   - replacesBackground: whether the canvas is not visible through it.
    /// - Throws: ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    func drawing(
        _ image: PixelBuffer?, x: Int = 0, y: Int = 0, coverage: EdgeCoverage? = nil,
        replacesBackground: Bool = false, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let pixel = color.premultipliedPixel
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = output.bytesPerRow
        let area = PixelRect(x: x, y: y, width: image?.width ?? 0, height: image?.height ?? 0).clamped(to: size)
        let hidesBackground = replacesBackground || image?.isOpaque == true && coverage?.isFull ?? true
        let imageOpacity = image?.isOpaque ?? true
        try output.fillBands(cancellation: cancellation) { rows, destination in
            for row in rows {
                let line = destination + (row - rows.lowerBound) * stride
                cwi_fill(pixel, line, size.width)
                guard let image, let area, row >= area.y, row < area.y + area.height else { continue }
                let source = image.row(row - y) + (area.x - x) * 4
                if hidesBackground {
                    (line + area.x * 4).update(from: source, count: area.width * 4)
                } else if let coverage {
                    coverage.mask(ofRow: row - y).withUnsafeBufferPointer { mask in
                        guard let mask = mask.baseAddress else { return }
                        cwi_blend_over_masked(source, mask + (area.x - x), line + area.x * 4, area.width)
                    }
                } else {
                    cwi_blend_over(source, line + area.x * 4, area.width)
                }
            }
        }
        return output.freeze(
            isOpaque: pixel >> 24 == 255 && (imageOpacity || !replacesBackground)
                || imageOpacity && hidesBackground && area?.size == size)
    }
}

/// How much of each column and row of an image is visible, 0 to 1. Less than 1 where an edge crosses a pixel.
struct EdgeCoverage: Sendable {
    let columns: [Double]
    let rows: [Double]
    /// The mask of rows that are entirely visible.
    private let wholeRow: [UInt8]

    init(columns: [Double], rows: [Double]) {
        self.columns = columns
        self.rows = rows
        wholeRow = Self.mask(of: columns, share: 1)
    }

    var isFull: Bool { columns.allSatisfy { $0 == 1 } && rows.allSatisfy { $0 == 1 } }

    func mask(ofRow row: Int) -> [UInt8] {
        rows[row] == 1 ? wholeRow : Self.mask(of: columns, share: rows[row])
    }

    private static func mask(of columns: [Double], share: Double) -> [UInt8] {
        columns.map { UInt8(($0 * share * 255).rounded()) }
    }
}

extension Image {
    /// Makes an image of one color.
    ///
    /// - Parameters:
    ///   - size: in points; 1 by 1 by default. Rounded to whole pixels, at least one.
    ///   - scale: pixels per point.
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for an invalid size, scale or color,
    ///   ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/outOfResources(reason:url:)``.
    public init(
        color: Color, size: PointSize = PointSize(width: 1, height: 1), scale: Double = 1
    ) throws(WebImageError) {
        let fill = SolidColorProcessor(color: color, size: size)
        self.init(pixels: try fill.makePixels(in: ProcessingContext(scale: scale)), scale: scale)
    }
}

private struct SolidColorProcessor: PointProcessor {
    let color: Color
    let size: PointSize

    var identifier: ProcessorIdentifier { ProcessorIdentifier("solidColor", ["color": color, "size": size]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try makePixels(in: context)
    }

    func makePixels(in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkPositive("scale", context.scale)
        try checkPositive("width", size.width)
        try checkPositive("height", size.height)
        try checkColor("color", color)
        let pixelSize = context.atLeastOnePixel(size)
        try checkResult(pixelSize, of: PixelSize(width: 1, height: 1))
        return try Canvas(color: color, size: pixelSize).drawing(nil, cancellation: context.cancellation)
    }
}

/// Geometry is exact: an edge between two pixels covers part of them, and the image is sampled between its pixels where
/// it lies between those of the canvas.
struct DrawInRectProcessor: PointProcessor {
    let rect: PointRect
    let canvas: PointSize
    let contentMode: ImageContentMode
    let clips: Bool
    let background: Color

    /// Such as `draw(rect:[0,0,50,50],canvas:100x100,contentMode:center,clips:no,background:[0,0,0,0])`.
    var identifier: ProcessorIdentifier {
        ProcessorIdentifier(
            "draw",
            [
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
        guard max(size.width, size.height) <= PixelSize.maximumDimension else {
            throw .limitExceeded(reason: .side(width: size.width, height: size.height))
        }
        try checkResult(size, of: pixels.size)
        try checkRect("rect", rect)
        let points = PointSize(
            width: Double(pixels.width) / context.scale, height: Double(pixels.height) / context.scale)
        let place = context.region(contentMode.rect(of: points, in: rect))
        let limits = clips ? context.region(rect) : nil
        // The largest numbers overflow when multiplied.
        guard place.isFinite, limits?.isFinite ?? true else { throw invalid("rect", "too large") }
        guard place.width > 0, place.height > 0 else { throw emptyResult }
        guard let columns = Span(place.x, place.width, limits.map { ($0.x, $0.width) }, size.width),
            let rows = Span(place.y, place.height, limits.map { ($0.y, $0.height) }, size.height)
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
        return try Canvas(color: background, size: size).drawing(
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
