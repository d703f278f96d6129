internal import CWebImageJPEG
internal import WebImageCore

/// One libjpeg-turbo decoder, which reads a file all at once or in pieces; either way comes to the same pixels.
///
///     readHeader ──▶ start ──▶ decode, again with each piece ──▶ finish
///                                 └──▶ preview
///
/// Everything but ``preview(cancellation:)`` and ``finish(options:)`` is called inside ``reading(_:isEnd:_:)``.
final class JPEGReader {
    private let decoder: OpaquePointer
    private var header = cwi_jpeg_header()
    /// What comes out, scaled down perhaps; known after ``start(atLeast:)``.
    private var outputSize: PixelSize?
    /// Of one scan, taken at the start; of several, memory is held only for the coefficients until the end.
    private var output: MutablePixelBuffer?
    /// In its stead, where the pixels go on to another size row by row.
    private var passingRows: PassingRows?
    /// Where the coefficients are that don't fit into memory.
    private var spool: UnnamedFile?
    /// How many of the output's rows are there, from the top.
    private var rowCount = 0
    /// Whether the compressed data of all scans is read; there may be pixels to make of it yet.
    private var isComplete = false
    /// What ended decoding early, with good pixels before it perhaps.
    private(set) var damage: WebImageError?
    /// Whether ``damage`` might have gone unnoticed with more bytes at hand, so that only a decode of the whole file tells.
    ///
    /// libjpeg-turbo has a fast loop for Huffman codes, for which half a kilobyte has to follow for each block of its step,
    /// and a slow one. They differ only in codes that do not exist: to the fast one such a code is a zero, the slow one
    /// warns. Fewer bytes never make it fast, so what is good in pieces is good as a whole. Where the fast one comes upon a
    /// marker, the step before it is done again by the slow one; what the first attempt left of a damaged step is seen
    /// where several scans fill one picture.
    private(set) var isDamageInDoubt = false
    /// How much of it was in the last preview: rows, or scans.
    private var shownCount = 0
    private var memoryLimit = 0
    private var scanLimit = 0
    /// The way from CMYK to sRGB.
    private var ink = ColorConversion.none

    init() throws(WebImageError) {
        guard let decoder = cwi_jpeg_decoder_create() else { throw .outOfMemory(byteCount: 0) }
        self.decoder = decoder
    }

    deinit { cwi_jpeg_decoder_destroy(decoder) }

