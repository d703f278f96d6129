internal import CWebImageDeflate
internal import CWebImageKernels
internal import WebImageCore

extension PNGImage {
    /// The pixels of an image, perhaps incomplete.
    struct Decoded {
        let pixels: PixelBuffer
        /// Why pixels are missing; `nil` if none are.
        let failure: WebImageError?
    }

    /// Decodes the available part of the image; the rest stays transparent.
    ///
    /// - Parameters:
    ///   - data: the file's bytes.
    ///   - stream: one that has decoded a part of the image.
    ///   - missingRows: why rows are missing if nothing else is wrong.
    /// - Throws: ``WebImageError/decoding(format:reason:url:)`` if there is no row at all,
    ///   ``WebImageError/outOfResources(reason:url:)``, ``WebImageError/cancelled``.
    func decoded(
        from data: RawSpan, continuing stream: PNGStreamDecoder? = nil,
        missingRows: WebImageError.DecodingFailure, cancellation: Cancellation?
    ) throws(WebImageError) -> Decoded {
        // The fast decoder takes a third of the time, so it pays to restart unless two thirds are done.
        let isNearlyDone = (stream?.missingRowCount ?? .max) <= layout.size.height / 3
        if !isNearlyDone, let whole = try fastDecoded(from: data, cancellation: cancellation) { return whole }
        let started: PNGStreamDecoder
        if let stream { started = stream } else { started = try PNGStreamDecoder(self) }
        let decoded = try decoded(from: data, with: started, missingRows: missingRows, cancellation: cancellation)
        // libdeflate accepts streams that zlib does not; the result must not depend on previews.
        guard isNearlyDone, decoded.failure != nil,
            let whole = try fastDecoded(from: data, cancellation: cancellation)
        else { return decoded }
        return whole
    }

    private func fastDecoded(from data: RawSpan, cancellation: Cancellation?) throws(WebImageError) -> Decoded? {
        guard let pixels = try PNGFastDecoder(self)?.pixels(in: data, cancellation: cancellation) else { return nil }
        return Decoded(pixels: pixels, failure: nil)
    }

    private func decoded(
        from data: RawSpan, with stream: PNGStreamDecoder, missingRows: WebImageError.DecodingFailure,
        cancellation: Cancellation?
    ) throws(WebImageError) -> Decoded {
        try stream.take(chunks, of: data, cancellation: cancellation)
        let failure =
            stream.failure ?? (stream.missingRowCount > 0 ? .decoding(format: .png, reason: missingRows) : nil)
        if let failure, stream.shownRowCount == 0 { throw failure }
        return Decoded(pixels: try stream.finish(cancellation: cancellation), failure: failure)
    }
}

/// Decodes the most common kinds of PNG, 8 bits a channel without interlacing, several times faster than libpng:
/// libdeflate decompresses all rows at once, and vector instructions undo the row filters.
///
/// The filtered rows are decompressed into the end of the pixels' memory. A filtered row is shorter than as RGBA, or
/// one byte longer, for which there is spare memory; so the pixels, written from the top, never reach a row that is
/// still to be read:
///
///     ┌─────────────────────────────────────────────┬───────┐
///     │ pixels ──▶        ◀── filtered rows to come │ spare │
///     └─────────────────────────────────────────────┴───────┘
///
/// It only decodes complete, intact images; ``PNGStreamDecoder`` decodes the others.
struct PNGFastDecoder {
    private let image: PNGImage
    private let rows: PNGRowConversion

    /// `nil` for other kinds of images.
    init?(_ image: PNGImage) {
        guard let rows = PNGRowConversion(image) else { return nil }
        self.image = image
        self.rows = rows
        guard filteredByteCount <= Self.filteredByteLimit else { return nil }
    }

    /// Returns the pixels; `nil` if the data are incomplete, damaged or unusual.
    func pixels(in data: RawSpan, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        guard !image.chunks.isEmpty, image.chunks.allSatisfy({ $0.isWhole && $0.isIntact(in: data) }) else {
            return nil
        }
        try cancellation?.check()
        if image.chunks.count == 1 {
            return try pixels(ofStream: data.extracting(image.chunks[0].compressedBytes), cancellation: cancellation)
        }
        let stream = joinedChunks(of: data)
        return try pixels(ofStream: stream.span.bytes, cancellation: cancellation)
    }

