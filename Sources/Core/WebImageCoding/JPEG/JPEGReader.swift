internal import CWebImageJPEG
internal import WebImageCore

/// A libjpeg-turbo decoder that reads a file at once or in pieces, with the same result.
///
///     readHeader ──▶ start ──▶ decode, again with each piece ──▶ finish
///                                 └──▶ preview
///
/// All but ``preview(cancellation:)`` and ``finish(options:)`` are called inside ``reading(_:isEnd:_:)``.
final class JPEGReader {
    let decoder: OpaquePointer
    private(set) var header = cwi_jpeg_header()
    /// The size of the output, perhaps scaled down; set by ``start(atLeast:ink:spool:resamplesRows:)``.
    private(set) var outputSize: PixelSize?
    /// The part of the output that is decoded; `nil` for all of it.
    private var region: PixelRect?
    /// Allocated at the start for a single scan; at the end for several, which are kept as coefficients.
    private var output: MutablePixelBuffer?
    /// Replaces ``output`` if rows are resampled one by one.
    private var streamedRows: StreamedRows?
    /// Holds coefficients that do not fit in memory.
    private var spool: UnnamedFile?
    /// The number of output rows, from the top.
    private var rowCount = 0
    /// Whether the compressed data of all scans have been read.
    private var isComplete = false
    /// The error that ended decoding early; there may be good pixels before it.
    private(set) var damage: WebImageError?
    /// Whether ``damage`` might be tolerated with more bytes, so that the whole file has to be decoded to tell.
    ///
    /// libjpeg-turbo has a fast loop for Huffman codes, which needs half a kilobyte after each block of its step, and a
    /// slow one. They differ only for invalid codes: the fast loop reads a zero, the slow one warns. Fewer bytes never
    /// enable the fast loop, so what is good in pieces is good as a whole. At a marker, the fast loop's step is
    /// repeated by the slow one; if several scans fill one image, remains of the first attempt at a damaged step are
    /// visible.
    private(set) var isDamageUncertain = false
    /// The rows or scans of the last preview.
    private var shownCount = 0
    private var memoryLimit = 0
    private var scanLimit = 0
    /// The conversion from CMYK to sRGB.
    private(set) var ink = ColorConversion.none
    /// Whether the rows of the output are those of the image, and are passed on as they are decoded.
    var finishesRows = false

    init() throws(WebImageError) {
        guard let decoder = cwi_jpeg_decoder_create() else { throw .outOfResources(reason: .memory(byteCount: 0)) }
        self.decoder = decoder
    }

    deinit { cwi_jpeg_decoder_destroy(decoder) }

