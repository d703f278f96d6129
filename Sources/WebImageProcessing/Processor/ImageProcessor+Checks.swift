internal import WebImageCoding
internal import WebImageCore

// What processors say of parameters that make no sense. All of these throw `WebImageError.processing(identifier:reason:)`.
extension ImageProcessor {
    /// The error for a parameter that makes no sense.
    func invalid(_ name: String, _ value: some CustomStringConvertible) -> WebImageError {
        .processing(
            identifier: identifier.description, reason: .invalidParameter(name: name, value: value.description))
    }

    /// The error where nothing of the picture is left.
    var emptyResult: WebImageError { .processing(identifier: identifier.description, reason: .emptyResult) }

    /// Throws unless `value` is a number in `range`; NaN is in none.
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

    /// Throws for a colour with a component that is no finite number; those beyond 0 to 1 are cut later.
    func checkColor(_ name: String, _ color: Color) throws(WebImageError) {
        for component in [color.red, color.green, color.blue, color.alpha] { try checkFinite(name, component) }
    }

    /// Throws for a result that is larger than its input and than what is decoded by default: a strip of 65,535 pixels,
    /// which a file of some bytes holds, would need 8 GB once it is turned by 45 degrees.
    func checkResult(_ size: PixelSize, of input: PixelSize) throws(WebImageError) {
        let limit = max(DecodingLimits.default.pixelCount, input.pixelCount)
        // Sides that no picture can have are for the picture to refuse.
        guard size.pixelCount > limit, max(size.width, size.height) <= MutablePixelBuffer.maximumDimension else {
            return
        }
        throw .processing(
            identifier: identifier.description, reason: .resultTooLarge(size, pixelLimit: limit))
    }

    /// Throws for a rectangle without area or with a number that is not finite.
    func checkRect(_ name: String, _ rect: PointRect) throws(WebImageError) {
        try checkFinite("\(name).x", rect.x)
        try checkFinite("\(name).y", rect.y)
        try checkPositive("\(name).width", rect.width)
        try checkPositive("\(name).height", rect.height)
    }
}

extension ClosedRange<Double> {
    /// Every finite number that single precision, in which kernels calculate, holds.
    static var singlePrecision: ClosedRange<Double> {
        -Double(Float.greatestFiniteMagnitude)...Double(Float.greatestFiniteMagnitude)
    }
}
