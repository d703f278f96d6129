internal import CWebImageKernels
internal import CWebImagePNG
internal import WebImageCore

/// Owns one libpng decoder over bytes that outlive it.
struct PNGReader: ~Copyable {
    private let decoder: OpaquePointer
    private let header: cwi_png_header

    init(_ bytes: UnsafeRawBufferPointer) throws(WebImageError) {
        guard let address = bytes.bindMemory(to: UInt8.self).baseAddress,
            let decoder = cwi_png_decoder_create(address, bytes.count)
        else { throw .outOfMemory(byteCount: bytes.count) }
        var header = cwi_png_header()
        let status = cwi_png_read_header(decoder, UInt32(MutablePixelBuffer.maximumDimension), &header)
        guard status == CWI_PNG_OK else {
            defer { cwi_png_decoder_destroy(decoder) }
            throw Self.error(status, decoder)
        }
        self.decoder = decoder
        self.header = header
    }

    deinit { cwi_png_decoder_destroy(decoder) }

    /// As stored.
    var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }

    /// Decodes all rows of all passes and premultiplies them.
    func pixels(options: DecodingOptions) throws(WebImageError) -> PixelBuffer {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = buffer.bytesPerRow
        var isOpaque = true
        try buffer.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let pixels = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            for pass in 1...max(1, header.pass_count) {
                try size.forEachRowBatch(pixelCount: 1 << 16, cancellation: options.cancellation) {
                    (rows) throws(WebImageError) in
                    let start = pixels + rows.lowerBound * stride
                    try check(cwi_png_read_rows(decoder, start, stride, UInt32(rows.count)))
                    // Each pass fills in other pixels of a row; after the last, all are there.
                    guard pass == header.pass_count, header.has_alpha else { return }
                    if !cwi_premultiply(start, rows.count * size.width) { isOpaque = false }
                }
            }
        }
        try check(cwi_png_read_end(decoder))
        return buffer.freeze(isOpaque: isOpaque)
    }

    private func check(_ status: cwi_png_status) throws(WebImageError) {
        if status != CWI_PNG_OK { throw Self.error(status, decoder) }
    }

    private static func error(_ status: cwi_png_status, _ decoder: OpaquePointer) -> WebImageError {
        guard status != CWI_PNG_TRUNCATED else { return .decoding(format: .png, reason: .truncated) }
        let message = String(cString: cwi_png_decoder_message(decoder))
        return .decoding(format: .png, reason: .corrupt(message.isEmpty ? "rows are missing" : message))
    }
}
