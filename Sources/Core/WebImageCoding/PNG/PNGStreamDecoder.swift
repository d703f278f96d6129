internal import CWebImageKernels
internal import CWebImagePNG
internal import WebImageCore

/// Decodes any PNG with libpng, as far as its data are available, and continues when more are. Used by one thread at a
/// time.
final class PNGStreamDecoder {
    /// The error in the data. The rows before it are good, and no more follow.
    private(set) var failure: WebImageError?

    private let image: PNGImage
    private var decoder: OpaquePointer
    // Straight alpha while an interlaced image is incomplete; otherwise premultiplied row by row. `nil` at the end.
    private var buffer: MutablePixelBuffer?
    /// Pixels of 16 bits, from which rows of ``buffer`` are made; `nil` for other images.
    private let deepPixels: ScratchMemory?
    private var premultipliedRowCount = 0
    private var isOpaque = true
    // The number of chunks read, and the bytes read of the next.
    private var chunkCount = 0
    private var byteCount = 0
    private var hasReplayed = false

    init(_ image: PNGImage) throws(WebImageError) {
        let size = image.layout.size
        buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        deepPixels = image.deepConversion == nil ? nil : try ScratchMemory(byteCount: image.layout.deepByteCount)
        decoder = try Self.begin(image)
        self.image = image
    }

    /// Returns a decoder that has read the header, palette and transparency.
    static func begin(_ image: PNGImage) throws(WebImageError) -> OpaquePointer {
        guard let decoder = cwi_png_decoder_create() else {
            throw .outOfResources(reason: .memory(byteCount: image.layout.size.pixelCount * 4))
        }
        let status = cwi_png_decoder_start(
            decoder, image.layout.content, image.palette, image.palette.count, image.transparency,
            image.transparency.count, UInt32(PixelSize.maximumDimension), image.deepConversion != nil)
        guard status == CWI_PNG_OK else {
            defer { cwi_png_decoder_destroy(decoder) }
            throw failure(of: decoder)
        }
        return decoder
    }

    deinit { cwi_png_decoder_destroy(decoder) }

    /// The number of rows from the top that show something.
    var shownRowCount: Int { Int(cwi_png_decoder_rows(decoder).shown_count) }
    /// The number of missing rows over all passes; while it changes, there is more to show.
    var missingRowCount: UInt64 { cwi_png_decoder_rows(decoder).missing_count }

    /// Reads what is new in `chunks`; `data` are the file's bytes so far.
    func take(_ chunks: [PNGChunk], of data: RawSpan, cancellation: Cancellation?) throws(WebImageError) {
        try cancellation?.check()
        while failure == nil, chunkCount < chunks.count {
            let chunk = chunks[chunkCount]
            try take(chunk.compressedBytes, of: data, cancellation: cancellation)
            if failure != nil, !hasReplayed {
                hasReplayed = true
                try replay(chunks, of: data, cancellation: cancellation)
                if failure == nil { continue }
            }
            guard chunk.isWhole else { break }
            if failure == nil, !chunk.isIntact(in: data) {
                failure = .decoding(format: .png, reason: .corrupt("wrong checksum of \(chunk.name.text)"))
            }
            chunkCount += 1
            byteCount = 0
        }
        try premultiply(cancellation: cancellation)
    }

    private func take(_ bytes: Range<Int>, of data: RawSpan, cancellation: Cancellation?) throws(WebImageError) {
        let step = image.layout.compressedStepByteCount
        while failure == nil, missingRowCount > 0, byteCount < bytes.count {
            let start = bytes.lowerBound + byteCount
            let end = min(start + step, bytes.upperBound)
            try take(data.extracting(start..<end), cancellation: cancellation)
            if failure == nil { byteCount += end - start }
        }
    }

    private func take(_ piece: RawSpan, cancellation: Cancellation?) throws(WebImageError) {
        try cancellation?.check()
        let status = piece.withUnsafeBytes { piece in
            buffer?.withUnsafeMutableBytes { pixels in
                cwi_png_decoder_take(
                    decoder, piece.bindMemory(to: UInt8.self).baseAddress, piece.count,
                    (deepPixels?.address ?? pixels.baseAddress)?.assumingMemoryBound(to: UInt8.self),
                    size.width * (deepPixels == nil ? 4 : 8), UInt32(size.height))
            }
        }
        if status != CWI_PNG_OK { failure = Self.failure(of: decoder) }
    }

