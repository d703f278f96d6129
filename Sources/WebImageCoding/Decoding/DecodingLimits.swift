public import WebImageCore

/// How much a decoder takes on: a file of a few hundred bytes can claim four thousand megapixels.
///
/// A side above ``MutablePixelBuffer/maximumDimension``, which is fixed, is refused as well.
public struct DecodingLimits: Sendable, Hashable {
    /// The most pixels of one frame; checked before memory is taken for them.
    public var pixelCount: Int
    /// The most scans of one progressive JPEG; each costs a pass over the picture, and 88 KB can hold 8,000 of them.
    /// They are counted as they come, when memory for the coefficients is there already.
    public var scanCount: Int

    /// 100 megapixels (400 MB decoded) and 100 scans: more than any camera's picture, less than a small server's memory.
    public static let `default` = DecodingLimits(pixelCount: 100_000_000, scanCount: 100)

    /// Makes limits.
    public init(pixelCount: Int, scanCount: Int) {
        self.pixelCount = pixelCount
        self.scanCount = scanCount
    }

    /// Throws ``WebImageError/imageTooLarge(size:pixelLimit:)`` if a picture of `size` is over a limit.
    public func check(_ size: PixelSize) throws(WebImageError) {
        let longestSide = max(size.width, size.height)
        guard size.pixelCount <= pixelCount, longestSide <= MutablePixelBuffer.maximumDimension else {
            throw .imageTooLarge(size: size, pixelLimit: pixelCount)
        }
    }
}