    /// As stored.
    var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }
    /// Whether it keeps coefficients of the whole picture: a progressive one, or one with a scan for each component.
    var hasMultipleScans: Bool { header.has_multiple_scans }
    /// Whether ``decode(options:)`` can stop where a piece ends: libjpeg can't in the middle of arithmetic coding.
    var isSuspendable: Bool { !header.is_arithmetic }
    /// Whether damage may be noticed in pieces that a decode of the whole file passes over: see ``isDamageInDoubt``.
    var mayDoubtDamage: Bool { header.is_sequential_huffman }
    /// Whether more bytes can change anything: not behind the last row or scan, nor behind damage.
    var wantsBytes: Bool { !isComplete && damage == nil }

    /// Calls `body`, whose calls read `bytes`, and returns how many of them are done with.
    ///
    /// The next piece begins with those that are not. `isEnd` tells that the file ends with `bytes`.
    func reading(
        _ bytes: UnsafeRawBufferPointer, isEnd: Bool, _ body: () throws(WebImageError) -> Void
    ) throws(WebImageError) -> Int {
        cwi_jpeg_set_source(decoder, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, isEnd)
        do throws(WebImageError) {
            try body()
        } catch {
            _ = cwi_jpeg_release_source(decoder)
            throw error
        }
        return bytes.count - cwi_jpeg_release_source(decoder)
    }

    /// Reads the markers before the first scan; `false` while they are not all there.
    func readHeader() throws(WebImageError) -> Bool {
        switch cwi_jpeg_read_header(decoder, &header) {
        case CWI_JPEG_OK: return true
        case CWI_JPEG_NEEDS_BYTES: return false
        case let status: throw error(status)
        }
    }

    /// Begins to decode at least `targetSize` pixels: at an eighth, a quarter or half of the size where that is
    /// enough.
    ///
    /// libjpeg then computes smaller blocks from the same coefficients, in a fraction of the time. It could do every
    /// eighth, but those between have no SIMD code and are slower than the full size. It can't change its mind later.
    ///
    /// - Parameters:
    ///   - ink: the way from CMYK to sRGB; a picture of light keeps its colours.
    ///   - spool: where the coefficients of several scans are kept; `nil`, the default, for memory.
    ///   - resamplesRows: whether the pixels go on to the target's size row by row: then there are no previews.
    func start(
        atLeast targetSize: PixelSize, ink: ColorConversion, spool: UnnamedFile? = nil, resamplesRows: Bool = false
    ) throws(WebImageError) {
        self.ink = ink
        self.spool = spool
        // The coefficients, and some for rows and tables.
        memoryLimit = header.coefficient_byte_count + (32 << 20)
        var width: UInt32 = 0
        var height: UInt32 = 0
        let status = cwi_jpeg_start(
            decoder, UInt32(numerator(atLeast: targetSize)), memoryLimit, spool?.descriptor ?? -1, &width, &height)
        guard status == CWI_JPEG_OK else { throw error(status) }
        let size = PixelSize(width: Int(width), height: Int(height))
        outputSize = size
        if resamplesRows { passingRows = try PassingRows(of: size, resampledTo: targetSize) }
        if !header.has_multiple_scans { try makeOutput() }
    }

    /// The size that comes out for a target.
    func outputSize(atLeast targetSize: PixelSize) -> PixelSize {
        let numerator = numerator(atLeast: targetSize)
        return PixelSize(
            width: Self.scaled(size.width, by: numerator), height: Self.scaled(size.height, by: numerator))
    }

    private func numerator(atLeast targetSize: PixelSize) -> Int {
        [1, 2, 4].first { numerator in
            Self.scaled(size.width, by: numerator) >= targetSize.width
                && Self.scaled(size.height, by: numerator) >= targetSize.height
        } ?? 8
    }

    /// What libjpeg takes: for coefficients, in memory or with a window of them, and for rows.
    func workingByteCount(isSpooled: Bool) -> Int {
        // Samples of a row of blocks, four lines of blocks high at the most: as they are decoded, upsampled and converted.
        let rows = size.width * Int(header.component_count) * 8 * 4 * 4
        return rows + (1 << 20) + (isSpooled ? header.spool_window_byte_count : header.coefficient_byte_count)
    }

    /// Decodes as far as the bytes reach, or to the first damage, which it notes.
    func decode(options: DecodingOptions) throws(WebImageError) {
        guard wantsBytes else { return }
        let status = try header.has_multiple_scans ? consumeScans(options: options) : readRows(options.cancellation)
        switch status {
        case CWI_JPEG_OK: isComplete = true
        case CWI_JPEG_NEEDS_BYTES: break
        case CWI_JPEG_TRUNCATED, CWI_JPEG_CORRUPT, CWI_JPEG_UNKNOWN_CODE:
            damage = error(status)
            isDamageInDoubt = status == CWI_JPEG_UNKNOWN_CODE || mayDoubtDamage && hasMultipleScans
        default: throw error(status)
        }
    }

    /// The pixels so far, clear where there are none; `nil` if there are no others than last time.
    ///
    /// A picture of one scan grows by rows. One of several gains detail with each that is whole: libjpeg would wait in
    /// the middle of one that is not.
    func preview(cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        let count = header.has_multiple_scans ? Int(cwi_jpeg_whole_scan_count(decoder)) : rowCount
        guard let size = outputSize, count > shownCount else { return nil }
        shownCount = count
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        guard header.has_multiple_scans else {
            copyRows(into: &buffer)
            try buffer.clear(rows: rowCount..<size.height, cancellation: cancellation)
            return buffer.freeze(isOpaque: rowCount == size.height)
        }
        var status = cwi_jpeg_start_pass(decoder, false)
        var passRowCount = 0
        if status == CWI_JPEG_OK {
            status = try readRows(into: &buffer, rowCount: &passRowCount, cancellation: cancellation)
        }
        guard status == CWI_JPEG_OK else { throw error(status) }
        return buffer.freeze(isOpaque: true)
    }

    /// The pixels, after the file's last byte was decoded; of a damaged file, those that are good. Call it once.
    func finish(options: DecodingOptions) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        let failure = isComplete ? nil : damage ?? .decoding(format: .jpeg, reason: .truncated)
        if let failure, options.damage == .refuse { throw failure }
        // What libjpeg took is not needed while colours are converted.
        defer { releaseImage() }
        if header.has_multiple_scans {
            try makeOutput()
            var status = cwi_jpeg_start_pass(decoder, true)
            if status == CWI_JPEG_OK { status = try readRows(options.cancellation) }
            // Of the first scan alone, some rows may be there. But a fault of the system is no damage of the file.
            let isFault = status == CWI_JPEG_SPOOL_FAILED || status == CWI_JPEG_OUT_OF_MEMORY
            guard status == CWI_JPEG_OK || failure != nil && !isFault else { throw error(status) }
        }
        if rowCount > 0, let passingRows { return (passingRows.finish(), failure != nil) }
        guard var buffer = output.take(), rowCount > 0 else {
            throw failure ?? .decoding(format: .jpeg, reason: .corrupt("rows are missing"))
        }
        try buffer.clear(rows: rowCount..<buffer.height, cancellation: options.cancellation)
        let isOpaque = rowCount == buffer.height
        return (buffer.freeze(isOpaque: isOpaque), failure != nil)
    }

    private func releaseImage() {
        cwi_jpeg_release_image(decoder)
        spool = nil
    }

    private func makeOutput() throws(WebImageError) {
        guard let outputSize, passingRows == nil else { return }
        output = try MutablePixelBuffer(width: outputSize.width, height: outputSize.height)
    }

    private func consumeScans(options: DecodingOptions) throws(WebImageError) -> cwi_jpeg_status {
        // Blocks are at least 8 pixels high; about a quarter megapixel at a time.
        let rowCount = UInt32(max(1, (1 << 15) / size.width))
        scanLimit = options.limits.scanCount
        var isComplete = false
        while !isComplete {
            try options.checkCancellation()
            let status = cwi_jpeg_consume(decoder, rowCount, UInt32(clamping: scanLimit), &isComplete)
            guard status == CWI_JPEG_OK else { return status }
        }
        return CWI_JPEG_OK
    }

    private func readRows(_ cancellation: Cancellation?) throws(WebImageError) -> cwi_jpeg_status {
        if let passingRows { return try readRows(passing: passingRows, cancellation) }
        // Out of `self` meanwhile, so that both are not written at once.
        guard var buffer = output.take() else { return CWI_JPEG_CORRUPT }
        var rowCount = rowCount
        let status = try readRows(into: &buffer, rowCount: &rowCount, cancellation: cancellation)
        self.rowCount = rowCount
        output = consume buffer
        return status
    }

    /// Reads the rows from `rowCount` on, as far as they are there, a batch at a time.
    private func readRows(
        into buffer: inout MutablePixelBuffer, rowCount: inout Int, cancellation: Cancellation?
    ) throws(WebImageError) -> cwi_jpeg_status {
        let size = buffer.size
        return try buffer.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let pixels = bytes.baseAddress else { return CWI_JPEG_CORRUPT }
            while rowCount < size.height {
                let status = try readBatch(into: pixels, of: size, rowCount: &rowCount, cancellation)
                guard status == CWI_JPEG_OK else { return status }
            }
            return CWI_JPEG_OK
        }
    }

    /// The same, but each batch is resampled and goes.
    private func readRows(passing rows: PassingRows, _ cancellation: Cancellation?) throws(WebImageError)
        -> cwi_jpeg_status
    {
        guard let size = outputSize else { return CWI_JPEG_CORRUPT }
        while rowCount < size.height {
            let status = try readBatch(into: rows.baseAddress, of: size, rowCount: &rowCount, cancellation)
            rows.resample(upTo: rowCount)
            guard status == CWI_JPEG_OK else { return status }
        }
        return CWI_JPEG_OK
    }

    /// Reads a batch of rows behind the first `rowCount` of a picture of `size`, which begins at `pixels`.
    private func readBatch(
        into pixels: UnsafeMutableRawPointer, of size: PixelSize, rowCount: inout Int, _ cancellation: Cancellation?
    ) throws(WebImageError) -> cwi_jpeg_status {
        try cancellation?.check()
        let stride = size.width * 4
        let start = pixels.assumingMemoryBound(to: UInt8.self) + rowCount * stride
        var count: UInt32 = 0
        let limit = UInt32(min(max(1, Self.batchPixelCount / size.width), size.height - rowCount))
        let status = cwi_jpeg_read_rows(decoder, start, stride, limit, &count)
        // Adobe's programs mark their files and store ink inverted; Chrome and Pillow take every file as theirs.
        if header.is_cmyk { ink.convertInk(start, pixelCount: Int(count) * size.width) }
        rowCount += Int(count)
        return status
    }

    private func copyRows(into buffer: inout MutablePixelBuffer) {
        buffer.withUnsafeMutableBytes { destination in
            _ = output?.withUnsafeMutableBytes { source in
                let count = rowCount * (source.count / size.height)
                destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<count]))
            }
        }
    }

    private func error(_ status: cwi_jpeg_status) -> WebImageError {
        let message = String(cString: cwi_jpeg_decoder_message(decoder))
        return switch status {
        case CWI_JPEG_TRUNCATED, CWI_JPEG_NEEDS_BYTES: .decoding(format: .jpeg, reason: .truncated)
        case CWI_JPEG_UNSUPPORTED: .decoding(format: .jpeg, reason: .unsupported(message))
        case CWI_JPEG_OUT_OF_MEMORY: .outOfMemory(byteCount: memoryLimit)
        case CWI_JPEG_SPOOL_FAILED:
            .temporaryFile(directory: spool?.directory ?? "", errno: cwi_jpeg_decoder_system_error(decoder))
        case CWI_JPEG_TOO_MANY_SCANS: .tooManyScans(limit: scanLimit)
        default: .decoding(format: .jpeg, reason: .corrupt(message.isEmpty ? "rows are missing" : message))
        }
    }

    private static func scaled(_ length: Int, by numerator: Int) -> Int { (length * numerator + 7) / 8 }

    /// A millisecond or two of decoding.
    private static let batchPixelCount = 1 << 18
}