    /// Decodes again up to the failure, and the last bytes before it one by one.
    ///
    /// libpng drops a row whose last bytes arrive with wrong ones, so the number of rows would depend on the pieces.
    private func replay(_ chunks: [PNGChunk], of data: RawSpan, cancellation: Cancellation?) throws(WebImageError) {
        let fresh = try Self.begin(image)
        cwi_png_decoder_destroy(decoder)
        decoder = fresh
        failure = nil
        premultipliedRowCount = 0
        isOpaque = true
        let (lastChunk, goodByteCount) = (chunkCount, byteCount)
        for chunkIndex in 0...lastChunk {
            byteCount = 0
            let bytes = chunks[chunkIndex].compressedBytes
            let good = chunkIndex < lastChunk ? bytes : bytes.prefix(goodByteCount)
            try take(good, of: data, cancellation: cancellation)
        }
        let bad = chunks[lastChunk].compressedBytes.dropFirst(goodByteCount)
        for index in bad.prefix(image.layout.compressedStepByteCount) where failure == nil && missingRowCount > 0 {
            try take(data.extracting(index..<index + 1), cancellation: cancellation)
            byteCount += 1
        }
    }

    private static func failure(of decoder: OpaquePointer) -> WebImageError {
        .decoding(format: .png, reason: .corrupt(String(cString: cwi_png_decoder_message(decoder))))
    }

    /// Premultiplies the rows that do not change any more; at the end, all that show something. Those of 16 bits are
    /// converted.
    private func premultiply(isEnd: Bool = false, cancellation: Cancellation?) throws(WebImageError) {
        let isFinal = isEnd || !image.layout.isInterlaced || missingRowCount == 0
        let first = premultipliedRowCount
        let rows = first..<(isFinal ? shownRowCount : first)
        guard image.hasAlpha || deepPixels != nil, !rows.isEmpty, var pixels = buffer.take() else {
            premultipliedRowCount = rows.upperBound
            return
        }
        if try !premultiply(rows, of: &pixels, cancellation: cancellation) { isOpaque = false }
        premultipliedRowCount = rows.upperBound
        buffer = consume pixels
    }

    /// Returns whether all pixels are opaque.
    private func premultiply(
        _ rows: Range<Int>, of pixels: inout MutablePixelBuffer, cancellation: Cancellation?
    ) throws(WebImageError) -> Bool {
        let size = PixelSize(width: pixels.width, height: rows.count)
        return try pixels.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return true }
            var areOpaque = true
            try size.forEachRowBatch(cancellation: cancellation) { batch in
                let first = rows.lowerBound + batch.lowerBound
                if let deepPixels, let conversion = image.deepConversion {
                    let source = deepPixels.address.assumingMemoryBound(to: UInt16.self)
                    for row in first..<first + batch.count {
                        let (from, to) = (source + row * size.width * 4, start + row * size.width * 4)
                        if !conversion.convert(from, to: to, count: size.width, row: row) { areOpaque = false }
                    }
                } else if !cwi_premultiply(start + first * size.width * 4, batch.count * size.width) {
                    areOpaque = false
                }
            }
            return areOpaque
        }
    }

    /// Returns a copy of the pixels so far, transparent where there are none.
    func snapshot(cancellation: Cancellation? = nil) throws(WebImageError) -> PixelBuffer {
        var copy = try MutablePixelBuffer(width: size.width, height: size.height)
        let shown = 0..<shownRowCount * size.width * 4
        copy.withUnsafeMutableBytes { destination in
            buffer?.withUnsafeMutableBytes { source in
                destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[shown]))
            }
        }
        try copy.clear(rows: shownRowCount..<size.height, cancellation: cancellation)
        let isStraight = image.hasAlpha || deepPixels != nil
        let straight = isStraight ? premultipliedRowCount..<shownRowCount : 0..<0
        let areOpaque = try premultiply(straight, of: &copy, cancellation: cancellation)
        return copy.freeze(isOpaque: isOpaque && areOpaque && shownRowCount == size.height)
    }

    /// Returns the pixels, transparent where there are none. Do not use the decoder afterward.
    func finish(cancellation: Cancellation? = nil) throws(WebImageError) -> PixelBuffer {
        try premultiply(isEnd: true, cancellation: cancellation)
        guard var pixels = buffer.take() else { preconditionFailure("finished twice") }
        try pixels.clear(rows: shownRowCount..<size.height, cancellation: cancellation)
        return pixels.freeze(isOpaque: isOpaque && shownRowCount == size.height)
    }

    private var size: PixelSize { image.layout.size }
}

extension PNGLayout {
    /// The compressed bytes between checks of the cancellation. zlib expands a byte to at most 1032, so this is about a
    /// quarter megapixel at most.
    fileprivate var compressedStepByteCount: Int { max(64, bitsPerPixel * 32) }
}

