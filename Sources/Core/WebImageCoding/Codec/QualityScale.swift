public import WebImageCore

/// The meaning of ``EncodingOptions/quality``.
public enum QualityScale: String, Codable, Sendable, Hashable {
    /// The quality of a JPEG that looks about the same, in every format.
    case look
    /// The number of the format's library, of 100. Two libraries mean different things by one number.
    case library
}

extension EncodingOptions {
    /// The number that the library of `format` gets, 0 to 100.
    ///
    /// The numbers between those of a table are on lines.
    public func libraryQuality(of format: ImageFormat) -> Double {
        guard qualityScale == .look, let table = Self.librariesQualities[format] else { return quality * 100 }
        let position = quality * Double(table.count - 1)
        let index = min(Int(position), table.count - 2)
        return table[index] + (table[index + 1] - table[index]) * (position - Double(index))
    }

    /// For the qualities 0, 0.05, 0.1 … 1, the library's number at which photographs look as a JPEG of that quality does:
    /// Documentation/Decisions.md tells how they were measured. JPEG 2000 has none, because its scale is one of noise.
    private static let librariesQualities: [ImageFormat: [Double]] = [
        .webp: [
            0, 2, 5, 9, 13, 21, 32, 39, 48, 55.5, 63.5, 69.5, 73, 76.5, 80, 83, 86.5, 90, 95, 97.5, 100,
        ],
        .avif: [
            0, 5, 12, 19, 29, 34.5, 40, 44, 47.5, 50, 53, 55, 56.5, 59, 62.5, 68.5, 74.5, 80.5, 89.5, 95, 100,
        ],
        .heic: [
            0, 2, 4, 11, 18, 22, 26.5, 28.5, 31.5, 33.5, 35.5, 37, 38.5, 40, 42.5, 45.5, 48.5, 52.5, 64, 73, 100,
        ],
        .jpegXL: [0, 1, 2, 5, 14, 19, 27, 36, 45, 50, 61, 64, 67, 71, 74.5, 78, 82, 85.5, 94, 97, 100],
    ]

    /// Whether a lossy AVIF, HEIC or JPEG has colors of full resolution. Below, their loss is not visible.
    public var hasFullChroma: Bool { quality >= 0.9 }
}
