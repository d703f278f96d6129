internal import CWebImageKernels
internal import WebImageCore

/// A linear change of colors: each component of the result is a sum of all four, and of a constant.
///
/// Colors are not premultiplied and encoded as sRGB, as in Core Graphics, CSS and SVG filters with
/// `color-interpolation-filters="sRGB"`. Components are from 0 to 1; results are clamped to that.
struct ColorMatrix: Sendable, Equatable, ProcessorParameter {
    struct Row {
        var red = 0.0
        var green = 0.0
        var blue = 0.0
        var alpha = 0.0
        var constant = 0.0

        var elements: [Double] { [red, green, blue, alpha, constant] }
    }

    /// Row by row.
    let elements: [Double]

    init(_ elements: [Double]) { self.elements = elements }

    /// A row that is not given leaves its component as it is.
    init(red: Row = Row(red: 1), green: Row = Row(green: 1), blue: Row = Row(blue: 1), alpha: Row = Row(alpha: 1)) {
        self.init(red.elements + green.elements + blue.elements + alpha.elements)
    }

    /// Whether opaque pixels stay opaque.
    var keepsAlpha: Bool { Array(elements.suffix(5)) == Row(alpha: 1).elements }

    /// Returns this matrix and then `next`, as one. Results in between are not clamped.
    func followed(by next: ColorMatrix) -> ColorMatrix {
        let rows = (0..<4).map { row -> [Double] in
            let factors = next.elements[row * 5..<row * 5 + 5].map(\.self)
            func sum(_ column: Int) -> Double {
                factors[0] * elements[column] + factors[1] * elements[5 + column] + factors[2] * elements[10 + column]
                    + factors[3] * elements[15 + column]
            }
            return (0..<4).map(sum) + [sum(4) + factors[4]]
        }
        return ColorMatrix(rows.flatMap(\.self))
    }

    package var identifierValue: ProcessorIdentifier.Value { elements.identifierValue }
}

struct ColorMatrixProcessor: PointProcessor {
    let matrix: ColorMatrix

    var identifier: ProcessorIdentifier { ProcessorIdentifier("colorMatrix", ["elements": matrix]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        guard matrix.elements.count == 20 else { throw invalid("elements.count", matrix.elements.count) }
        for element in matrix.elements { try check("elements", element, in: .singlePrecision) }
        return try pixels.recolored(by: matrix, cancellation: context.cancellation)
    }
}

struct TintProcessor: PointProcessor {
    let color: Color
    let mode: BlendMode

    var identifier: ProcessorIdentifier { ProcessorIdentifier("tint", ["color": color, "mode": mode]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkColor("color", color)
        return try pixels.blended(with: color, mode: mode, cancellation: context.cancellation)
    }
}

extension ColorMatrix {
    static let identity = ColorMatrix()

    /// Replaces colors by their luma (Rec. 709: 0.2126, 0.7152, 0.0722).
    static let grayscale = saturation(0)

    static let inverted = ColorMatrix(
        red: Row(red: -1, constant: 1), green: Row(green: -1, constant: 1), blue: Row(blue: -1, constant: 1))

    /// Multiplies the distance of each color from its luma (Rec. 709): 0 is gray, 1 changes nothing, negative factors
    /// give opposite colors of the same luma.
    static func saturation(_ factor: Double) -> ColorMatrix {
        let luma = Row(red: 0.2126, green: 0.7152, blue: 0.0722)
        func row(_ own: WritableKeyPath<Row, Double>) -> Row {
            let rest = 1 - factor
            var row = Row(red: rest * luma.red, green: rest * luma.green, blue: rest * luma.blue)
            row[keyPath: own] += factor
            return row
        }
        return ColorMatrix(red: row(\.red), green: row(\.green), blue: row(\.blue))
    }

    /// Adds `amount` to red, green and blue.
    static func brightness(_ amount: Double) -> ColorMatrix { gain(1, adding: amount) }

    /// Multiplies the distance of red, green and blue from middle gray.
    static func contrast(_ factor: Double) -> ColorMatrix { gain(factor, adding: (1 - factor) / 2) }

    /// The weights are those of W3C's Filter Effects Module, 12.1.
    ///
    /// - Parameter amount: 0 changes nothing, 1 is all brown.
    static func sepia(_ amount: Double = 1) -> ColorMatrix {
        let brown = (
            red: Row(red: 0.393, green: 0.769, blue: 0.189), green: Row(red: 0.349, green: 0.686, blue: 0.168),
            blue: Row(red: 0.272, green: 0.534, blue: 0.131)
        )
        func row(_ brown: Row, _ own: WritableKeyPath<Row, Double>) -> Row {
            var row = Row(red: brown.red * amount, green: brown.green * amount, blue: brown.blue * amount)
            row[keyPath: own] += 1 - amount
            return row
        }
        return ColorMatrix(red: row(brown.red, \.red), green: row(brown.green, \.green), blue: row(brown.blue, \.blue))
    }

    private static func gain(_ factor: Double, adding constant: Double) -> ColorMatrix {
        ColorMatrix(
            red: Row(red: factor, constant: constant), green: Row(green: factor, constant: constant),
            blue: Row(blue: factor, constant: constant))
    }
}

extension PixelBuffer {
    /// Returns these pixels with other colors; the same object for the identity.
    ///
    /// - Parameter matrix: 20 finite numbers.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    func recolored(by matrix: ColorMatrix, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        guard matrix != .identity else { return self }
        let (elements, width) = (matrix.elements.map(Float.init), width)
        return try mapRows(isOpaque: isOpaque && matrix.keepsAlpha, cancellation: cancellation) {
            _, source, destination in
            cwi_recolor(source, destination, width, elements)
        }
    }
}