extension PNGImage {
    /// Returns the image at `size`, resampled row by row as it is decompressed, so that the whole image is never in
    /// memory.
    ///
    /// The pixels are those of resampling the whole image. `nil` if it is interlaced, incomplete or damaged, or if the
    /// size stays the same.
    ///
    /// - Parameter region: the part to decode, of which `size` is the size; `nil` for all.
    func resampledByRows(
        to size: PixelSize, region: PixelRect? = nil, from data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        guard canResampleRows(to: size, region: region) else { return nil }
        var pages = FilePages()
        for chunk in chunks {
            guard chunk.isWhole, chunk.isIntact(in: data, onRead: { pages.release(before: $0, of: data) }) else {
                return nil
            }
        }
        // Checking the checksums reads all data.
        try cancellation?.check()
        if let rows = PNGRowConversion(self),
            let image = try resampled(rows, to: size, region: region, from: data, cancellation: cancellation)
        {
            return image
        }
        return try resampledByLibpng(to: size, region: region, from: data, cancellation: cancellation)
    }

    /// Whether the rows can be resampled one by one if they are good.
    func canResampleRows(to size: PixelSize, region: PixelRect? = nil) -> Bool {
        !layout.isInterlaced && (region != nil || size != layout.size)
    }

    /// For 8 bits a channel; `nil` if the stream seems damaged.
    private func resampled(
        _ rows: PNGRowConversion, to size: PixelSize, region: PixelRect?, from data: RawSpan,
        cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        let inflater = Inflater(chunks.map(\.compressedBytes), readByteCount: max(1 << 16, rows.filteredByteCount))
        let resampler = try RowResampler(from: layout.size, region: region, to: size)
        var unfiltering = rows.unfiltering()
        var isOpaque = true
        var isGood = true
        try layout.size.forEachRowBatch(pixelCount: 1 << 16, cancellation: cancellation) {
            (range) throws(WebImageError) in
            for _ in range where isGood && !resampler.isComplete {
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

    /// For other kinds, and streams that ISA-L refuses.
    private func resampledByLibpng(
        to size: PixelSize, region: PixelRect?, from data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        let reader = try PNGRowReader(self)
        let resampler = try RowResampler(from: layout.size, region: region, to: size)
        var pages = FilePages()
        for chunk in chunks where !resampler.isComplete {
            for start in stride(
                from: chunk.compressedBytes.lowerBound, to: chunk.compressedBytes.upperBound, by: reader.stepByteCount)
            where !resampler.isComplete {
                try cancellation?.check()
                let end = min(start + reader.stepByteCount, chunk.compressedBytes.upperBound)
                guard reader.take(data.extracting(start..<end), into: resampler) else { return nil }
                pages.release(before: start, of: data)
            }
        }
        return resampler.isComplete ? resampler.finish(isOpaque: reader.isOpaque) : nil
    }
}

/// Decodes premultiplied rows, holding only those of one step.
final class PNGRowReader {
    private let decoder: OpaquePointer
    private let size: PixelSize
    private let hasAlpha: Bool
    /// Pixels of 8 bits, or of 16 that are converted.
    private let window: UnsafeMutablePointer<UInt8>
    private let conversion: DeepColorConversion?
    private let windowRowLimit: Int
    private var rowCount = 0
    private(set) var isOpaque = true
    /// The compressed bytes of a step.
    var stepByteCount: Int { Self.stepByteCount }
    private static let stepByteCount = 256

    init(_ image: PNGImage) throws(WebImageError) {
        size = image.layout.size
        hasAlpha = image.hasAlpha
        windowRowLimit = Self.windowRowLimit(image.layout)
        decoder = try PNGStreamDecoder.begin(image)
        conversion = image.deepConversion
        window = .allocate(capacity: windowRowLimit * size.width * (conversion == nil ? 4 : 8))
    }

    /// The maximum number of rows it holds.
    static func windowRowLimit(_ layout: PNGLayout) -> Int {
        // zlib expands a byte to at most 1032, and may hold back as much as its window.
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
        let stride = size.width * (conversion == nil ? 4 : 8)
        let status = bytes.withUnsafeBytes { bytes in
            cwi_png_decoder_take_rows(
                decoder, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, window, stride, UInt32(rowCount),
                UInt32(windowRowLimit))
        }
        guard status == CWI_PNG_OK else { return false }
        let newRowCount = Int(cwi_png_decoder_rows(decoder).shown_count)
        guard newRowCount > rowCount else { return true }
        if let conversion {
            for row in rowCount..<newRowCount {
                let source = UnsafeRawPointer(window + (row - rowCount) * stride).assumingMemoryBound(to: UInt16.self)
                resampler.append { pixels in
                    if !conversion.convert(source, to: pixels, count: size.width, row: row) { isOpaque = false }
                }
            }
        } else {
            if hasAlpha, !cwi_premultiply(window, (newRowCount - rowCount) * size.width) { isOpaque = false }
            for row in 0..<newRowCount - rowCount { resampler.append(window + row * stride) }
        }
        rowCount = newRowCount
        return true
    }
}
