internal import WebImageCoding
internal import WebImageCore

/// Shows squares of one color in place of pixels. At the right and at the bottom, a square that is not complete continues with the pixels in front
/// of it, as in a mirror.
struct PixelateProcessor: PointProcessor {
    /// The side of a square in points.
    let side: Int

    /// Such as `pixelate(side:8)`.
    var identifier: ProcessorIdentifier { ProcessorIdentifier("pixelate", ["side": side]) }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        guard side >= 0 else { throw invalid("side", side) }
        let (width, height) = (pixels.width, pixels.height)
        let side = min(Int((Double(side) * context.scale).rounded()), max(width, height))
        guard side > 1 else { return pixels }
        let squares = try squares(of: pixels, side, context.cancellation)
        let count = (width + side - 1) / side
        return try pixels.mapRows(isOpaque: pixels.isOpaque, cancellation: context.cancellation) { y, _, destination in
            for x in 0..<width {
                let start = (y / side * count + x / side) * 4
                for channel in 0..<4 { destination[x * 4 + channel] = squares[start + channel] }
            }
        }
    }

    /// Returns the colors of the squares, row by row: the average of averages of columns.
    private func squares(
        of pixels: PixelBuffer, _ side: Int, _ cancellation: Cancellation?
    ) throws(WebImageError) -> [UInt8] {
        let (width, height) = (pixels.width, pixels.height)
        var (squares, columns) = ([UInt8](), [Int32](repeating: 0, count: width * 4))
        let half = Int32(side / 2)
        for top in stride(from: 0, to: height, by: side) {
            try cancellation?.check()
            for index in columns.indices { columns[index] = half }
            for y in top..<top + side {
                let row = pixels.row(Self.mirrored(y, in: height))
                for index in columns.indices { columns[index] &+= Int32(row[index]) }
            }
            for left in stride(from: 0, to: width, by: side) {
                for channel in 0..<4 {
                    let sum = (left..<left + side).reduce(half) { sum, x in
                        sum + columns[Self.mirrored(x, in: width) * 4 + channel] / Int32(side)
                    }
                    squares.append(UInt8(truncatingIfNeeded: sum / Int32(side)))
                }
            }
        }
        return squares
    }

    private static func mirrored(_ place: Int, in length: Int) -> Int {
        let place = place % (2 * length)
        return place < length ? place : 2 * length - 1 - place
    }
}

extension ImageProcessor {
    /// Shows squares of one color in place of pixels.
    ///
    /// - Parameter side: of a square, in points; 0 and 1 change nothing.
    public static func pixelate(side: Int) -> Self { Self(PixelateProcessor(side: side)) }
}
