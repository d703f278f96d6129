internal import CWebImageKernels
internal import Glibc

/// For every output pixel of one direction, which input pixels it sums and with which weights: Lanczos with three
/// lobes, `sinc(x) * sinc(x / 3)`.
///
/// Pixel i covers i to i + 1, so centres lie at halves: output centre c maps to input position c * scale. When the
/// picture shrinks, the filter widens by the same factor, so that every input pixel counts and nothing aliases. At the
/// edges the lobes that stick out are cut and the rest is weighed up to 1: edges do not darken.
struct ResamplingWeights {
    /// `stride` weights an output pixel; see `cwi_filter`.
    let weights: [Int16]
    /// The first input pixel of each output pixel.
    let first: [Int32]
    /// Weights an output pixel, a multiple of 4.
    let stride: Int
    /// Fraction bits.
    let precision: Int

    /// - Parameter maximumPrecision: as many fraction bits as the sums have room for.
    init(from inputLength: Int, to outputLength: Int, maximumPrecision: Int) {
        let scale = Double(inputLength) / Double(outputLength)
        let widening = max(1, scale)
        let radius = Self.lobeCount * widening
        let spans = (0..<outputLength).map { index in
            let center = (Double(index) + 0.5) * scale
            let lower = max(0, Int((center - radius).rounded()))
            let upper = min(inputLength, Int((center + radius).rounded()))
            return (center: center, range: lower..<max(upper, lower + 1))
        }
        let exact = spans.map { span in
            let values = span.range.map { Self.lanczos((Double($0) + 0.5 - span.center) / widening) }
            let sum = values.reduce(0, +)
            return values.map { $0 / sum }
        }

        let largest = exact.lazy.joined().map(abs).max() ?? 1
        let room = Int((Double(Int16.max) / largest).binade.exponent)
        let precision = min(maximumPrecision, room)
        let stride = ((exact.map(\.count).max() ?? 1) + 3) / 4 * 4
        var weights = [Int16](repeating: 0, count: outputLength * stride)
        for (index, values) in exact.enumerated() {
            Self.quantize(values, precision: precision, into: &weights, at: index * stride)
        }
        self.weights = weights
        self.first = spans.map { Int32($0.range.lowerBound) }
        self.stride = stride
        self.precision = precision
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
    private static func quantize(_ values: [Double], precision: Int, into weights: inout [Int16], at start: Int) {
        let one = Double(1 << precision)
        var exactSum = 0.0
        var sum = 0
        for (index, value) in values.enumerated() {
            exactSum += value * one
            let weight = Int(exactSum.rounded()) - sum
            weights[start + index] = Int16(clamping: weight)
            sum += weight
        }
    }

    private static let lobeCount = 3.0

    private static func lanczos(_ x: Double) -> Double {
        guard abs(x) < lobeCount else { return 0 }
        return sinc(x) * sinc(x / lobeCount)
    }

    private static func sinc(_ x: Double) -> Double {
        x == 0 ? 1 : sin(.pi * x) / (.pi * x)
    }
}
