internal import CWebImageWebP
public import FoundationEssentials
public import WebImageCore

/// Writes WebP with libwebp, lossy or lossless, as ``EncodingOptions/webP`` says.
///
/// Several frames become an animated WebP, each as the rectangle that changes. Its times are multiples of 1 ms, from 11 ms
/// to 16,777,215 ms.
public struct WebPEncoder: AnimationEncoder {
    /// Makes an encoder.
    public init() {}

    /// ``ImageFormat/webp``.
    public var format: ImageFormat { .webp }

    /// Whether it is to be lossy.
    public func usesQuality(_ options: EncodingOptions) -> Bool { !options.webP.isLossless }

    /// Encodes the picture. ``EncodingOptions/quality`` 0 to 1 becomes libwebp's 0 to 100.
    public func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try WebPPictureEncoder(options: options).encode(image.pixels)
    }

    /// Encodes the frames; see ``EncodingOptions/framing``.
    public func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        var reader = try EncodableFrameReader(
            animation, format: .webp, maximumDimension: WebPPictureEncoder.maximumDimension,
            cancellation: options.cancellation)
        let encoder = try WebPPictureEncoder(options: options)
        var differences = FrameDifferences(canErase: true, startsAtEvenPixels: true, options: options)
        var clock = FrameClock(unitsPerSecond: 1000, minimum: 11, maximum: 0xFF_FFFF)
        var writer: WebPAnimationWriter?
        var index = 0
        func append(_ patch: FramePatch) throws(WebImageError) {
            // Holes would cost a lossy picture an alpha plane, and blur at their edges.
            let (pixels, blend) = try patch.pixels(
                mayBlend: options.webP.isLossless, cancellation: options.cancellation)
            let milliseconds = clock.units(for: animation.frames[index].duration)
            if writer == nil { writer = WebPAnimationWriter(size: patch.frame.size, loopCount: animation.loopCount) }
            try writer?.append(encoder.encode(pixels), of: patch, blend: blend, milliseconds: milliseconds)
            index += 1
        }
        while let frame = try reader.nextFrame() {
            if animation.frames.count == 1 { return try encoder.encode(frame) }
            if let patch = try differences.append(frame) { try append(patch) }
        }
        if let patch = differences.finish() { try append(patch) }
        guard var writer else { throw .encoding(format: .webp, reason: .noFrames) }
        return try writer.finish()
    }
}
