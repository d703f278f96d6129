public import FoundationEssentials
public import WebImageCore

/// Reads PNG with libpng: every colour type, bit depth and interlacing. 16 bits are rounded to 8, and alpha is
/// multiplied in as the bytes are, without linear light.
///
/// Of an APNG it decodes the picture that programs without animation show. A file must be whole: checksums fit, and the
/// end chunk is there.
public struct PNGDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/png``.
    public var format: ImageFormat { .png }

    /// Reads the header and hops over the other chunks.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try PNGHeader(reading: data.bytes)
        let isAnimation = header.frameCount > 1
        return ImageInfo(
            format: .png, size: header.orientation.upright(header.size), frameCount: header.frameCount,
            loopCount: isAnimation ? header.loopCount : nil,
            frameDurations: isAnimation ? header.frameDurations : [], hasAlpha: header.hasAlpha,
            orientation: header.orientation, hasColorProfile: header.hasColorProfile,
            colorProfileName: PNGColorChunks(reading: data.bytes).profile?.name)
    }

    /// Decodes the picture and resamples it to the size wanted.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let header = try PNGHeader(reading: data.bytes)
        let plan = try DecodingPlan(
            storedSize: header.size, orientation: header.orientation,
            colors: PNGColorChunks(reading: data.bytes).conversion, options: options)
        let pixels = try data.bytes.withUnsafeBytes { (bytes) throws(WebImageError) -> PixelBuffer in
            let reader = try PNGReader(bytes)
            guard reader.size == plan.storedSize else {
                throw .decoding(format: .png, reason: .corrupt("two sizes: \(plan.storedSize) and \(reader.size)"))
            }
            return try reader.pixels(options: options)
        }
        return try plan.image(of: pixels, format: .png, frameCount: header.frameCount)
    }
}
