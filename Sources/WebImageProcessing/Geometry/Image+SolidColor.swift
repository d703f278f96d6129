internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore

extension Image {
    /// A picture of one colour.
    ///
    /// - Parameters:
    ///   - size: in points; a pixel unless said otherwise.
    ///   - scale: pixels in a point. Width and height are rounded to whole pixels, at least one.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for a size, scale or colour that makes no sense,
    ///   ``WebImageError/invalidSize(width:height:)``, ``WebImageError/outOfMemory(byteCount:)``.
    public init(
        color: Color, size: PointSize = PointSize(width: 1, height: 1), scale: Double = 1
    ) throws(WebImageError) {
        let fill = SolidColor(color: color, size: size)
        self.init(pixels: try fill.makePixels(in: ProcessingContext(scale: scale)), scale: scale)
    }

    /// Whether pixels may be translucent: `false` where all are known to be opaque. Takes no time.
    public var hasAlpha: Bool { !pixels.isOpaque }

    /// Whether a pixel is translucent; looks at each where the picture is not known to be opaque.
    public var hasTranslucentPixels: Bool {
        guard !pixels.isOpaque else { return false }
        return (0..<pixels.height).contains { !cwi_is_opaque(pixels.row($0), pixels.width) }
    }
}

/// Makes a picture of nothing but a colour, whatever it is given.
private struct SolidColor: PixelProcessor {
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
        return try Canvas.color(color, pixelSize).drawing(nil, cancellation: context.cancellation)
    }
}
