internal import CWebImageKernels
internal import Glibc

/// How an output pixel weighs the input pixels around it, by their distance from its centre.
package enum ResamplingFilter: Sendable, Hashable {
    /// Lanczos with three lobes, `sinc(x) * sinc(x / 3)`: the sharpest without much ringing.
    case lanczos3
    /// A straight slope from the centre to the next pixel's: half as many pixels as Lanczos, softer.
    case triangle
    /// The one pixel at the centre: no new colours, edges stay hard.
    case nearest

    /// How far it reaches, in pixels of whichever of the two pictures has the larger ones.
    var radius: Double {
        switch self {
        case .lanczos3: 3
        case .triangle: 1
        case .nearest: 0
        }
    }

    /// The weight at a distance.
    func weight(at x: Double) -> Double {
        switch self {
        case .lanczos3: Self.lanczos(x)
        case .triangle: max(0, 1 - abs(x))
        case .nearest: 1
        }
    }

    private static func lanczos(_ x: Double) -> Double {
        guard x != 0 else { return 1 }
        guard abs(x) < 3 else { return 0 }
        // One sine is as good as two: sin(3a) = 3 sin(a) - 4 sin(a)³.
        let angle = .pi * x / 3
        let sine = sin(angle)
        let square = sine * sine
        return (3 - 4 * square) * square / (3 * angle * angle)
    }
}

/// For every output pixel of one direction, which input pixels it sums and with which weights.
///
/// Pixel i covers i to i + 1, so centres lie at halves: output centre c maps to input position start + c * scale. When the
/// picture shrinks, the filter widens by the same factor, so that every input pixel counts and nothing aliases. At the
/// edges the lobes that stick out are cut and the rest is weighed up to 1: edges do not darken.
struct ResamplingWeights {
    /// `stride` weights an output pixel; see `cwi_filter`.
    let weights: [Int16]
    /// The first input pixel of each output pixel.
    private(set) var first: [Int32]
    /// Weights an output pixel, a multiple of 4.
    let stride: Int
    /// Fraction bits.
    let precision: Int

    /// - Parameters:
    ///   - region: where on the input the output begins, and how much of it that shows; all of it unless said otherwise.
    ///     Pixels beside it count where the filter reaches them. Beyond the input's edges, its last pixels go on.
    ///   - maximumPrecision: as many fraction bits as the sums have room for.
    init(
        from inputLength: Int, region: (start: Double, length: Double)? = nil, to outputLength: Int,
        filter: ResamplingFilter = .lanczos3, maximumPrecision: Int
    ) {
        let (start, length) = region ?? (0, Double(inputLength))
        let scale = length / Double(outputLength)
        let widening = max(1, scale)
        let radius = filter.radius * widening
        let spans = (0..<outputLength).map { index in
            let center = min(max(start + (Double(index) + 0.5) * scale, 0), Double(inputLength))
            if filter == .nearest {
                let index = min(Int(center), inputLength - 1)
                return (center: center, range: index..<index + 1)
            }
            // Cut before they become whole: of a picture drawn next to nowhere, a pixel shows more than an `Int` counts.
            let lower = Int(max(0, (center - radius).rounded()))
            let upper = Int(min(Double(inputLength), (center + radius).rounded()))
            return (center: center, range: lower..<max(upper, lower + 1))
        }
        let stride = ((spans.map(\.range.count).max() ?? 1) + 3) / 4 * 4
        var exact = [Double](repeating: 0, count: outputLength * stride)
        exact.withUnsafeMutableBufferPointer { exact in
            for (index, span) in spans.enumerated() {
                var sum = 0.0
                for (offset, pixel) in span.range.enumerated() {
                    let weight = filter.weight(at: (Double(pixel) + 0.5 - span.center) / widening)
                    exact[index * stride + offset] = weight
                    sum += weight
                }
                for offset in 0..<span.range.count { exact[index * stride + offset] /= sum }
            }
        }
        let largest = exact.reduce(0) { max($0, abs($1)) }
        let room = Int((Double(Int16.max) / largest).binade.exponent)
        let precision = min(maximumPrecision, room)
        var weights = [Int16](repeating: 0, count: outputLength * stride)
        for (index, span) in spans.enumerated() {
            let values = exact[index * stride..<index * stride + span.range.count]
            Self.quantize(values, precision: precision, into: &weights, at: index * stride)
        }
        self.weights = weights
        self.first = spans.map { Int32($0.range.lowerBound) }
        self.stride = stride
        self.precision = precision
    }

    /// The input pixels from the first to the last that any output pixel sums, of `inputLength`.
    func inputRange(upTo inputLength: Int) -> Range<Int> {
        let lower = Int(first.min() ?? 0)
        return lower..<min(Int(first.max() ?? 0) + stride, inputLength)
    }

    /// Counts input pixels from `origin` on.
    mutating func moveOrigin(to origin: Int) {
        first = first.map { $0 - Int32(origin) }
    }

    /// Calls `body` with the form the kernels take; it is good until `body` returns.
    func withFilter<Result>(_ body: (cwi_filter) -> Result) -> Result {
        weights.withUnsafeBufferPointer { weights in
            first.withUnsafeBufferPointer { first in
                body(
                    cwi_filter(
                        weights: weights.baseAddress, first: first.baseAddress, stride: stride,
                        precision: Int32(precision)))
            }
        }
    }

    /// Rounds so that the weights add up to exactly 1, passing each one's error on to the next: an even area keeps its
    /// colour, and what is opaque stays so.
    private static func quantize(
        _ values: ArraySlice<Double>, precision: Int, into weights: inout [Int16], at start: Int
    ) {
        let one = Double(1 << precision)
        var exactSum = 0.0
        var sum = 0
        for (offset, value) in values.enumerated() {
            exactSum += value * one
            let weight = Int(exactSum.rounded()) - sum
            weights[start + offset] = Int16(clamping: weight)
            sum += weight
        }
    }
}
