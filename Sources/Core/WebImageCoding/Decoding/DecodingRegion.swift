public import FoundationEssentials
public import WebImageCore

/// A decoder that follows ``DecodingOptions/region`` itself, most with less memory than the whole image takes. For others, the image is decoded
/// as a whole and cropped.
public protocol RegionDecoder: ImageDecoder {}

extension ImageDecoder {
    /// Like ``ImageDecoder/decode(_:options:)``, also with a region for a decoder that decodes only whole images.
    ///
    /// - Parameters:
    ///   - data: the file.
    ///   - options: ``DecodingOptions/region`` is the part; `nil` for the whole.
    /// - Throws: the errors of ``ImageDecoder/decode(_:options:)``.
    public func decodeRegion(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        if options.region == nil || self is any RegionDecoder { return try decode(data, options: options) }
        return try decodeWholeAndCrop(data, options: options)
    }

    /// Decodes the whole image, and returns the region at the size that `options` ask for.
    ///
    /// - Parameters:
    ///   - data: the file.
    ///   - options: with a ``DecodingOptions/region``.
    /// - Throws: the errors of ``ImageDecoder/decode(_:options:)``.
    public func decodeWholeAndCrop(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        var whole = options
        (whole.region, whole.thumbnail, whole.byteLimit) = (nil, nil, nil)
        whole.firstFrameOnly = true
        let image = try decode(data, options: whole)
        guard let region = options.region, let pixels = try image.pixels.cropped(to: region) else {
            throw format.unsupported(DecodingOptions.missingRegion)
        }
        let target = options.targetSize(of: pixels.size)
        return Image(
            pixels: try pixels.resampled(to: target, cancellation: options.cancellation), scale: options.scale,
            format: format, frameCount: image.frameCount, isPartial: image.isPartial,
            isThumbnail: target != pixels.size)
    }
}

extension DecodingOptions {
    fileprivate static let missingRegion = "a region outside the image"

    /// Throws ``WebImageError/DecodingFailure/unsupported(_:)`` if no pixel of an upright image of `size` is in ``region``.
    ///
    /// - Parameters:
    ///   - size: of the upright image, in pixels.
    ///   - format: of the file, for the error.
    public func checkRegion(in size: PixelSize, of format: ImageFormat) throws(WebImageError) {
        if let region, region.clamped(to: size) == nil { throw format.unsupported(Self.missingRegion) }
    }
}

extension ImageOrientation {
    /// Returns where a part of the upright image is stored.
    ///
    /// - Parameter size: of the stored image.
    func stored(_ rect: PixelRect, in size: PixelSize) -> PixelRect {
        var stored =
            swapsSides ? PixelRect(x: rect.y, y: rect.x, width: rect.height, height: rect.width) : rect
        if [.upMirrored, .down, .rightMirrored, .left].contains(self) {
            stored.x = size.width - stored.x - stored.width
        }
        if [.down, .downMirrored, .right, .rightMirrored].contains(self) {
            stored.y = size.height - stored.y - stored.height
        }
        return stored
    }
}
