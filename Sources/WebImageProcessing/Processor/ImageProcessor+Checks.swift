internal import WebImageCore

extension ImageProcessor {
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` unless `value` is a number in `range`.
    func check(_ name: String, _ value: Double, in range: ClosedRange<Double>) throws(WebImageError) {
        guard range.contains(value) else {
            throw .processing(
                identifier: identifier.description, reason: .invalidParameter(name: name, value: "\(value)"))
        }
    }

    /// - Throws: ``WebImageError/processing(identifier:reason:)`` unless every component of `color` is finite.
    func check(_ name: String, _ color: Color) throws(WebImageError) {
        for component in [color.red, color.green, color.blue, color.alpha] { try check(name, component, in: .finite) }
    }
}

extension ClosedRange<Double> {
    /// Every finite number that single precision holds.
    static var finite: ClosedRange<Double> {
        -Double(Float.greatestFiniteMagnitude)...Double(Float.greatestFiniteMagnitude)
    }

    /// Those of them that are not negative.
    static var finiteLength: ClosedRange<Double> { 0...Double(Float.greatestFiniteMagnitude) }
}
