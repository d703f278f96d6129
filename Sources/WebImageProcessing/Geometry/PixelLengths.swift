internal import WebImageCoding
internal import WebImageCore

extension ProcessingContext {
    /// A length in points as whole pixels, rounded to nearest.
    func wholePixels(_ points: Double) -> Int { Int(rounding: points * scale) }

    /// A length in points as whole pixels, rounded to nearest, at least one.
    func atLeastOnePixel(_ points: Double) -> Int { max(1, wholePixels(points)) }

    /// A size in points as whole pixels, rounded to nearest, at least one each way.
    func atLeastOnePixel(_ size: PointSize) -> PixelSize {
        PixelSize(width: atLeastOnePixel(size.width), height: atLeastOnePixel(size.height))
    }

    /// A rectangle in points as pixels, not rounded, unless it is off by an error of arithmetic only.
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
    /// The whole number next to `value`, which is finite; beyond what any picture measures, some number there.
    init(rounding value: Double) {
        self = Int(Swift.min(Swift.max(value.rounded(), -0x1p40), 0x1p40))
    }
}
