internal import FoundationEssentials
internal import WebImageCore

/// Finds the best file within a limit: see ``EncodingOptions/byteLimit``.
struct FileSizeSearch {
    let format: ImageFormat
    let byteLimit: Int
    let usesQuality: Bool
    /// The size of the image without further scaling.
    let size: PixelSize
    /// How images are fitted in the box passed to `encode`.
    var mode = ResizeMode.aspectFit

    /// - Parameter encode: encodes with a quality, fitted in a box.
    /// - Throws: ``WebImageError/encoding(format:reason:)`` if nothing is short enough, and the errors of `encode`.
    func run(
        quality: Double, _ encode: (_ quality: Double, _ bounds: Thumbnail?) throws(WebImageError) -> Data
    ) throws(WebImageError) -> Data {
        var data = try encode(quality, nil)
        if data.count <= byteLimit { return data }
        var quality = quality
        if usesQuality, quality > EncodingOptions.lowestQuality {
            let highest = quality
            quality = EncodingOptions.lowestQuality
            data = try encode(quality, nil)
            if data.count <= byteLimit { return try best(in: quality...highest, lowest: data, encode) }
        }
        return try smaller(quality: quality, tried: data, encode)
    }

    /// Returns the best file of a range of qualities of which the lowest is short enough and the highest is not.
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
            // The length is roughly proportional to the pixels; from the second try on, a bit less.
            factor *= min((Double(max(byteLimit, 0)) / Double(least)).squareRoot() * 0.95, 0.9)
            let bounds = Thumbnail(
                .pixels(
                    width: max(1, Int(Double(size.width) * factor)), height: max(1, Int(Double(size.height) * factor))),
                mode: mode)
            let data = try encode(quality, bounds)
            if data.count <= byteLimit { return data }
            least = min(least, data.count)
            if bounds.size == PixelSize(width: 1, height: 1) { break }
        }
        throw .encoding(format: format, reason: .tooLong(byteCount: least, limit: byteLimit))
    }

    /// Steps finer than a fiftieth make no difference.
    private static let qualityTryCount = 5
    private static let sizeTryCount = 9
}
