/// How much a preview is blurred.
enum BlurRadius {
    /// Returns the radius in points, as in YYWebImage: 45 for the first bytes, 16 for a quarter of the file, 7 for half of it,
    /// 1 at its end. If the length is unknown, it is 32, 16, 11 … for the first preview, the second, the third.
    ///
    /// - Parameters:
    ///   - expected: the file's length; `nil` or 0 if unknown.
    ///   - number: the number of the preview, from 1.
    static func points(received: Int64, expected: Int64?, number: Int) -> Double {
        guard let expected, expected > 0 else { return 32 / Double(max(1, number)) }
        let part = min(1, max(0, Double(received) / Double(expected)))
        return 32 * (1 / (3 * part + 0.6) - 0.25)
    }
}
