internal import WebImageCoding
package import WebImageCore

/// A processor of this library. Its lengths are in points.
package protocol PointProcessor: PixelProcessor {
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer
}

extension PointProcessor {
    package func process(
        _ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        try process(pixels, in: ProcessingContext(scale: scale, cancellation: cancellation))
    }
}

// Errors for invalid parameters, all `WebImageError.processing(identifier:reason:)`. They are compiled for each
// processor, so the work is in the functions further below.
extension Processor {
    func invalid(_ name: String, _ value: some CustomStringConvertible) -> WebImageError {
        .processing(
            identifier: identifier.description, reason: .invalidParameter(name: name, value: value.description))
    }

    /// Nothing of the image is left.
    var emptyResult: WebImageError { .processing(identifier: identifier.description, reason: .emptyResult) }

    /// Throws unless `value` is in `range`; NaN is in none.
    func check(_ name: String, _ value: Double, in range: ClosedRange<Double>) throws(WebImageError) {
        guard range.contains(value) else { throw invalid(name, value) }
    }

    /// Throws for NaN and infinity.
    func checkFinite(_ name: String, _ value: Double) throws(WebImageError) {
        guard value.isFinite else { throw invalid(name, value) }
    }

    /// Throws for 0, negative numbers, NaN and infinity.
    func checkPositive(_ name: String, _ value: Double) throws(WebImageError) {
        guard value.isFinite, value > 0 else { throw invalid(name, value) }
    }

    /// Throws for negative numbers, NaN and infinity.
    func checkNotNegative(_ name: String, _ value: Double) throws(WebImageError) {
        guard value.isFinite, value >= 0 else { throw invalid(name, value) }
    }

    /// Throws for a component that is not finite. Those beyond 0 to 1 are clamped later.
    func checkColor(_ name: String, _ color: Color) throws(WebImageError) {
        if let component = color.infiniteComponent { throw invalid(name, component) }
    }

    /// Throws for a rectangle without area or with a number that is not finite.
    func checkRect(_ name: String, _ rect: PointRect) throws(WebImageError) {
        if let (part, value) = rect.invalidNumber { throw invalid("\(name).\(part)", value) }
    }

    /// Throws for a result that is larger than its input and than the decoding limit.
    func checkResult(_ size: PixelSize, of input: PixelSize) throws(WebImageError) {
        guard let limit = size.exceededLimit(for: input) else { return }
        throw .processing(identifier: identifier.description, reason: .resultTooLarge(size, pixelLimit: limit))
    }
}

extension Color {
    fileprivate var infiniteComponent: Double? {
        for component in [red, green, blue, alpha] where !component.isFinite { return component }
        return nil
    }
}

extension PointRect {
    fileprivate var invalidNumber: (name: String, value: Double)? {
        if !x.isFinite { return ("x", x) }
        if !y.isFinite { return ("y", y) }
        if !width.isFinite || width <= 0 { return ("width", width) }
        if !height.isFinite || height <= 0 { return ("height", height) }
        return nil
    }
}

extension PixelSize {
    /// The maximum number of pixels of a result, if this size has more: a strip of 65,535 pixels, from a file of some
    /// bytes, would need 8 GB when rotated by 45 degrees.
    fileprivate func exceededLimit(for input: PixelSize) -> Int? {
        let limit = max(DecodingLimits.default.pixelCount, input.pixelCount)
        // The pixel buffer rejects sides that are too long.
        return pixelCount > limit && max(width, height) <= PixelSize.maximumDimension ? limit : nil
    }
}

extension ClosedRange<Double> {
    /// The finite numbers of single precision, in which kernels calculate.
    static var singlePrecision: ClosedRange<Double> {
        -Double(Float.greatestFiniteMagnitude)...Double(Float.greatestFiniteMagnitude)
    }
}

/// The context of a processor's work besides the pixels: the scale to convert points to pixels, and the cancellation.
package struct ProcessingContext: Sendable {
    /// Pixels per point.
    package let scale: Double
    /// Checked between batches of rows.
    package let cancellation: Cancellation?

    init(scale: Double = 1, cancellation: Cancellation? = nil) {
        self.scale = scale
        self.cancellation = cancellation
    }

    /// Rounded to nearest.
    func wholePixels(_ points: Double) -> Int { Int(rounding: points * scale) }

    /// Rounded to nearest, at least 1.
    func atLeastOnePixel(_ points: Double) -> Int { max(1, wholePixels(points)) }

    func atLeastOnePixel(_ size: PointSize) -> PixelSize {
        PixelSize(width: atLeastOnePixel(size.width), height: atLeastOnePixel(size.height))
    }

    /// An offset, rounded and limited to 1,000,000 pixels; 0 for an image whose scale is not a number.
    func pixelOffset(_ points: Double) -> Int {
        let pixels = (points * scale).rounded()
        return pixels.isNaN ? 0 : Int(min(max(pixels, -1e6), 1e6))
    }

    /// Not rounded, except for errors of floating-point arithmetic.
    func region(_ rect: PointRect) -> PixelRegion {
        func pixels(_ points: Double) -> Double {
            let exact = points * scale
            return abs(exact - exact.rounded()) < 1e-6 ? exact.rounded() : exact
        }
        let (left, top) = (pixels(rect.x), pixels(rect.y))
        return PixelRegion(
            x: left, y: top, width: pixels(rect.x + rect.width) - left, height: pixels(rect.y + rect.height) - top)
    }
}

extension Int {
    /// The whole number nearest to `value`, which is finite, limited to ±2^40.
    init(rounding value: Double) {
        self = Int(Swift.min(Swift.max(value.rounded(), -0x1p40), 0x1p40))
    }
}
