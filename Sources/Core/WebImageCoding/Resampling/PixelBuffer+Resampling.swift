internal import CWebImageKernels
internal import Glibc
public import WebImageCore

extension PixelBuffer {
    /// Returns these pixels, or a region of them, at `size`; without resampling if they have that size. Rows are made on several threads, and
    /// the calling thread blocks until all are.
    ///
    /// ```swift
    /// let half = try image.pixels.resampled(to: PixelSize(width: image.pixels.width / 2, height: image.pixels.height / 2))
    /// ```
    ///
    /// - Parameters:
    ///   - size: in pixels; sides of 1 to 65,535.
    ///   - region: the part of the image; `nil`, the default, is all of it.
    ///   - filter: how pixels are weighed; Lanczos by default.
    ///   - cancellation: polled every millisecond or two; `nil`, the default, for none.
    /// - Precondition: the region's numbers are finite, its sides above 0.
    /// - Throws: ``WebImageError/LimitFailure/side(width:height:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    public func resampled(
        to size: PixelSize, region: PixelRegion? = nil, filter: ResizeFilter = .lanczos,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        let region = region ?? PixelRegion(self.size)
        return switch filter {
        case .lanczos: try resampled(to: size, region: region, kernel: .lanczos3, cancellation: cancellation)
        case .nearest: try resampled(to: size, region: region, kernel: .nearest, cancellation: cancellation)
        case .fast: try quicklyResampled(to: size, region: region, cancellation: cancellation)
        }
    }

    /// Each output row first sums the input rows it covers, then the columns of that row, so there is no intermediate
    /// image. The result does not depend on the number of threads.
    func resampled(
        to size: PixelSize, region: PixelRegion, kernel: ResamplingKernel, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        if let rect = region.wholePixels(of: size), let part = try cropped(to: rect), part.size == size { return part }
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        // Sums must fit in 32 bits: with 8-bit pixels 22 fraction bits fit, with 14-bit intermediates 16.
        let rows = ResamplingWeights(
            from: height, region: (region.y, region.height), to: size.height, kernel: kernel, maximumPrecision: 22)
        var columns = ResamplingWeights(
            from: width, region: (region.x, region.width), to: size.width, kernel: kernel, maximumPrecision: 16)
        // Only the columns under a filter: few for a small region of a wide image.
        let used = columns.inputRange(upTo: width)
        columns.moveOrigin(to: used.lowerBound)
        let outputStride = output.bytesPerRow
        // The work of an output row is that of the input rows it covers.
        let inputRowCount = max(1, Int(min(region.height / Double(size.height), Double(height))))
        try output.fillBands(inputPixelsPerRow: used.count * inputRowCount, cancellation: cancellation) {
            [self, columns] range, destination in
            // Padding weights reach beyond the last pixel.
            let line = UnsafeMutablePointer<Int16>.allocate(capacity: (used.count + columns.stride) * 4)
            (line + used.count * 4).initialize(repeating: 0, count: columns.stride * 4)
            defer { line.deallocate() }
            let source = row(0) + used.lowerBound * 4
            rows.withFilter { rowFilter in
                columns.withFilter { columnFilter in
                    for row in range {
                        cwi_resample_vertically(source, bytesPerRow, height, used.count, rowFilter, row, line)
                        cwi_resample_horizontally(
                            line, columnFilter, destination + (row - range.lowerBound) * outputStride, size.width)
                    }
                }
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }
}

extension PixelBuffer {
    /// Applies ``ResizeFilter/fast``.
    ///
    ///     picture ──▶ boxes of whole pixels averaged, while twice the size is left ──▶ triangle filter ──▶ result
    ///
    /// Every input pixel counts, so nothing aliases.
    private func quicklyResampled(
        to size: PixelSize, region: PixelRegion, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        var region = region
        func boxLength(_ length: Double, _ outputLength: Int) -> Int {
            Int(min(max(length / Double(max(1, outputLength)) / 2, 1), Self.longestBox))
        }
        let box = PixelSize(width: boxLength(region.width, size.width), height: boxLength(region.height, size.height))
        guard box.pixelCount > 1 else {
            return try resampled(to: size, region: region, kernel: .triangle, cancellation: cancellation)
        }
        // If boxes do not divide the image, the last one is narrower.
        region.x /= Double(box.width)
        region.width /= Double(box.width)
        region.y /= Double(box.height)
        region.height /= Double(box.height)
        return try shrunk(by: box, cancellation: cancellation)
            .resampled(to: size, region: region, kernel: .triangle, cancellation: cancellation)
    }

    /// Returns the averages of boxes of `box` pixels.
    private func shrunk(by box: PixelSize, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let (columns, rows) = ((width + box.width - 1) / box.width, (height + box.height - 1) / box.height)
        var output = try MutablePixelBuffer(width: columns, height: rows)
        let outputStride = output.bytesPerRow
        try output.fillBands(inputPixelsPerRow: width * box.height, cancellation: cancellation) {
            [self] range, destination in
            let sums = UnsafeMutablePointer<UInt16>.allocate(capacity: width * 4)
            defer { sums.deallocate() }
            for row in range {
                let top = row * box.height
                cwi_shrink_boxes(
                    self.row(top), bytesPerRow,
                    min(box.height, height - top), width, box.width, sums,
                    destination + (row - range.lowerBound) * outputStride)
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// The sums of a box's columns must fit in 16 bits.
    private static let longestBox = 255.0
}

extension PixelBuffer {
    /// Returns these pixels upright, given the `orientation` in which they are stored; the same object if they are
    /// upright already.
    public func upright(
        from orientation: ImageOrientation, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        guard orientation != .up else { return self }
        let size = orientation.upright(self.size)
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let path = path(from: orientation)
        try output.fillBands(cancellation: cancellation) { [self] rows, destination in
            // The kernel takes the address of the first row of all.
            cwi_reorient(
                self.row(0), path.origin, path.stepX, path.stepY,
                destination - rows.lowerBound * size.width * 4, size.width, rows.lowerBound, rows.count)
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// The offset of the upright image's first pixel, and the distances to its right and lower neighbors, in pixels.
    private func path(from orientation: ImageOrientation) -> (origin: Int, stepX: Int, stepY: Int) {
        let row = bytesPerRow / 4
        let right = width - 1
        let bottom = (height - 1) * row
        return switch orientation {
        case .up: (0, 1, row)
        case .upMirrored: (right, -1, row)
        case .down: (bottom + right, -1, -row)
        case .downMirrored: (bottom, 1, -row)
        case .leftMirrored: (0, row, 1)
        case .right: (bottom, -row, 1)
        case .rightMirrored: (bottom + right, -row, -1)
        case .left: (right, row, -1)
        }
    }
}

/// A rectangle with fractional bounds, in pixels; it may extend beyond the image, whose last pixels are then repeated.
public struct PixelRegion: Sendable, Hashable {
    /// The left edge.
    public var x: Double
    /// The upper edge.
    public var y: Double
    /// The width.
    public var width: Double
    /// The height.
    public var height: Double

    /// Creates a rectangle from its upper left corner and its size.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    init(_ size: PixelSize) {
        self.init(x: 0, y: 0, width: Double(size.width), height: Double(size.height))
    }

    /// Whether all four numbers are.
    public var isFinite: Bool { x.isFinite && y.isFinite && width.isFinite && height.isFinite }

    /// The rectangle of whole pixels, if it has whole bounds and `size`.
    func wholePixels(of size: PixelSize) -> PixelRect? {
        guard width == Double(size.width), height == Double(size.height), let x = Int(exactly: x),
            let y = Int(exactly: y)
        else { return nil }
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }
}

extension PixelSize {
    /// Returns this size, or a proportional one of at most `limit` pixels, at least one.
    public func scaledDown(toPixelCount limit: Int) -> PixelSize {
        let limit = max(1, limit)
        guard pixelCount > limit else { return self }
        let factor = (Double(limit) / Double(pixelCount)).squareRoot()
        func scaled(_ length: Int) -> Int { max(1, Int(Double(length) * factor)) }
        // A side that cannot be shorter than 1 makes the other one too long.
        let height = min(scaled(height), limit)
        return PixelSize(width: min(scaled(width), limit / height), height: height)
    }
}

/// How resizing computes pixels.
public enum ResizeFilter: Sendable, CaseIterable {
    /// Lanczos with three lobes: the sharpest.
    case lanczos
    /// Averaged boxes of pixels, then a triangle filter: at least twice as fast without aliasing, a little softer. At
    /// least 35 dB from Lanczos for photographs of 12 megapixels at a quarter to a twentieth of their width.
    case fast
    /// The nearest pixel, for pixel art. Smaller images alias.
    case nearest
}

/// How an output pixel weighs input pixels by their distance from its center.
enum ResamplingKernel: Sendable, Hashable {
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
/// the filter is cut and normalized, so edges do not darken.
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
    ///   - maximumPrecision: the maximum number of fraction bits for which the sums fit.
    init(
        from inputLength: Int, region: (start: Double, length: Double)? = nil, to outputLength: Int,
        kernel: ResamplingKernel = .lanczos3, maximumPrecision: Int
    ) {
        let region = region ?? (0, Double(inputLength))
        let widening = max(1, region.length / Double(outputLength))
        let period = Self.period(of: region, outputLength)
        let spans = Self.spans(
            inputLength, region, outputLength, kernel, radius: kernel.radius * widening, period)
        let stride = (spans.reduce(1) { max($0, $1.count) } + 3) / 4 * 4
        var exact = [Double](repeating: 0, count: outputLength * stride)
        exact.withUnsafeMutableBufferPointer { exact in
            for (index, span) in spans.enumerated() where !span.hasTwin {
                var sum = 0.0
                for offset in 0..<span.count {
                    let weight = kernel.weight(at: (Double(span.first + offset) + 0.5 - span.center) / widening)
                    exact[index * stride + offset] = weight
                    sum += weight
                }
                for offset in 0..<span.count { exact[index * stride + offset] /= sum }
            }
        }
        let largest = exact.reduce(0) { max($0, abs($1)) }
        let headroom = Int((Double(Int16.max) / largest).binade.exponent)
        let precision = min(maximumPrecision, headroom)
        var weights = [Int16](repeating: 0, count: outputLength * stride)
        for (index, span) in spans.enumerated() {
            let place = index * stride
            if span.hasTwin, let period {
                for offset in place..<place + span.count { weights[offset] = weights[offset - period.output * stride] }
            } else {
                Self.quantize(exact[place..<place + span.count], precision: precision, into: &weights, at: place)
            }
        }
        self.weights = weights
        self.first = spans.map { Int32($0.first) }
        self.stride = stride
        self.precision = precision
    }

    /// The input pixels of an output pixel.
    private struct Span {
        let center: Double
        let first: Int
        let count: Int
        /// Whether the weights are those of the output pixel one period before.
        var hasTwin = false
    }

    private typealias Period = (output: Int, input: Int)

    /// Returns the span of each output pixel.
    private static func spans(
        _ inputLength: Int, _ region: (start: Double, length: Double), _ outputLength: Int,
        _ kernel: ResamplingKernel, radius: Double, _ period: Period?
    ) -> [Span] {
        let scale = region.length / Double(outputLength)
        var spans: [Span] = []
        spans.reserveCapacity(outputLength)
        for index in 0..<outputLength {
            let center = min(max(region.start + (Double(index) + 0.5) * scale, 0), Double(inputLength))
            if kernel == .nearest {
                spans.append(Span(center: center, first: min(Int(center), inputLength - 1), count: 1))
            } else if let period, index >= period.output, center + radius <= Double(inputLength),
                case let twin = spans[index - period.output], twin.center - radius >= 0
            {
                spans.append(Span(center: center, first: twin.first + period.input, count: twin.count, hasTwin: true))
            } else {
                // Clamped before the conversion to `Int`, which they may exceed.
                let lower = Int(max(0, (center - radius).rounded()))
                let upper = Int(min(Double(inputLength), (center + radius).rounded()))
                spans.append(Span(center: center, first: lower, count: max(upper - lower, 1)))
            }
        }
        return spans
    }

    /// After how many output and input pixels weights repeat, unless edges cut the filter: from 600 pixels to 320, after 8 and 15. Computing them took
    /// 7 % of the time of a thumbnail. `nil` for a region of parts of pixels.
    private static func period(of region: (start: Double, length: Double), _ outputLength: Int) -> Period? {
        guard Int(exactly: region.start) != nil, let length = Int(exactly: region.length) else { return nil }
        var (divisor, rest) = (outputLength, length)
        while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
        return divisor > 1 ? (outputLength / divisor, length / divisor) : nil
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
