internal import CWebImageKernels
internal import WebImageCoding
public import WebImageCore

/// A line inside an image's edge.
///
/// ```swift
/// let border = Border(width: 2, color: .white)
/// picture.setImage(url, processors: [.circle(border: border)])
/// ```
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

    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value {
        .list([width.identifierValue, color.identifierValue, .text(String(describing: join))])
    }
}

/// The shape of a line's corners.
public enum LineJoin: Sendable, Hashable, CaseIterable {
    /// A sharp corner.
    case miter
    /// Rounded with half of the line's width.
    case round
    /// Cut off straight.
    case bevel
}

/// The radius of each corner, in points.
struct CornerRadii: Equatable, ProcessorParameter {
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

    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value { clockwise.identifierValue }
}

struct RoundedCornersProcessor: PointProcessor {
    let radii: CornerRadii
    let border: Border?

    /// Such as `roundedCorners(radii:[12,12,0,0],border:none)`.
    var identifier: ProcessorIdentifier {
        ProcessorIdentifier("roundedCorners", ["radii": radii, "border": border])
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

struct CircleProcessor: PointProcessor {
    let border: Border?

    /// Such as `circle(border:[[2,[1,1,1,1],miter]])`.
    var identifier: ProcessorIdentifier { ProcessorIdentifier("circle", ["border": border]) }

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

extension Processor {
    /// In pixels; 0 without a border.
    fileprivate func checkedWidth(of border: Border?, in context: ProcessingContext) throws(WebImageError) -> Double {
        guard let border else { return 0 }
        try checkNotNegative("border.width", border.width)
        try checkColor("border.color", border.color)
        return border.width * context.scale
    }
}

/// A rectangle with rounded corners and an optional border, to which images are cut.
///
///     ╭────────────╮ ← shape
///     │ ╭────────╮ │ ← the inner edge of the border
///     │ │        │ │
struct RoundedShape: Sendable {
    private let size: PixelSize
    private let shape: ShapeCoverage
    private let inside: ShapeCoverage?
    private let borderPixel: UInt32
    /// These rows are all alike.
    private let straightRows: Range<Int>

    /// - Parameters:
    ///   - radii: in pixels, clockwise from the top left corner. If two do not fit on a side, all shrink by the same
    ///     factor, as in CSS.
    ///   - borderWidth: in pixels; 0 for none.
    init(size: PixelSize, radii: [Double], borderWidth: Double, border: Border?) {
        self.size = size
        let (width, height) = (Double(size.width), Double(size.height))
        let radii = Self.fitting(radii, width: width, height: height)
        let join = borderWidth > 0 ? border?.join ?? .miter : .miter
        let joined = min(borderWidth / 2, width / 2, height / 2)
        func corner(_ index: Int) -> (radius: Double, isCut: Bool) {
            guard radii[index] == 0, join != .miter else { return (radii[index], false) }
            return (joined, join == .bevel)
        }
        shape = ShapeCoverage(
            ShapeCoverage.contour(x: 0, y: 0, width: width, height: height, corners: corner), width: size.width,
            height: size.height)
        borderPixel = borderWidth > 0 ? border?.color.premultipliedPixel ?? 0 : 0
        let (innerWidth, innerHeight) = (width - 2 * borderWidth, height - 2 * borderWidth)
        if borderPixel >> 24 == 0 {
            inside = nil
        } else if innerWidth > 0, innerHeight > 0 {
            inside = ShapeCoverage(
                ShapeCoverage.contour(
                    x: borderWidth, y: borderWidth, width: innerWidth, height: innerHeight,
                    corners: { (max(0, radii[$0] - borderWidth), false) }), width: size.width, height: size.height)
        } else {
            // Nothing is left inside.
            inside = ShapeCoverage([], width: size.width, height: size.height)
        }
        let upper = max(radii[0], radii[1], joined, borderWidth).rounded(.up)
        let lower = (height - max(radii[2], radii[3], joined, borderWidth)).rounded(.down)
        straightRows = upper < lower ? Int(upper)..<Int(lower) : 0..<0
    }

    /// CSS Backgrounds and Borders 3, 4.5: "Overlapping Curves".
    private static func fitting(_ radii: [Double], width: Double, height: Double) -> [Double] {
        let sides = [
            (width, radii[0] + radii[1]), (height, radii[1] + radii[2]), (width, radii[2] + radii[3]),
            (height, radii[3] + radii[0]),
        ]
        let factor = sides.reduce(1) { min($0, $1.1 > 0 ? $1.0 / $1.1 : 1) }
        return radii.map { $0 * factor }
    }

    /// Returns the image cut to the shape, with the border.
    ///
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    func cut(_ pixels: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = output.bytesPerRow
        let straight = straightRows.isEmpty ? nil : Masks(self, row: straightRows.lowerBound)
        try output.fillBands(cancellation: cancellation) { rows, destination in
            var masks = Masks(self)
            for row in rows {
                let source = pixels.row(row)
                let line = destination + (row - rows.lowerBound) * stride
                if let straight, straightRows.contains(row) {
                    straight.apply(to: source, line)
                } else {
                    masks.fill(row: row)
                    masks.apply(to: source, line)
                }
            }
        }
        return output.freeze(isOpaque: false)
    }

    /// How much of the image and of the border each pixel of a row shows.
    private struct Masks: Sendable {
        private let shape: RoundedShape
        private var visible: [UInt8]
        private var border: [UInt8] = []
        private var visibleScratch: ShapeCoverage.Scratch
        private var insideScratch: ShapeCoverage.Scratch?

        init(_ shape: RoundedShape) {
            self.shape = shape
            visible = [UInt8](repeating: 0, count: shape.size.width)
            visibleScratch = shape.shape.makeScratch()
            if let inside = shape.inside {
                border = visible
                insideScratch = inside.makeScratch()
            }
        }

        init(_ shape: RoundedShape, row: Int) {
            self.init(shape)
            fill(row: row)
        }

        mutating func fill(row: Int) {
            shape.shape.fill(&visible, row: row, with: &visibleScratch)
            guard let inside = shape.inside, var scratch = insideScratch.take() else { return }
            inside.fill(&border, row: row, with: &scratch)
            insideScratch = scratch
            for column in border.indices { border[column] = visible[column] - min(border[column], visible[column]) }
        }

        func apply(to source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>) {
            if border.isEmpty {
                cwi_mask(source, visible, destination, visible.count)
            } else {
                cwi_mask_with_border(source, visible, border, shape.borderPixel, destination, visible.count)
            }
        }
    }
}
