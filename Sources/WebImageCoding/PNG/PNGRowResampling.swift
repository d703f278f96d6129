internal import CWebImageKernels
internal import CWebImagePNG
internal import WebImageCore

extension PNGPicture {
    /// The picture at `size`, resampled row by row as they are unpacked, so that it is never in memory as a whole.
    ///
    /// The pixels are those of decoding it whole. `nil` for an interlaced picture, one that is to stay as large as it is,
    /// and one that is not whole and intact.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func resampledByRows(
        to size: PixelSize, from data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        guard mayPassRows(to: size), chunks.allSatisfy({ $0.isWhole && $0.isIntact(in: data) }) else { return nil }
        // The checksums are a pass over all there is.
        try cancellation?.check()
        guard let rows = PNGRowConversion(self) else {
            return try resampledByLibpng(to: size, from: data, cancellation: cancellation)
        }
        return try resampled(rows, to: size, from: data, cancellation: cancellation)
    }

    /// Whether the picture is of a kind whose rows can be resampled one by one, if all is well with it.
    func mayPassRows(to size: PixelSize) -> Bool { !layout.isInterlaced && size != layout.size }

    /// Where 8 bits a channel make the way of ``PNGFastDecoder`` possible: it takes a fifth longer than that, and a tenth of the memory.
    private func resampled(
        _ rows: PNGRowConversion, to size: PixelSize, from data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        let inflater = Inflater(chunks.map(\.compressedBytes), readByteCount: max(1 << 16, rows.filteredByteCount))
        let resampler = try RowResampler(from: layout.size, to: size)
        var unfiltering = rows.unfiltering()
        var isOpaque = true
        var isGood = true
        try layout.size.forEachRowBatch(pixelCount: 1 << 16, cancellation: cancellation) {
            (range) throws(WebImageError) in
            for _ in range where isGood {
                guard
                    let filtered = try inflater.read(rows.filteredByteCount, of: data, cancellation: cancellation),
                    let row = unfiltering.next(filtered)
                else {
                    isGood = false
                    break
                }
                resampler.append { pixels in
                    if !rows.convert(row, to: pixels) { isOpaque = false }
                }
            }
        }
        return isGood ? resampler.finish(isOpaque: isOpaque) : nil
    }

    /// For all other kinds.
    private func resampledByLibpng(
        to size: PixelSize, from data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
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
final class PNGRowReader {
    private let decoder: OpaquePointer
    private let size: PixelSize
    private let hasAlpha: Bool
    private let window: UnsafeMutablePointer<UInt8>
    private let windowRowLimit: Int
    private var rowCount = 0
    private(set) var isOpaque = true
    /// How many compressed bytes are taken at once.
    var stepByteCount: Int { Self.stepByteCount }
    private static let stepByteCount = 256

    init(_ picture: PNGPicture) throws(WebImageError) {
        size = picture.layout.size
        hasAlpha = picture.hasAlpha
        windowRowLimit = Self.windowRowLimit(picture.layout)
        decoder = try PNGStreamDecoder.begin(picture)
        window = .allocate(capacity: windowRowLimit * size.width * 4)
    }

    /// How many rows it keeps at the most.
    static func windowRowLimit(_ layout: PNGLayout) -> Int {
        // zlib makes at most 1032 bytes of one, and may hold back what fills its own window.
        let bitCount = (stepByteCount * 1032 + (64 << 10)) * 8
        return min(layout.size.height, bitCount / (layout.bitsPerPixel * layout.size.width) + 2)
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
