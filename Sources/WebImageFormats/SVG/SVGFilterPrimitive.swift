internal import WebImageCore

/// The time of a filter primitive for each pixel. Measured with librsvg 2.54 on 2000 × 2000 pixels, in nanoseconds of
/// processor time, and rounded up.
enum SVGFilterPrimitive {
    /// - Parameter isFraction: whether lengths are fractions of the filtered element's size.
    /// - Throws: ``WebImageError/LimitFailure/complexity(_:)`` for what librsvg cannot calculate.
    static func work(
        of name: String, _ attributes: [String: [UInt8]], isFraction: Bool
    ) throws(WebImageError) -> SVGWork {
        var work = SVGWork()
        switch name {
        case "feTurbulence":
            work.constant = 20 + 60 * max(1, SVGNumbers.first(attributes["numOctaves"]) ?? 1)
        case "feGaussianBlur", "feDropShadow": work.constant = 130
        case "feMorphology":
            var radii = SVGNumbers(attributes["radius"] ?? [])
            let horizontal = max(0, radii.next() ?? 0)
            let vertical = max(0, radii.next() ?? horizontal)
            // Each pixel reads a rectangle.
            let perTap = 5.0
            work.constant = 20 + perTap
            if isFraction {
                (work.perSide, work.perSquareSide) = (
                    perTap * 2 * (horizontal + vertical), perTap * 4 * horizontal * vertical
                )
            } else {
                (work.perUnit, work.perSquareUnit) = (
                    perTap * 2 * (horizontal + vertical), perTap * 4 * horizontal * vertical
                )
            }
        case "feConvolveMatrix": work.constant = 20 + 8 * (try tapCount(attributes))
        case "feDiffuseLighting", "feSpecularLighting": work.constant = 80
        case "feDisplacementMap": work.constant = 650
        default: work.constant = 30
        }
        if let unit = attributes["kernelUnitLength"] {
            // The library scales the pixels by it. A shorter unit takes more pixels than there are.
            var numbers = SVGNumbers(unit)
            let first = numbers.next() ?? 1
            guard min(first, numbers.next() ?? first) >= 0.5, !isFraction else {
                throw XMLReader.complex("a kernelUnitLength below 0.5")
            }
            work.constant *= 4
        }
        return work
    }

    private static func tapCount(_ attributes: [String: [UInt8]]) throws(WebImageError) -> Double {
        var order = SVGNumbers(attributes["order"] ?? [])
        let columns = order.next() ?? 3
        let rows = order.next() ?? columns
        var matrix = SVGNumbers(attributes["kernelMatrix"] ?? [])
        var count = 0
        while matrix.next() != nil { count += 1 }
        // librsvg reads no more than 400 numbers, and ends the process if the matrix has more.
        guard columns * rows <= kernelLimit, Double(count) <= kernelLimit else {
            throw XMLReader.complex("a convolution matrix of more than \(Int(kernelLimit)) numbers")
        }
        return max(1, columns * rows)
    }

    private static let kernelLimit = 400.0
}
