internal import CWebImageJPEG
internal import WebImageCore

/// Owns one libjpeg-turbo decoder over bytes that outlive it.
struct JPEGReader: ~Copyable {
    private let decoder: OpaquePointer
    private let header: cwi_jpeg_header

    init(_ bytes: UnsafeRawBufferPointer) throws(WebImageError) {
        guard let address = bytes.bindMemory(to: UInt8.self).baseAddress,
            let decoder = cwi_jpeg_decoder_create(address, bytes.count)
        else { throw .outOfMemory(byteCount: bytes.count) }
        var header = cwi_jpeg_header()
        let status = cwi_jpeg_read_header(decoder, &header)
        guard status == CWI_JPEG_OK else {
            defer { cwi_jpeg_decoder_destroy(decoder) }
            throw Self.error(status, decoder, memoryLimit: 0)
        }
        self.decoder = decoder
        self.header = header
    }

    deinit { cwi_jpeg_decoder_destroy(decoder) }

    /// As stored.
    var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }

    /// Decodes at least `targetSize` pixels: at an eighth, a quarter or half of the size where that is enough.
    ///
    /// libjpeg then computes smaller blocks from the same coefficients, in a fraction of the time. It could do every
    /// eighth, but those between have no SIMD code and are slower than the full size.
    ///
    /// - Parameter ink: the way from CMYK to sRGB; a picture of light keeps its colours.
    func pixels(
        atLeast targetSize: PixelSize, ink: ColorConversion, options: DecodingOptions
    ) throws(WebImageError) -> PixelBuffer {
        let numerator = [1, 2, 4].first { numerator in
            Self.scaled(size.width, by: numerator) >= targetSize.width
                && Self.scaled(size.height, by: numerator) >= targetSize.height
        }
        // A progressive picture's coefficients, 16 bits each at full resolution, and some for rows and tables.
        let memoryLimit = size.pixelCount * Int(header.component_count) * 2 + (32 << 20)
        var width: UInt32 = 0
        var height: UInt32 = 0
        try check(
            cwi_jpeg_start(decoder, UInt32(numerator ?? 8), memoryLimit, &width, &height), memoryLimit: memoryLimit)
        if header.has_multiple_scans { try consumeScans(memoryLimit: memoryLimit, options: options) }
        return try readRows(of: PixelSize(width: Int(width), height: Int(height)), ink: ink, options: options)
    }

    private func consumeScans(memoryLimit: Int, options: DecodingOptions) throws(WebImageError) {
        // Blocks are at least 8 pixels high; about a quarter megapixel at a time.
        let rowCount = UInt32(max(1, (1 << 15) / size.width))
        let scanLimit = UInt32(clamping: options.limits.scanCount)
        var isComplete = false
        while !isComplete {
            try options.checkCancellation()
            try check(cwi_jpeg_consume(decoder, rowCount, scanLimit, &isComplete), memoryLimit: memoryLimit)
        }
    }

    private func readRows(
        of size: PixelSize, ink: ColorConversion, options: DecodingOptions
    ) throws(WebImageError) -> PixelBuffer {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = buffer.bytesPerRow
        try buffer.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let pixels = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            try size.forEachRowBatch(cancellation: options.cancellation) { (rows) throws(WebImageError) in
                let start = pixels + rows.lowerBound * stride
                try check(cwi_jpeg_read_rows(decoder, start, stride, UInt32(rows.count)))
                // Adobe's programs mark their files and store ink inverted; Chrome and Pillow take every file as theirs.
                if header.is_cmyk { ink.convertInk(start, pixelCount: rows.count * size.width) }
            }
        }
        return buffer.freeze(isOpaque: true)
    }

    private func check(_ status: cwi_jpeg_status, memoryLimit: Int = 0) throws(WebImageError) {
        if status != CWI_JPEG_OK { throw Self.error(status, decoder, memoryLimit: memoryLimit) }
    }

    private static func error(_ status: cwi_jpeg_status, _ decoder: OpaquePointer, memoryLimit: Int) -> WebImageError {
        let message = String(cString: cwi_jpeg_decoder_message(decoder))
        return switch status {
        case CWI_JPEG_TRUNCATED: .decoding(format: .jpeg, reason: .truncated)
        case CWI_JPEG_UNSUPPORTED: .decoding(format: .jpeg, reason: .unsupported(message))
        case CWI_JPEG_OUT_OF_MEMORY: .outOfMemory(byteCount: memoryLimit)
        default: .decoding(format: .jpeg, reason: .corrupt(message.isEmpty ? "rows are missing" : message))
        }
    }

    private static func scaled(_ length: Int, by numerator: Int) -> Int { (length * numerator + 7) / 8 }
}
