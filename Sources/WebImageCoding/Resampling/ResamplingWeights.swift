internal import CWebImageKernels
internal import Glibc

/// How an output pixel weighs input pixels by their distance from its center.
package enum ResamplingFilter: Sendable, Hashable {
    /// Lanczos with three lobes, `sinc(x) * sinc(x / 3)`: the sharpest with little ringing.
    case lanczos3
    /// Linear interpolation: half the pixels of Lanczos, softer.
    case triangle
    /// The pixel at the center: no new colors, hard edges.
    case nearest

    /// In pixels of the image with the larger pixels.
    var radius: Double {
        switch self {
        case .lanczos3: 3
        case .triangle: 1
        case .nearest: 0
        }
    }

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
        // One sine suffices: sin(3a) = 3 sin(a) - 4 sin(a)³.
        let angle = .pi * x / 3
        let sine = sin(angle)
        let square = sine * sine
        return (3 - 4 * square) * square / (3 * angle * angle)
    }
}

/// For every output pixel of one dimension, the input pixels it sums and their weights.
///
/// Pixel i covers i to i + 1, so centers are at halves: output center c maps to input position start + c * scale. When
/// shrinking, the filter widens by the same factor, so that every input pixel counts and nothing aliases. At the edges
/// the filter is cut and normalized, so edges don't darken.
struct ResamplingWeights {
    /// `stride` weights per output pixel; see `cwi_filter`.
    let weights: [Int16]
    /// The first input pixel of each output pixel.
    private(set) var first: [Int32]
    /// Weights per output pixel, a multiple of 4.
    let stride: Int
    let precision: Int

    /// - Parameters:
    ///   - region: the part of the input to show; all of it by default. Pixels beside it count where the filter reaches
    ///     them. Beyond the input's edges, its last pixels are repeated.
    ///   - maximumPrecision: the most fraction bits for which the sums fit.
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
            // Clamped before the conversion to `Int`, which they may exceed.
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
        let headroom = Int((Double(Int16.max) / largest).binade.exponent)
        let precision = min(maximumPrecision, headroom)
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

    /// The input pixels that any output pixel sums.
    func inputRange(upTo inputLength: Int) -> Range<Int> {
        let lower = Int(first.min() ?? 0)
        return lower..<min(Int(first.max() ?? 0) + stride, inputLength)
    }

    /// Counts input pixels from `origin` on.
    mutating func moveOrigin(to origin: Int) {
        first = first.map { $0 - Int32(origin) }
    }

    /// Calls `body` with the kernels' form, valid until `body` returns.
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

    /// Rounds so that the weights add up to exactly 1, carrying over each error: even areas keep their color, opaque
    /// pixels stay opaque.
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
