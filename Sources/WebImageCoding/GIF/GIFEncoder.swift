public import FoundationEssentials
public import WebImageCore

/// Writes GIF: stills and animations, with palettes of its own making, as ``EncodingOptions/gif`` says.
///
/// A frame of at most 256 colours keeps every one. A pixel is there or not: those of an alpha of at least a half are laid
/// over ``EncodingOptions/background``, the others are clear. Times are multiples of 10 ms, from 20 ms (players take less for
/// 100 ms) to 655.35 s.
public struct GIFEncoder: AnimationEncoder {
    /// Makes an encoder.
    public init() {}

    /// ``ImageFormat/gif``.
    public var format: ImageFormat { .gif }

    /// `false`.
    public func usesQuality(_ options: EncodingOptions) -> Bool { false }

    /// Encodes the picture.
    public func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        var animation = EncodableAnimation()
        animation.append(Image(pixels: image.pixels), duration: 0)
        return try encode(animation, options: options)
    }

    /// Encodes the frames; see ``EncodingOptions/framing``.
    public func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        var encoding = GIFEncoding(animation, options: options)
        if encoding.hasOnePalette {
            try forEachPatch(of: animation, options: options) { (patch) throws(WebImageError) in
                try encoding.countColors(of: patch)
            }
            encoding.choosePalette()
        }
        try forEachPatch(of: animation, options: options) { (patch) throws(WebImageError) in
            try encoding.append(patch)
        }
        return try encoding.finish()
    }

    private func forEachPatch(
        of animation: EncodableAnimation, options: EncodingOptions,
        _ body: (FramePatch) throws(WebImageError) -> Void
    ) throws(WebImageError) {
        var reader = try EncodableFrameReader(
            animation, format: .gif, maximumDimension: 0xFFFF, cancellation: options.cancellation)
        var differences = FrameDifferences(canErase: false, options: options)
        while let frame = try reader.nextFrame() {
            let solid = try frame.withoutTranslucency(over: options.background, cancellation: options.cancellation)
            if let patch = try differences.append(solid) { try body(patch) }
        }
        if let patch = differences.finish() { try body(patch) }
    }
}
