internal import WebImageCore

extension PixelSize {
    /// This size, or one with the same proportions, to a pixel, and at most `limit` pixels; never less than one.
    func scaledDown(toPixelCount limit: Int) -> PixelSize {
        let limit = max(1, limit)
        guard pixelCount > limit else { return self }
        let factor = (Double(limit) / Double(pixelCount)).squareRoot()
        func scaled(_ length: Int) -> Int { max(1, Int(Double(length) * factor)) }
        // Of a very long picture the short side stays 1, which makes the other too long.
        let height = min(scaled(height), limit)
        return PixelSize(width: min(scaled(width), limit / height), height: height)
    }
}
