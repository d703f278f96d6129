internal import FoundationEssentials
internal import WebImageCore

/// Looks for the best file that is short enough; see ``EncodingLimits/byteCount``.
struct FileSizeSearch {
    let format: ImageFormat
    let byteLimit: Int
    let usesQuality: Bool
    /// Of the picture without further scaling.
    let size: PixelSize
    /// How the pictures that `encode` fits in a box come into it.
    var mode = ResizeMode.aspectFit

    /// - Parameter encode: makes the file in the quality, fitted in the box.
    /// - Throws: ``WebImageError/encoding(format:reason:)`` where nothing is short enough, and what `encode` throws.
    func run(
        quality: Double, _ encode: (_ quality: Double, _ bounds: Thumbnail?) throws(WebImageError) -> Data
    ) throws(WebImageError) -> Data {
        var data = try encode(quality, nil)
        if data.count <= byteLimit { return data }
        var quality = quality
        if usesQuality, quality > EncodingLimits.lowestQuality {
            let highest = quality
            quality = EncodingLimits.lowestQuality
            data = try encode(quality, nil)
            if data.count <= byteLimit { return try best(in: quality...highest, lowest: data, encode) }
        }
        return try smaller(quality: quality, tried: data, encode)
    }

    /// The best that is short enough, of qualities of which the lowest is and the highest is not.
    private func best(
        in range: ClosedRange<Double>, lowest: Data,
        _ encode: (_ quality: Double, _ bounds: Thumbnail?) throws(WebImageError) -> Data
    ) throws(WebImageError) -> Data {
        var (low, high, best) = (range.lowerBound, range.upperBound, lowest)
        for _ in 0..<Self.qualityTryCount {
            let middle = (low + high) / 2
            let data = try encode(middle, nil)
            if data.count <= byteLimit { (low, best) = (middle, data) } else { high = middle }
        }
        return best
    }

    private func smaller(
        quality: Double, tried: Data, _ encode: (_ quality: Double, _ bounds: Thumbnail?) throws(WebImageError) -> Data
    ) throws(WebImageError) -> Data {
        var (least, factor) = (tried.count, 1.0)
        for _ in 0..<Self.sizeTryCount {
            // Bytes go with pixels, or a little slower; from the second try on a little more is taken.
            factor *= min((Double(max(byteLimit, 0)) / Double(least)).squareRoot() * 0.95, 0.9)
            let bounds = Thumbnail(
                width: max(1, Int(Double(size.width) * factor)), height: max(1, Int(Double(size.height) * factor)),
                mode: mode)
            let data = try encode(quality, bounds)
            if data.count <= byteLimit { return data }
            least = min(least, data.count)
            if bounds.size == PixelSize(width: 1, height: 1) { break }
        }
        throw .encoding(format: format, reason: .tooLong(byteCount: least, limit: byteLimit))
    }

    /// Finer steps than a fiftieth show no difference.
    private static let qualityTryCount = 5
    private static let sizeTryCount = 9
}
