internal import CWebImageKernels
internal import CWebImagePNG
public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// Writes PNG: RGB for opaque pictures, else RGBA with straight alpha. Quality does not matter: PNG loses nothing, except
/// the colour of pixels that are clear.
///
/// Pictures of up to 16 MiB (2 MiB from level 10 on) are compressed by libdeflate, which can't be stopped and takes about
/// a quarter of a second for as much at the default level; larger ones by libpng, which can.
///
/// Several frames become an APNG, whose first frame is what programs show that know none. Times are fractions of two
/// numbers of 16 bits: 65,535 s at most.
public struct PNGEncoder: AnimationEncoder {
    /// Makes an encoder.
    public init() {}

    /// ``ImageFormat/png``.
    public var format: ImageFormat { .png }

    /// Encodes the picture.
    public func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let pixels = image.pixels
        guard let encoder = PNGFastEncoder(pixels, hasAlpha: !pixels.isOpaque, options: options.png) else {
            return try encodeRowByRow(pixels, hasAlpha: !pixels.isOpaque, options: options)
        }
        var file = PNGFileWriter()
        file.appendHeader(of: pixels.size, hasAlpha: !pixels.isOpaque)
        file.append(.data, try encoder.compressed(cancellation: options.cancellation))
        return file.finish()
    }

    /// `false`.
    public func usesQuality(_ options: EncodingOptions) -> Bool { false }

    /// Encodes the frames; see ``EncodingOptions/framing``.
    public func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        var data = try APNGFileWriter.encode(animation, isOpaqueThroughout: true, options: options)
        if data == nil { data = try APNGFileWriter.encode(animation, isOpaqueThroughout: false, options: options) }
        guard let data else { preconditionFailure("a frame that not even a file with alpha holds") }
        return data
    }

    /// With libpng.
    func encodeRowByRow(
        _ pixels: PixelBuffer, hasAlpha: Bool, options: EncodingOptions
    ) throws(WebImageError) -> Data {
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
                encoder, UInt32(pixels.width), UInt32(pixels.height), hasAlpha, options.png.zlibLevel,
                options.png.filter.number ?? -1))

        let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
        var line = [UInt8](repeating: 0, count: hasAlpha ? pixels.width * 4 : 0)
        try pixels.size.forEachRowBatch(pixelCount: 1 << 15, cancellation: options.cancellation) {
            (rows) throws(WebImageError) in
            if !hasAlpha {
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
}

extension EncodingOptions.PNG {
    /// zlib's for libdeflate's: at 3 files are a fifth larger than at its default of 6 at worst, and written several times
    /// as fast.
    fileprivate var zlibLevel: Int32 { level == Self.defaultLevel ? 3 : Int32(min(level, 9)) }
}

extension EncodingOptions.PNG.Filter {
    /// The format's number for it; `nil` for the best one of each row.
    var number: Int32? {
        switch self {
        case .adaptive: nil
        case .none: 0
        case .sub: 1
        case .up: 2
        case .average: 3
        case .paeth: 4
        }
    }
}
