public import FoundationEssentials
public import WebImageCore

extension CodecRegistry {
    /// Encodes `image` as `format`, with all frames if it moves and the format can; blocks the calling thread for as long as
    /// that takes. Without its ``WebImageCore/Image/animation`` it is a still.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``; where it moves, also what decoding a frame throws.
    public func encode(
        _ image: Image, as format: ImageFormat, options: EncodingOptions = EncodingOptions(),
        limits: EncodingLimits = EncodingLimits()
    ) throws(WebImageError) -> Data {
        let encoder = try encoder(for: format)
        if let animation = image.animation, encoder is any AnimationEncoder {
            return try encode(EncodableAnimation(animation), as: format, options: options, limits: limits)
        }
        func fitted(_ pixels: PixelBuffer, in bounds: Thumbnail?) throws(WebImageError) -> Image {
            guard let bounds else { return Image(pixels: pixels) }
            let size = bounds.targetSize(of: pixels.size)
            return Image(pixels: try pixels.resampled(to: size, cancellation: options.cancellation))
        }
        let still = try fitted(image.pixels, in: limits.bounds)
        guard let byteLimit = limits.byteCount else { return try encoder.encode(still, options: options) }
        let search = FileSizeSearch(
            format: format, byteLimit: byteLimit, usesQuality: encoder.usesQuality(options), size: still.pixels.size)
        return try search.run(quality: options.quality) { (quality, bounds) throws(WebImageError) in
            var options = options
            options.quality = quality
            return try encoder.encode(fitted(still.pixels, in: bounds), options: options)
        }
    }

    /// Encodes `animation` as `format`; blocks the calling thread for as long as that takes. A single frame becomes a still,
    /// in any format.
    ///
    /// - Throws: as for an image; ``WebImageError/encoding(format:reason:)`` with
    ///   ``WebImageError/EncodingFailure/noAnimation`` for a format that holds one frame only.
    public func encode(
        _ animation: EncodableAnimation, as format: ImageFormat, options: EncodingOptions = EncodingOptions(),
        limits: EncodingLimits = EncodingLimits()
    ) throws(WebImageError) -> Data {
        let encoder = try encoder(for: format)
        // Frames of one size are known by the first.
        var reader = try EncodableFrameReader(
            animation, format: format, maximumDimension: .max, cancellation: options.cancellation)
        if animation.frames.count == 1, let pixels = try reader.nextFrame() {
            return try encode(Image(pixels: pixels), as: format, options: options, limits: limits)
        }
        guard let encoder = encoder as? any AnimationEncoder else {
            throw .encoding(format: format, reason: .noAnimation)
        }
        var animation = animation
        if let bounds = limits.bounds { animation.bounds = bounds }
        guard let byteLimit = limits.byteCount else { return try encoder.encode(animation, options: options) }
        let size = try reader.nextFrame()?.size ?? PixelSize(width: 1, height: 1)
        let search = FileSizeSearch(
            format: format, byteLimit: byteLimit, usesQuality: encoder.usesQuality(options),
            size: limits.bounds?.targetSize(of: size) ?? size,
            // Each try begins with the frames as they are.
            mode: limits.bounds?.mode == .stretch ? .stretch : .aspectFit)
        return try search.run(quality: options.quality) { (quality, bounds) throws(WebImageError) in
            var (options, animation) = (options, animation)
            options.quality = quality
            if let bounds { animation.bounds = bounds }
            return try encoder.encode(animation, options: options)
        }
    }

    /// Whether `format` can be written.
    public func canEncode(_ format: ImageFormat) -> Bool { (try? encoder(for: format)) != nil }

    /// Whether moving pictures can be written as `format`.
    public func canEncodeAnimation(as format: ImageFormat) -> Bool {
        (try? encoder(for: format)) is any AnimationEncoder
    }
}
