internal import CWebImageKernels
internal import CWebImagePNG
public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// Writes PNG: RGB for opaque pictures, else RGBA with straight alpha. Quality does not matter: PNG loses nothing, except
/// the colour of pixels that are clear.
///
/// Pictures of up to 16 MiB are compressed by libdeflate, which can't be stopped and takes about a quarter of a second for
/// as much; larger ones by libpng, which can.
public struct PNGEncoder: ImageEncoder {
    /// Makes an encoder.
    public init() {}

    /// ``ImageFormat/png``.
    public var format: ImageFormat { .png }

    /// Encodes the picture.
    public func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let pixels = image.pixels
        if let encoder = PNGFastEncoder(pixels) { return try encoder.data(cancellation: options.cancellation) }
        return try encodeRowByRow(pixels, cancellation: options.cancellation)
    }

    private func encodeRowByRow(_ pixels: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) -> Data {
        guard let encoder = cwi_png_encoder_create() else { throw .outOfMemory(byteCount: pixels.byteCount) }
        defer { cwi_png_encoder_destroy(encoder) }
        func check(_ status: cwi_png_status) throws(WebImageError) {
            switch status {
            case CWI_PNG_OK: return
            case CWI_PNG_OUT_OF_MEMORY: throw .outOfMemory(byteCount: pixels.byteCount)
            default: throw .encoding(format: .png, reason: .codec(String(cString: cwi_png_encoder_message(encoder))))
            }
        }
        try check(
            cwi_png_encoder_start(
                encoder, UInt32(pixels.width), UInt32(pixels.height), !pixels.isOpaque, Self.compressionLevel))

        let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
        var line = [UInt8](repeating: 0, count: pixels.isOpaque ? 0 : pixels.width * 4)
        try pixels.size.forEachRowBatch(pixelCount: 1 << 15, cancellation: cancellation) {
            (rows) throws(WebImageError) in
            if pixels.isOpaque {
                let start = source + rows.lowerBound * pixels.bytesPerRow
                try check(cwi_png_write_rows(encoder, start, pixels.bytesPerRow, UInt32(rows.count)))
                return
            }
            for row in rows {
                cwi_unpremultiply(source + row * pixels.bytesPerRow, &line, pixels.width)
                try check(cwi_png_write_rows(encoder, line, line.count, 1))
            }
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try check(cwi_png_finish(encoder, &bytes, &count))
        guard let bytes else { throw .encoding(format: .png, reason: .codec("no output")) }
        return Data(bytesNoCopy: bytes, count: count, deallocator: .free)
    }

    /// zlib's: a fifth larger files than the default of 6 at worst, several times faster.
    private static let compressionLevel: Int32 = 3
}
