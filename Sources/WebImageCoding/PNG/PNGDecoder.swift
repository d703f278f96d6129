public import FoundationEssentials
public import WebImageCore

/// Reads PNG and APNG: every colour type, bit depth and interlacing. 16 bits are rounded to 8, and alpha is multiplied in
/// as the bytes are, without linear light.
///
/// An APNG that breaks a rule of its order is a still, as in browsers. Where the picture for programs without animation
/// is no frame, the first frame takes its place.
///
/// Of a damaged file, or a damaged frame, the rows before the damage count, as ``DecodingOptions/damage`` says. A chunk whose checksum does
/// not fit is damage, unless a decoder may leave it out.
public struct PNGDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/png``.
    public var format: ImageFormat { .png }

    /// Hops over all chunks and counts the frames that are whole.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try PNGHeader(reading: data.bytes)
        var file = PNGFile()
        file.read(data.bytes)
        let animation = APNGFile(file, data: data, orientation: header.orientation)
        let isAnimation = (animation?.parts.count ?? 0) > 1
        return ImageInfo(
            format: .png, size: header.orientation.upright(header.size), frameCount: animation?.parts.count ?? 1,
            loopCount: isAnimation ? animation?.loopCount : nil,
            frameDurations: isAnimation ? animation?.parts.map(\.duration) ?? [] : [], hasAlpha: header.hasAlpha,
            orientation: header.orientation, hasColorProfile: header.hasColorProfile,
            colorProfileName: PNGColorChunks(reading: data.bytes).profile?.name)
    }

    /// Decodes the picture and resamples it to the size wanted.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in try picture(of: data, options: options) }
    }

    private func picture(of data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let reading = try PNGReading(of: data, options: options)
        return try reading.image()
    }

    /// Hops over all chunks; frames are decoded when they are asked for.
    public func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        try PNGReading(of: data, options: options).animation
    }

    /// One that shows rows as they come, and interlaced pictures in finer and finer blocks.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { PNGIncrementalDecoder(options: $0) })
    }
}