    private func pixels(ofStream stream: RawSpan, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        let size = image.layout.size
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height, spareByteCount: size.height)
        try cancellation?.check()
        let isOpaque = try buffer.withUnsafeMutableMemory { (memory) throws(WebImageError) -> Bool? in
            guard let start = memory.bindMemory(to: UInt8.self).baseAddress else { return nil }
            let filtered = start + (memory.count - filteredByteCount)
            guard unpack(stream, into: filtered) else { return nil }
            return try convert(filtered, to: start, cancellation: cancellation)
        }
        guard let isOpaque else { return nil }
        return buffer.freeze(isOpaque: isOpaque)
    }

    /// Whether `stream` decompresses to exactly the expected bytes.
    private func unpack(_ stream: RawSpan, into filtered: UnsafeMutablePointer<UInt8>) -> Bool {
        guard let decompressor = libdeflate_alloc_decompressor() else { return false }
        defer { libdeflate_free_decompressor(decompressor) }
        return stream.withUnsafeBytes { bytes in
            var usedByteCount = 0
            let result = libdeflate_zlib_decompress_ex(
                decompressor, bytes.baseAddress, bytes.count, filtered, filteredByteCount, &usedByteCount, nil)
            return result == LIBDEFLATE_SUCCESS && usedByteCount == bytes.count
        }
    }

    /// Converts filtered rows to pixels and returns whether all are opaque; `nil` for an invalid filter.
    private func convert(
        _ filtered: UnsafePointer<UInt8>, to pixels: UnsafeMutablePointer<UInt8>, cancellation: Cancellation?
    ) throws(WebImageError) -> Bool? {
        let size = image.layout.size
        var unfiltering = rows.unfiltering()
        var isOpaque = true
        var isKnown = true
        try size.forEachRowBatch(pixelCount: 1 << 16, cancellation: cancellation) { range in
            for y in range where isKnown {
                guard let row = unfiltering.next(filtered + y * rows.filteredByteCount) else {
                    isKnown = false
                    break
                }
                if !rows.convert(row, to: pixels + y * size.width * 4) { isOpaque = false }
            }
        }
        return isKnown ? isOpaque : nil
    }

    private func joinedChunks(of data: RawSpan) -> [UInt8] {
        let count = image.chunks.reduce(0) { $0 + $1.compressedBytes.count }
        return [UInt8](unsafeUninitializedCapacity: count) { joined, filled in
            for chunk in image.chunks {
                data.extracting(chunk.compressedBytes).withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(joined)[filled...].copyBytes(from: bytes)
                    filled += bytes.count
                }
            }
        }
    }

    private var filteredByteCount: Int { rows.filteredByteCount * image.layout.size.height }

    /// libdeflate cannot be cancelled: 64 MiB, 16 megapixels with alpha, take it 0.1 s.
    private static let filteredByteLimit = 64 << 20
}

/// Converts the rows of the most common kinds of PNG, 8 bits a channel without interlacing, to pixels.
struct PNGRowConversion {
    private let width: Int
    private let colorType: PNGLayout.ColorType
    /// Whether no index is transparent.
    private let paletteIsOpaque: Bool
    /// A premultiplied pixel for each index.
    private let palette: [UInt32]

    /// `nil` for other kinds of images.
    init?(_ image: PNGImage) {
        let layout = image.layout
        guard layout.bitDepth == 8, !layout.isInterlaced else { return nil }
        if layout.colorType == .palette {
            guard !image.palette.isEmpty else { return nil }
        } else if !image.transparency.isEmpty {
            return nil
        }
        width = layout.size.width
        colorType = layout.colorType
        paletteIsOpaque = image.transparency.isEmpty
        palette = layout.colorType == .palette ? Self.words(of: image) : []
    }

    private var rowByteCount: Int { width * colorType.channelCount }

    /// The length of a row, including its filter byte.
    var filteredByteCount: Int { rowByteCount + 1 }

    /// Returns a filter for the rows of one image, from the top.
    func unfiltering() -> Unfiltering { Unfiltering(rowByteCount, bytesPerPixel: colorType.channelCount) }

    /// Undoes the filters of rows, each of which needs the previous row.
    struct Unfiltering: ~Copyable {
        private let byteCount: Int
        private let bytesPerPixel: Int
        private var row: UnsafeMutablePointer<UInt8>
        private var above: UnsafeMutablePointer<UInt8>

        fileprivate init(_ byteCount: Int, bytesPerPixel: Int) {
            self.byteCount = byteCount
            self.bytesPerPixel = bytesPerPixel
            row = .allocate(capacity: byteCount)
            above = .allocate(capacity: byteCount)
            row.initialize(repeating: 0, count: byteCount)
        }

        deinit {
            row.deallocate()
            above.deallocate()
        }

        /// Returns the next row's bytes, valid until the next call; `nil` for an invalid filter.
        mutating func next(_ filtered: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>? {
            swap(&row, &above)
            let isKnown = cwi_png_unfilter(filtered[0], filtered + 1, above, row, byteCount, bytesPerPixel)
            return isKnown ? UnsafePointer(row) : nil
        }
    }

    /// Writes a row as premultiplied RGBA and returns whether it is opaque.
    func convert(_ row: UnsafePointer<UInt8>, to pixels: UnsafeMutablePointer<UInt8>) -> Bool {
        switch colorType {
        case .rgb:
            cwi_rgb_to_rgba(row, pixels, width)
            return true
        case .gray:
            cwi_gray_to_rgba(row, pixels, width)
            return true
        case .palette:
            cwi_indices_to_rgba(row, palette, pixels, width)
            return paletteIsOpaque || cwi_is_opaque(pixels, width)
        case .grayAlpha:
            cwi_gray_alpha_to_rgba(row, pixels, width)
            return cwi_premultiply(pixels, width)
        case .rgba:
            pixels.update(from: row, count: rowByteCount)
            return cwi_premultiply(pixels, width)
        }
    }

    /// Indices beyond the palette are black, as in libpng.
    private static func words(of image: PNGImage) -> [UInt32] {
        var bytes = [UInt8](repeating: 0, count: 256 * 4)
        for index in 0..<256 {
            for channel in 0..<3 where index * 3 + channel < image.palette.count {
                bytes[index * 4 + channel] = image.palette[index * 3 + channel]
            }
            bytes[index * 4 + 3] = index < image.transparency.count ? image.transparency[index] : 255
        }
        cwi_premultiply(&bytes, 256)
        return bytes.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }
}
