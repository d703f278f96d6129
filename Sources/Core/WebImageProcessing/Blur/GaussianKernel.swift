internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// The weights of a Gaussian as whole numbers, and without its tail, as libvips has them: services that make images by URLs use those.
struct GaussianKernel: Sendable {
    /// An odd number of weights, of which 20 is that of the center.
    let weights: [Int32]
    let total: Int32

    /// How many pixels on each side of the center count.
    var radius: Int { weights.count / 2 }

    /// - Parameters:
    ///   - deviation: the standard deviation of the Gaussian, in pixels.
    ///   - leastWeight: the smallest weight, as a share of the center's.
    init(deviation: Double, leastWeight: Double) {
        func weight(_ distance: Int) -> Double { exp(-Double(distance * distance) / (2 * deviation * deviation)) }
        let longest = Int(min(8 * deviation, 5000))
        let end = (0..<longest).first { weight($0) < leastWeight } ?? longest
        let radius = max(end - 1, 0)
        weights = (-radius...radius).map { Int32((20 * weight($0)).rounded(.toNearestOrEven)) }
        total = weights.reduce(0, +)
    }

    /// That of the weights, which is less than that of the whole Gaussian.
    var standardDeviation: Double {
        let moment = weights.enumerated().reduce(0.0) { sum, item in
            let distance = Double(item.offset - radius)
            return sum + distance * distance * Double(item.element)
        }
        return (moment / Double(total)).squareRoot()
    }

    /// Returns a line blurred. The outermost values are repeated beyond its ends.
    ///
    /// - Parameter step: the number of values for each pixel.
    func blurred<Value: FixedWidthInteger>(_ line: UnsafePointer<Value>, count: Int, step: Int) -> [Value] {
        var sums = [Int32](repeating: total / 2, count: count * step)
        for (index, weight) in weights.enumerated() {
            let distance = index - radius
            for pixel in 0..<count {
                let source = min(max(pixel + distance, 0), count - 1) * step
                for channel in 0..<step { sums[pixel * step + channel] &+= weight &* Int32(line[source + channel]) }
            }
        }
        return sums.map { Value(truncatingIfNeeded: $0 / total) }
    }

    /// Writes the line that lines above and below blur to.
    ///
    /// - Parameters:
    ///   - y: the number of the line, of `height`.
    ///   - line: returns a line by its number.
    func blur<Value: FixedWidthInteger>(
        _ y: Int, of height: Int, count: Int, into output: UnsafeMutablePointer<Value>,
        _ line: (Int) -> UnsafePointer<Value>
    ) {
        var sums = [Int32](repeating: total / 2, count: count)
        for (index, weight) in weights.enumerated() {
            let source = line(min(max(y + index - radius, 0), height - 1))
            for place in 0..<count { sums[place] &+= weight &* Int32(source[place]) }
        }
        for place in 0..<count { output[place] = Value(truncatingIfNeeded: sums[place] / total) }
    }
}

/// A blur with a ``GaussianKernel``; boxes stand for a wide one.
struct GaussianBlurProcessor: PointProcessor {
    /// In points.
    let deviation: Double

    /// Such as `gaussianBlur(deviation:0.7)`.
    var identifier: ProcessorIdentifier { ProcessorIdentifier("gaussianBlur", ["deviation": deviation]) }

    /// Beyond it, boxes are close enough and take less time.
    private static let widestKernel = 8.0

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkNotNegative("deviation", deviation)
        let deviation = deviation * context.scale
        guard deviation >= 0.2 else { return pixels }
        let kernel = GaussianKernel(deviation: deviation, leastWeight: 0.2)
        guard kernel.radius > 0 else { return pixels }
        let cancellation = context.cancellation
        guard deviation <= Self.widestKernel else {
            return try pixels.blurred(radius: 2 * kernel.standardDeviation, cancellation: cancellation)
        }
        let (width, height) = (pixels.width, pixels.height)
        let across = try pixels.mapRows(isOpaque: pixels.isOpaque, cancellation: cancellation) {
            _, source, destination in
            let line = kernel.blurred(source, count: width, step: 4)
            line.withUnsafeBufferPointer { line in
                if let start = line.baseAddress { destination.update(from: start, count: line.count) }
            }
        }
        return try across.mapRows(isOpaque: pixels.isOpaque, cancellation: cancellation) { y, _, destination in
            kernel.blur(y, of: height, count: width * 4, into: destination) { across.row($0) }
        }
    }
}

extension ImageProcessor {
    /// Blurs with a Gaussian.
    ///
    /// - Parameter deviation: its standard deviation in points; below 0.2, and as long as no other pixel has a fifth of the center's weight,
    ///   nothing changes.
    public static func gaussianBlur(deviation: Double) -> Self { Self(GaussianBlurProcessor(deviation: deviation)) }
}
