public import FoundationEssentials
public import WebImageCore

/// Reads JPEG with libjpeg-turbo: baseline and progressive, Huffman and arithmetic coding, grey, YCbCr, RGB, CMYK and
/// YCCK, any subsampling. CMYK without a profile is converted by the plain rule that each ink takes its light away.
///
/// A picture is whole or refused: where libjpeg would fill what is missing or damaged with grey, this throws. A
/// baseline file that lacks nothing but its last marker is read.
public struct JPEGDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/jpeg``.
    public var format: ImageFormat { .jpeg }

    /// Reads the markers before the first scan.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let header = try JPEGHeader(reading: data.bytes)
        return ImageInfo(
            format: .jpeg, size: header.orientation.upright(header.size), orientation: header.orientation,
            hasColorProfile: header.hasColorProfile,
            colorProfileName: header.colorProfile(in: data.bytes)?.name)
    }

    /// Decodes the picture, for a thumbnail at an eighth, a quarter or half of its size where that is enough, and
    /// resamples what comes out to the exact size.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let header = try JPEGHeader(reading: data.bytes)
        let plan = try DecodingPlan(
            storedSize: header.size, orientation: header.orientation, colors: header.colorConversion(in: data.bytes),
            options: options)
        let pixels = try data.bytes.withUnsafeBytes { (bytes) throws(WebImageError) -> PixelBuffer in
            let reader = try JPEGReader(bytes)
            guard reader.size == plan.storedSize else {
                throw .decoding(format: .jpeg, reason: .corrupt("two sizes: \(plan.storedSize) and \(reader.size)"))
            }
            return try reader.pixels(atLeast: plan.targetSize, ink: plan.colors, options: options)
        }
        return try plan.image(of: pixels, format: .jpeg)
    }
}
