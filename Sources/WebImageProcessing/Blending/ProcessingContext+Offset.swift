extension ProcessingContext {
    /// Whole pixels for a distance in points.
    ///
    /// Farther away than any picture is long, one place is as good as another. A picture whose scale is no number has no
    /// offsets.
    func pixelOffset(_ points: Double) -> Int {
        let pixels = (points * scale).rounded()
        return pixels.isNaN ? 0 : Int(min(max(pixels, -Self.farthest), Self.farthest))
    }

    private static var farthest: Double { 1e6 }
}
