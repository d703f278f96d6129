internal import CWebImageJPEG
internal import CWebImageKernels
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Encodes JPEG with libjpeg-turbo, baseline or progressive. Transparent pixels are blended over
/// ``EncodingOptions/background``.
struct JPEGEncoder: ImageEncoder {
    init() {}

    var format: ImageFormat { .jpeg }

    /// Maps ``EncodingOptions/quality`` to libjpeg's 1 to 100.
    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let pixels = image.pixels
        guard max(pixels.width, pixels.height) <= Self.maximumDimension else {
            throw .encoding(
                format: .jpeg, reason: .tooLarge(pixels.size, maximumDimension: Self.maximumDimension))
        }
        guard let encoder = cwi_jpeg_encoder_create() else {
            throw .outOfResources(reason: .memory(byteCount: pixels.byteCount))
        }
        defer { cwi_jpeg_encoder_destroy(encoder) }
        func check(_ status: cwi_jpeg_status) throws(WebImageError) {
            switch status {
            case CWI_JPEG_OK: return
            case CWI_JPEG_OUT_OF_MEMORY: throw .outOfResources(reason: .memory(byteCount: pixels.byteCount))
            default:
                let message = String(cString: cwi_jpeg_encoder_message(encoder))
                throw .encoding(format: .jpeg, reason: .codec(message))
            }
        }
        try check(
            cwi_jpeg_encoder_start(
                encoder, UInt32(pixels.width), UInt32(pixels.height), cwi_jpeg_encoder_settings(options)))

        let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
        let background = options.background.opaqueBytes
        var line = [UInt8](repeating: 0, count: pixels.isOpaque ? 0 : pixels.width * 4)
        try pixels.size.forEachRowBatch(cancellation: options.cancellation) { (rows) throws(WebImageError) in
            if pixels.isOpaque {
                let start = source + rows.lowerBound * pixels.bytesPerRow
                try check(cwi_jpeg_write_rows(encoder, start, pixels.bytesPerRow, UInt32(rows.count)))
                return
            }
            for row in rows {
                cwi_flatten(
                    source + row * pixels.bytesPerRow, &line, pixels.width, background.red, background.green,
                    background.blue)
                try check(cwi_jpeg_write_rows(encoder, line, line.count, 1))
            }
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try check(cwi_jpeg_finish(encoder, &bytes, &count))
        guard let bytes else { throw .encoding(format: .jpeg, reason: .codec("no output")) }
        let file = Data(bytesNoCopy: bytes, count: count, deallocator: .free)
        return try options.addingMetadata(to: file, pixels.size, as: .jpeg)
    }

    /// JPEG_MAX_DIMENSION.
    private static let maximumDimension = 65_500
}

extension cwi_jpeg_encoder_settings {
    fileprivate init(_ options: EncodingOptions) {
        let (columns, rows): (Int32, Int32) =
            switch options.chroma {
            case .automatic: options.hasFullChroma ? (1, 1) : (2, 2)
            case .full, .gray: (1, 1)
            case .halved: (2, 1)
            case .quartered: (2, 2)
            }
        self.init(
            quality: max(1, Int32((options.quality * 100).rounded())), chroma_columns: columns, chroma_rows: rows,
            is_gray: options.chroma == .gray,
            is_progressive: options.isProgressive, optimizes_codes: options.optimizesHuffmanCodes)
    }
}

extension Color {
    /// The color over black, in 8 bits.
    var opaqueBytes: (red: UInt8, green: UInt8, blue: UInt8) {
        // NaN counts as 0.
        func byte(_ component: Double) -> UInt8 {
            component * alpha > 0 ? UInt8(min(component * alpha, 1) * 255 + 0.5) : 0
        }
        return (byte(red), byte(green), byte(blue))
    }
}
