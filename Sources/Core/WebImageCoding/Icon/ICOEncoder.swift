internal import FoundationEssentials
internal import WebImageCore

/// Encodes ICO: an image for each of ``EncodingOptions/iconSides``, or one of at most 256 by 256 pixels. Images of 64
/// pixels and more are PNG, smaller ones bitmaps, which older programs read too.
struct ICOEncoder: ImageEncoder {
    init() {}

    var format: ImageFormat { .ico }

    /// The largest side that an entry can say.
    private static let longestSide = 256
    private static let shortestPNGSide = 64

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let sides = options.iconSides.isEmpty ? [Self.longestSide] : options.iconSides
        var images: [(size: PixelSize, bytes: Data)] = []
        for side in sides.sorted() {
            guard (1...Self.longestSide).contains(side) else {
                throw .encoding(
                    format: format,
                    reason: .tooLarge(PixelSize(width: side, height: side), maximumDimension: Self.longestSide))
            }
            let box = PixelSize(width: side, height: side)
            let size = ResizeMode.aspectFit.size(
                of: image.pixels.size, in: box, allowsUpscaling: !options.iconSides.isEmpty)
            let pixels = try image.pixels.resampled(to: size, cancellation: options.cancellation)
            images.append((size, try bytes(of: pixels, options: options)))
        }
        var writer = LittleEndianWriter(capacity: 6 + images.count * 16)
        writer.append(UInt16(0), UInt16(1), UInt16(images.count))
        var offset = 6 + images.count * 16
        for (size, bytes) in images {
            // 256 is written as 0.
            writer.append(UInt8(size.width & 255), UInt8(size.height & 255), UInt8(0), UInt8(0))
            writer.append(UInt16(1), UInt16(32))
            writer.append(UInt32(bytes.count), UInt32(offset))
            offset += bytes.count
        }
        return images.reduce(into: writer.data) { $0.append($1.bytes) }
    }

    private func bytes(of pixels: PixelBuffer, options: EncodingOptions) throws(WebImageError) -> Data {
        guard max(pixels.width, pixels.height) < Self.shortestPNGSide else {
            return try PNGEncoder().encode(Image(pixels: pixels), options: options.with { $0.metadata = nil })
        }
        return try BMPEncoder.bitmap(of: pixels, format: format, isIcon: true, cancellation: options.cancellation)
    }
}
