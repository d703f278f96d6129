internal import CWebImageJPEG
internal import WebImageCore

/// The part of an image, with the memory of the part and of some rows.
///
///     ┌──────────────────────────┐
///     │ skipped: codes are read  │
///     │ ┌ margin ──────────────┐ │
///     │ │ ┌ region ─────────┐  │ │  only the blocks of these columns become pixels
///     └─┴─┴─────────────────┴──┴─┘
///
/// libjpeg computes chroma at the edges of a part without the neighbors there. Hence the margin.
extension JPEGReader {
    /// Returns the part of the output that shows a part of the stored image.
    static func scaled(_ region: PixelRect, by numerator: Int) -> PixelRect {
        let (left, top) = (region.x * numerator / 8, region.y * numerator / 8)
        return PixelRect(
            x: left, y: top, width: scaled(region.x + region.width, by: numerator) - left,
            height: scaled(region.y + region.height, by: numerator) - top)
    }

    /// Reads the rows of `region` into a buffer of its size. All bytes of the file must be available.
    ///
    /// - Parameter rowCount: set to the number of rows that were read.
    func readRows(
        of region: PixelRect, into buffer: inout MutablePixelBuffer, rowCount: inout Int, cancellation: Cancellation?
    ) throws(WebImageError) -> cwi_jpeg_status {
        guard let size = outputSize, region.clamped(to: size) == region else { return CWI_JPEG_CORRUPT }
        let margin = Int(CWI_JPEG_MARGIN)
        var left = UInt32(max(0, region.x - margin))
        var width = UInt32(min(size.width, region.x + region.width + margin)) - left
        var status = cwi_jpeg_crop(decoder, &left, &width)
        guard status == CWI_JPEG_OK else { return status }
        status = try skipRows(before: max(0, region.y - margin), of: size, cancellation)
        guard status == CWI_JPEG_OK else { return status }
        let columns = (region.x - Int(left)) * 4..<(region.x - Int(left) + region.width) * 4
        let stride = Int(width) * 4
        let batch = max(1, Self.regionBatchPixelCount / Int(width))
        let rows = try ScratchMemory(byteCount: stride * batch)
        let source = rows.address.assumingMemoryBound(to: UInt8.self)
        var row = max(0, region.y - margin)
        while row < region.y + region.height {
            try cancellation?.check()
            var count: UInt32 = 0
            let limit = UInt32(min(batch, region.y + region.height - row))
            status = cwi_jpeg_read_rows(decoder, source, stride, limit, &count)
            if header.is_cmyk { ink.convertInk(source, pixelCount: Int(count) * Int(width)) }
            for index in 0..<Int(count) where row + index >= region.y {
                let destination = buffer.baseAddress + (row + index - region.y) * buffer.bytesPerRow
                destination.copyMemory(from: source + index * stride + columns.lowerBound, byteCount: columns.count)
            }
            row += Int(count)
            rowCount = max(0, row - region.y)
            guard status == CWI_JPEG_OK else { return status }
        }
        return CWI_JPEG_OK
    }

    private func skipRows(
        before first: Int, of size: PixelSize, _ cancellation: Cancellation?
    ) throws(WebImageError) -> cwi_jpeg_status {
        // A multiple of the rows of all blocks, so that libjpeg decodes no row between two steps.
        let batch = max(Int(CWI_JPEG_MARGIN), (1 << 21) / size.width / 32 * 32)
        for row in stride(from: 0, to: first, by: batch) {
            try cancellation?.check()
            let status = cwi_jpeg_skip_rows(decoder, UInt32(min(batch, first - row)))
            guard status == CWI_JPEG_OK else { return status }
        }
        return CWI_JPEG_OK
    }

    /// Takes a millisecond or two to decode.
    private static let regionBatchPixelCount = 1 << 18
}
