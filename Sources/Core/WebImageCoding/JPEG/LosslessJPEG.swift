internal import CWebImageJPEG
internal import Glibc
internal import WebImageCore

/// Decodes lossless JPEG (ITU-T T.81, annex H): Huffman codes, 2 to 16 bits, gray, RGB, YCbCr, CMYK and YCCK, without
/// subsampling. Three components are RGB, if no marker says that they are YCbCr.
///
/// Of a damaged file, the rows before the damage are decoded.
struct LosslessJPEG {
    private let plan: DecodingPlan
    private let conversion: DeepColorConversion

    /// Throws ``WebImageError/LimitFailure/pixels(size:limit:)`` before anything is allocated.
    init(_ header: JPEGHeader, of data: RawSpan, options: DecodingOptions) throws(WebImageError) {
        try options.limits.check(metadataByteCount: header.byteCount)
        plan = try DecodingPlan(storedSize: header.size, orientation: header.orientation, options: options)
        conversion = DeepColorConversion(
            from: options.source(header.colorEncoding(in: data)), model: header.colorModel)
    }

    func image(_ data: RawSpan) throws(WebImageError) -> Image {
        let size = plan.storedSize
        let byteCount = size.pixelByteCount * 2
        return try plan.options.withMemory(byteCount + plan.byteCount(from: size)) { (_) throws(WebImageError) in
            let memory = try ScratchMemory(byteCount: byteCount)
            let (rowCount, failure) = try decode(data, to: memory.address.assumingMemoryBound(to: UInt16.self))
            if let failure, rowCount == 0 || !plan.options.allowsDamage { throw failure }
            let rowByteCount = size.width * 8
            memset(memory.address + rowCount * rowByteCount, 0, (size.height - rowCount) * rowByteCount)
            let pixels = try conversion.pixels(
                from: memory.address, bytesPerRow: rowByteCount, size: size, cancellation: plan.options.cancellation)
            var image = try plan.image(of: pixels, format: .jpeg)
            image.isPartial = failure != nil
            return image
        }
    }

    /// Returns the number of good rows, as RGBA or inverted CMYK of 16 bits, and why no more follow.
    private func decode(
        _ data: RawSpan, to pixels: UnsafeMutablePointer<UInt16>
    ) throws(WebImageError) -> (rowCount: Int, failure: WebImageError?) {
        try data.withUnsafeBytes { (bytes) throws(WebImageError) in
            var jpeg = cwi_lossless_jpeg()
            let start = bytes.bindMemory(to: UInt8.self).baseAddress
            var status = cwi_lossless_jpeg_open(&jpeg, start, bytes.count, nil, 0)
            guard status == CWI_JPEG_OK else { throw Self.error(status, jpeg) }
            guard PixelSize(width: Int(jpeg.width), height: Int(jpeg.height)) == plan.storedSize else {
                throw .decoding(format: .jpeg, reason: .corrupt("two frame headers"))
            }
            // About a quarter megapixel.
            let rowLimit = UInt32(max(1, (1 << 18) / plan.storedSize.width))
            while status == CWI_JPEG_OK, !jpeg.is_complete {
                try plan.options.checkCancellation()
                status = cwi_lossless_jpeg_read(&jpeg, pixels, 4, rowLimit)
            }
            let rowCount = Int(cwi_lossless_jpeg_row_count(&jpeg))
            cwi_lossless_jpeg_expand(&jpeg, pixels, rowCount * plan.storedSize.width)
            return (rowCount, status == CWI_JPEG_OK ? nil : Self.error(status, jpeg))
        }
    }

    private static func error(_ status: cwi_jpeg_status, _ jpeg: cwi_lossless_jpeg) -> WebImageError {
        let message = jpeg.message.map { String(cString: $0) } ?? ""
        return switch status {
        case CWI_JPEG_TRUNCATED: .decoding(format: .jpeg, reason: .truncated)
        case CWI_JPEG_UNSUPPORTED: .decoding(format: .jpeg, reason: .unsupported(message))
        default: .decoding(format: .jpeg, reason: .corrupt(message))
        }
    }
}
