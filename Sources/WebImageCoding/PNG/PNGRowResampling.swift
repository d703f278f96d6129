internal import CWebImageKernels
internal import CWebImagePNG
internal import WebImageCore

extension PNGPicture {
    /// The picture at `size`, resampled row by row as libpng makes them, so that it is never in memory as a whole: for the
    /// kinds that ``PNGFastDecoder`` leaves to libpng.
    ///
    /// The pixels are those of decoding it whole. `nil` for an interlaced picture, one that is to stay as large as it is,
    /// and one that is not whole and intact.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func resampledByRows(
        to size: PixelSize, from data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        guard !layout.isInterlaced, size != layout.size, chunks.allSatisfy({ $0.isWhole && $0.isIntact(in: data) })
        else { return nil }
        let reader = try PNGRowReader(self)
        let resampler = try RowResampler(from: layout.size, to: size)
        for chunk in chunks where !reader.isComplete {
            for start in stride(
                from: chunk.compressedBytes.lowerBound, to: chunk.compressedBytes.upperBound, by: reader.stepByteCount)
            where !reader.isComplete {
                try cancellation?.check()
                let end = min(start + reader.stepByteCount, chunk.compressedBytes.upperBound)
                guard reader.take(data.extracting(start..<end), into: resampler) else { return nil }
            }
        }
        return reader.isComplete ? resampler.finish(isOpaque: reader.isOpaque) : nil
    }
}

/// Rows of a picture, premultiplied, of which it keeps those of one step only.
private final class PNGRowReader {
    private let decoder: OpaquePointer
    private let size: PixelSize
    private let hasAlpha: Bool
    private let window: UnsafeMutablePointer<UInt8>
    private let windowRowLimit: Int
    private var rowCount = 0
    private(set) var isOpaque = true
    /// How many compressed bytes are taken at once.
    let stepByteCount = 256

    init(_ picture: PNGPicture) throws(WebImageError) {
        size = picture.layout.size
        hasAlpha = picture.hasAlpha
        // zlib makes at most 1032 bytes of one, and may hold back what fills its own window.
        let bitCount = (stepByteCount * 1032 + (64 << 10)) * 8
        windowRowLimit = min(size.height, bitCount / (picture.layout.bitsPerPixel * size.width) + 2)
        decoder = try PNGStreamDecoder.begin(picture)
        window = .allocate(capacity: windowRowLimit * size.width * 4)
    }

    deinit {
        cwi_png_decoder_destroy(decoder)
        window.deallocate()
    }

    var isComplete: Bool { rowCount == size.height }

    /// Returns whether the data are good.
    func take(_ bytes: RawSpan, into resampler: RowResampler) -> Bool {
        let stride = size.width * 4
        let status = bytes.withUnsafeBytes { bytes in
            cwi_png_decoder_take_rows(
                decoder, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, window, stride, UInt32(rowCount),
                UInt32(windowRowLimit))
        }
        guard status == CWI_PNG_OK else { return false }
        let newRowCount = Int(cwi_png_decoder_rows(decoder).shown_count)
        guard newRowCount > rowCount else { return true }
        if hasAlpha, !cwi_premultiply(window, (newRowCount - rowCount) * size.width) { isOpaque = false }
        for row in 0..<newRowCount - rowCount { resampler.append(window + row * stride) }
        rowCount = newRowCount
        return true
    }
}
