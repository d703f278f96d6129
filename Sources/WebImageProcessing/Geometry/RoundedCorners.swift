internal import WebImageCoding
public import WebImageCore

/// A line inside an image's edge.
public struct Border: Sendable, Hashable, ProcessorParameter {
    let width: Double
    let color: Color
    let join: LineJoin

    /// Makes a border.
    ///
    /// - Parameters:
    ///   - width: in points.
    ///   - color: the image shows through a translucent one.
    ///   - join: the shape of corners without a radius.
    public init(width: Double, color: Color, join: LineJoin = .miter) {
        self.width = width
        self.color = color
        self.join = join
    }

    package var identifierValue: ProcessorIdentifier.Value {
        .list([width.identifierValue, color.identifierValue, .text(join.rawValue)])
    }
}

/// The shape of a line's corners.
public enum LineJoin: String, Sendable, Hashable, Codable, CaseIterable {
    /// A sharp corner.
    case miter
    /// Rounded with half of the line's width.
    case round
    /// Cut off straight.
    case bevel
}

/// The radius of each corner, in points.
struct CornerRadii: Hashable, ProcessorParameter {
    var topLeft: Double
    var topRight: Double
    var bottomRight: Double
    var bottomLeft: Double

    init(topLeft: Double = 0, topRight: Double = 0, bottomRight: Double = 0, bottomLeft: Double = 0) {
        self.topLeft = topLeft
        self.topRight = topRight
        self.bottomRight = bottomRight
        self.bottomLeft = bottomLeft
    }

    init(_ radius: Double) {
        self.init(topLeft: radius, topRight: radius, bottomRight: radius, bottomLeft: radius)
    }

    /// Clockwise from the top left corner.
    var clockwise: [Double] { [topLeft, topRight, bottomRight, bottomLeft] }

    package var identifierValue: ProcessorIdentifier.Value { clockwise.identifierValue }
}

struct RoundedCornersProcessor: PixelProcessor, Hashable {
    let radii: CornerRadii
    let border: Border?

    /// Such as `roundedCorners(radii:[12,12,0,0],border:none)`.
    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("roundedCorners", values: ["radii": radii, "border": border])
    }

    /// In pixels; sums of larger numbers might not be finite.
    private static let largestRadius = 0x1p40

    /// Returns the same object for radii of 0 without a border.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
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

struct CircleProcessor: PixelProcessor, Hashable {
    let border: Border?

    /// Such as `circle(border:[[2,[1,1,1,1],miter]])`.
    var identifier: ProcessorIdentifier { ProcessorIdentifier("circle", values: ["border": border]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
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

extension ImageProcessor {
    /// In pixels; 0 without a border.
    fileprivate func checkedWidth(of border: Border?, in context: ProcessingContext) throws(WebImageError) -> Double {
        guard let border else { return 0 }
        try checkNotNegative("border.width", border.width)
        try checkColor("border.color", border.color)
        return border.width * context.scale
    }
}