    /// The size as stored.
    var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }
    /// Whether coefficients of the whole image are kept: for a progressive file, or a scan for each component.
    var hasMultipleScans: Bool { header.has_multiple_scans }
    /// The length of these coefficients.
    var coefficientByteCount: Int { header.coefficient_byte_count }
    /// Whether ``decode(options:)`` can stop at the end of a piece; libjpeg cannot within arithmetic coding.
    var isSuspendable: Bool { !header.is_arithmetic }
    /// Whether damage can be reported in pieces that decoding the whole file tolerates: see ``isDamageUncertain``.
    var mayBeUncertain: Bool { header.is_sequential_huffman }
    /// Whether more bytes can change the result: not after the last row or scan, nor after damage.
    var needsBytes: Bool { !isComplete && damage == nil }

    /// Calls `body`, which reads `bytes`, and returns how many of them were read. The next piece has to start with the
    /// rest.
    ///
    /// - Parameter isEnd: whether the file ends with `bytes`.
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

    /// Reads the markers before the first scan; returns `false` if they are incomplete.
    func readHeader() throws(WebImageError) -> Bool {
        switch cwi_jpeg_read_header(decoder, &header) {
        case CWI_JPEG_OK: return true
        case CWI_JPEG_NEEDS_BYTES: return false
        case let status: throw error(status)
        }
    }

    /// Starts to decode at least `targetSize` pixels: at an eighth, a quarter or half of the size if that is enough.
    ///
    /// libjpeg then computes smaller blocks from the same coefficients, much faster. It supports every eighth, but
    /// those in between have no SIMD code and are slower than the full size. The scale cannot be changed later.
    ///
    /// - Parameters:
    ///   - ink: the conversion from CMYK to sRGB; other models are not converted here.
    ///   - spool: holds the coefficients of several scans; `nil`, the default, means memory.
    ///   - resamplesRows: whether rows are resampled one by one; then there are no previews.
    ///   - region: the part to decode, at the stored size, for which `targetSize` is; then there are no previews either. `nil`, the default, for
    ///     all.
    func start(
        atLeast targetSize: PixelSize, ink: ColorConversion, spool: UnnamedFile? = nil, resamplesRows: Bool = false,
        region: PixelRect? = nil
    ) throws(WebImageError) {
        self.ink = ink
        self.spool = spool
        // The coefficients, and space for rows and tables.
        memoryLimit = header.coefficient_byte_count + (32 << 20)
        let numerator = numerator(atLeast: targetSize, of: region?.size)
        self.region = region.map { Self.scaled($0, by: numerator) }
        var width: UInt32 = 0
        var height: UInt32 = 0
        let status = cwi_jpeg_start(
            decoder, UInt32(numerator), memoryLimit, spool?.descriptor ?? -1, &width, &height)
        guard status == CWI_JPEG_OK else { throw error(status) }
        let size = PixelSize(width: Int(width), height: Int(height))
        outputSize = size
        if resamplesRows { streamedRows = try StreamedRows(of: size, resampledTo: targetSize) }
        if !header.has_multiple_scans { try makeOutput() }
    }

    /// Returns the output size for a target.
    ///
    /// - Parameter region: the part that the target is for, at the stored size; `nil` for all.
    func outputSize(atLeast targetSize: PixelSize, of region: PixelRect? = nil) -> PixelSize {
        let numerator = numerator(atLeast: targetSize, of: region?.size)
        if let region { return Self.scaled(region, by: numerator).size }
        return PixelSize(
            width: Self.scaled(size.width, by: numerator), height: Self.scaled(size.height, by: numerator))
    }

    private func numerator(atLeast targetSize: PixelSize, of part: PixelSize?) -> Int {
        let size = part ?? size
        // An eighth of a pixel is rounded up to one.
        if part == targetSize { return 8 }
        return [1, 2, 4].first { numerator in
            Self.scaled(size.width, by: numerator) >= targetSize.width
                && Self.scaled(size.height, by: numerator) >= targetSize.height
        } ?? 8
    }

    /// The memory of libjpeg: coefficients, or a window of them, and rows.
    func workingByteCount(isSpooled: Bool) -> Int {
        // Samples of a row of blocks, up to four lines of blocks high: decoded, upsampled and converted.
        let rows = size.width * Int(header.component_count) * 8 * 4 * 4
        return rows + (1 << 20) + (isSpooled ? header.spool_window_byte_count : coefficientByteCount)
    }

    /// Decodes as far as possible, or up to the first damage, which it records.
    func decode(options: DecodingOptions) throws(WebImageError) {
        guard needsBytes else { return }
        let status = try header.has_multiple_scans ? consumeScans(options: options) : readRows(options.cancellation)
        switch status {
        case CWI_JPEG_OK: isComplete = true
        case CWI_JPEG_NEEDS_BYTES: break
        case CWI_JPEG_TRUNCATED, CWI_JPEG_CORRUPT, CWI_JPEG_UNKNOWN_CODE:
            damage = error(status)
            isDamageUncertain = status == CWI_JPEG_UNKNOWN_CODE || mayBeUncertain && hasMultipleScans
        default: throw error(status)
        }
    }

    /// Returns the pixels so far, transparent where there are none; `nil` if nothing is new.
    ///
    /// A single scan grows by rows. Several scans add detail with each complete scan: libjpeg would block within an
    /// incomplete one.
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

    /// Returns the pixels after the end of the file; of a damaged file, the good ones. Call it once.
    func finish(options: DecodingOptions) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        let failure = isComplete ? nil : damage ?? .decoding(format: .jpeg, reason: .truncated)
        if let failure, !options.allowsDamage { throw failure }
        // libjpeg's memory is not needed for color conversion.
        defer { releaseImage() }
        if header.has_multiple_scans {
            try makeOutput()
            var status = cwi_jpeg_start_pass(decoder, true)
            if status == CWI_JPEG_OK { status = try readRows(options.cancellation) }
            // Of an incomplete first scan, some rows may be there. But a system error is not damage of the file.
            let isFault = status == CWI_JPEG_SPOOL_FAILED || status == CWI_JPEG_OUT_OF_MEMORY
            guard status == CWI_JPEG_OK || failure != nil && !isFault else { throw error(status) }
        }
        if rowCount > 0, let streamedRows { return (streamedRows.finish(), failure != nil) }
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
        guard let outputSize = region?.size ?? outputSize, streamedRows == nil else { return }
        output = try MutablePixelBuffer(width: outputSize.width, height: outputSize.height)
    }

    private func consumeScans(options: DecodingOptions) throws(WebImageError) -> cwi_jpeg_status {
        // Blocks are at least 8 pixels high; this is about a quarter megapixel.
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
        if let streamedRows { return try readRows(into: streamedRows, cancellation) }
        // Moved out of `self` for exclusive access.
        guard var buffer = output.take() else { return CWI_JPEG_CORRUPT }
        var rowCount = rowCount
        let status =
            if let region {
                try readRows(of: region, into: &buffer, rowCount: &rowCount, cancellation: cancellation)
            } else {
                try readRows(into: &buffer, rowCount: &rowCount, cancellation: cancellation)
            }
        self.rowCount = rowCount
        output = consume buffer
        return status
    }

    /// Reads the available rows from `rowCount` on, in batches.
    private func readRows(
        into buffer: inout MutablePixelBuffer, rowCount: inout Int, cancellation: Cancellation?
    ) throws(WebImageError) -> cwi_jpeg_status {
        while rowCount < buffer.height {
            let status = try readBatch(into: buffer.baseAddress, of: buffer.size, rowCount: &rowCount, cancellation)
            guard status == CWI_JPEG_OK else { return status }
            if finishesRows { PixelBufferPool.finishRows(rowCount, of: buffer) }
        }
        return CWI_JPEG_OK
    }

    /// Reads rows and resamples each batch.
    private func readRows(into rows: StreamedRows, _ cancellation: Cancellation?) throws(WebImageError)
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

    /// Reads a batch of rows after the first `rowCount` rows of an image that starts at `pixels`.
    private func readBatch(
        into pixels: UnsafeMutableRawPointer, of size: PixelSize, rowCount: inout Int, _ cancellation: Cancellation?
    ) throws(WebImageError) -> cwi_jpeg_status {
        try cancellation?.check()
        let stride = size.width * 4
        let start = pixels.assumingMemoryBound(to: UInt8.self) + rowCount * stride
        var count: UInt32 = 0
        let limit = UInt32(min(max(1, Self.batchPixelCount / size.width), size.height - rowCount))
        let status = cwi_jpeg_read_rows(decoder, start, stride, limit, &count)
        // Adobe's programs store inverted ink and mark their files; Chrome and Pillow treat every file so.
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
        case CWI_JPEG_OUT_OF_MEMORY: .outOfResources(reason: .memory(byteCount: memoryLimit))
        case CWI_JPEG_SPOOL_FAILED:
            .outOfResources(
                reason: .temporaryFile(directory: spool?.directory ?? "", errno: cwi_jpeg_decoder_system_error(decoder))
            )
        case CWI_JPEG_TOO_MANY_SCANS: .limitExceeded(reason: .scans(limit: scanLimit))
        default: .decoding(format: .jpeg, reason: .corrupt(message.isEmpty ? "rows are missing" : message))
        }
    }

    static func scaled(_ length: Int, by numerator: Int) -> Int { (length * numerator + 7) / 8 }

    /// Takes a millisecond or two to decode.
    private static let batchPixelCount = 1 << 18
}
