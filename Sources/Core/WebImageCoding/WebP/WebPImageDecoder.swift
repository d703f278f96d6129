internal import CWebImageKernels
internal import CWebImageWebP
internal import WebImageCore

/// A libwebp decoder for a still image or a frame, which reads all at once or in pieces.
///
/// libwebp decodes rows from the top as far as the bytes reach; of a lossy image with alpha, none before all alpha has
/// arrived.
final class WebPImageDecoder {
    /// Not `private(set)`: libwebp writes to it through its address.
    private var output: MutablePixelBuffer?
    /// Replaces ``output`` for a thumbnail of a large image.
    private let streamedRows: StreamedRows?
    /// Allocated because libwebp keeps the address.
    private let config: UnsafeMutablePointer<WebPDecoderConfig>
    private let decoder: OpaquePointer
    private let size: PixelSize
    /// The size of the output: ``size``, or what libwebp scales it to.
    private let outputSize: PixelSize
    /// The announced length of the compressed image.
    private let byteCount: Int
    /// The number of bytes passed to libwebp.
    private var seenCount = 0
    private var shownCount = 0
    private(set) var isComplete = false
    /// The error that ended decoding early; there may be good rows before it.
    private(set) var damage: WebImageError?

    /// Allocates memory for an image of `size`.
    ///
    /// - Parameters:
    ///   - byteCount: the length of the compressed image.
    ///   - options: tell whether lossy images are smoothed.
    ///   - targetSize: resamples rows to this size as they are decoded; then there are no previews. `nil` by default.
    ///   - scaledSize: the size to which libwebp scales; `nil`, the default, for the image's own.
    ///   - usesThread: whether libwebp starts a thread for the second half of its work, which pays if all bytes are there. The pixels are the same.
    init(
        size: PixelSize, byteCount: Int, options: DecodingOptions, resampledTo targetSize: PixelSize? = nil,
        scaledTo scaledSize: PixelSize? = nil, usesThread: Bool = false
    ) throws(WebImageError) {
        let outputSize = scaledSize ?? size
        let output: MutablePixelBuffer?
        let address: UnsafeMutableRawPointer
        if let targetSize {
            let rows = try StreamedRows(of: size, resampledTo: targetSize)
            (streamedRows, address) = (rows, rows.baseAddress)
            output = nil
        } else {
            let pixels = try MutablePixelBuffer(width: outputSize.width, height: outputSize.height)
            (streamedRows, address) = (nil, pixels.baseAddress)
            output = consume pixels
        }
        let config = UnsafeMutablePointer<WebPDecoderConfig>.allocate(capacity: 1)
        config.initialize(to: WebPDecoderConfig())
        guard WebPInitDecoderConfig(config) != 0 else {
            config.deallocate()
            throw .decoding(format: .webp, reason: .unsupported("an incompatible version of libwebp"))
        }
        let bytesPerRow = outputSize.width * 4
        if outputSize != size {
            config.pointee.options.use_scaling = 1
            config.pointee.options.scaled_width = Int32(outputSize.width)
            config.pointee.options.scaled_height = Int32(outputSize.height)
        }
        config.pointee.options.use_threads = usesThread ? 1 : 0
        config.pointee.options.bypass_filtering = options.bypassesWebPFilter ? 1 : 0
        config.pointee.output.colorspace = MODE_RGBA
        config.pointee.output.is_external_memory = 1
        config.pointee.output.u.RGBA = WebPRGBABuffer(
            rgba: address.assumingMemoryBound(to: UInt8.self), stride: Int32(bytesPerRow),
            size: bytesPerRow * outputSize.height)
        guard let decoder = WebPIDecode(nil, 0, config) else {
            config.deallocate()
            throw .outOfResources(reason: .memory(byteCount: bytesPerRow * outputSize.height))
        }
        self.config = config
        self.decoder = decoder
        self.size = size
        self.outputSize = outputSize
        self.byteCount = byteCount
        self.output = consume output
    }

    deinit {
        WebPIDelete(decoder)
        config.deallocate()
    }

    /// The number of rows, from the top.
    private var rowCount: Int {
        if isComplete { return outputSize.height }
        var rowCount: Int32 = 0
        guard WebPIDecGetRGB(decoder, &rowCount, nil, nil, nil) != nil else { return 0 }
        return min(Int(rowCount), outputSize.height)
    }

    /// Decodes as far as possible, or up to the first damage, which it records.
    ///
    /// libwebp gets the bytes in pieces, to check the cancellation in between. A piece can still decode to much: 38
    /// bytes of lossless data can be 99 megapixels.
    ///
    /// - Parameters:
    ///   - bytes: all bytes so far.
    ///   - wholePiecesOnly: whether an incomplete piece waits for more bytes; see ``needsWholePieces``.
    func decode(
        _ bytes: UnsafeRawBufferPointer, wholePiecesOnly: Bool = false, cancellation: Cancellation?
    ) throws(WebImageError) {
        guard damage == nil, !isComplete, let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        if seenCount == 0 {
            switch WebPGetFeatures(start, bytes.count, &config.pointee.input) {
            case VP8_STATUS_OK: break
            case VP8_STATUS_NOT_ENOUGH_DATA: return
            case let status: damage = WebImageError(status)
            }
            if damage == nil, config.pointee.input.size != size {
                damage = .decoding(format: .webp, reason: .corrupt("two sizes for one frame"))
            }
        }
        // A file can announce more than there is, which would make the pieces too long.
        let pieceLength = pieceLength(of: wholePiecesOnly ? byteCount : min(byteCount, bytes.count))
        while damage == nil, !isComplete, seenCount < bytes.count {
            if wholePiecesOnly, bytes.count - seenCount < pieceLength { return }
            try cancellation?.check()
            seenCount = min(seenCount + pieceLength, bytes.count)
            switch WebPIUpdate(decoder, start, seenCount) {
            case VP8_STATUS_OK: isComplete = true
            case VP8_STATUS_SUSPENDED: break
            case VP8_STATUS_OUT_OF_MEMORY: throw .outOfResources(reason: .memory(byteCount: size.pixelCount * 4))
            case let status: damage = WebImageError(status)
            }
            streamedRows?.resample(upTo: rowCount)
        }
    }

    /// Whether pieces have to be complete, except the last, so that the pixels do not depend on how the bytes arrive.
    /// Known once decoding has started.
    ///
    /// A partition of lossy data that starts with 0xFF, which no encoder writes, puts libwebp's reader in an invalid
    /// state; then it matters whether 8 bytes of the partition are there when it starts.
    private var needsWholePieces: Bool { !config.pointee.input.isLossless }

    /// Lossy images continue where they stopped. Lossless ones go back up to 8 rows, so a piece should have many more:
    /// with 64 of them, 2 megapixels took 35 ms instead of 31.
    private func pieceLength(of byteCount: Int) -> Int {
        needsWholePieces ? min(max(256, byteCount / 64), 1 << 16) : max(4096, byteCount / max(1, size.height / 128))
    }

    /// Returns the rows so far, transparent below; `nil` if nothing is new.
    func preview(cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        let rowCount = rowCount
        guard rowCount > shownCount, let source = output?.baseAddress else { return nil }
        shownCount = rowCount
        var buffer = try MutablePixelBuffer(width: outputSize.width, height: outputSize.height)
        let stride = buffer.bytesPerRow
        buffer.withUnsafeMutableBytes { bytes in
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: source, count: rowCount * stride))
        }
        return try finished(buffer, rowCount: rowCount, cancellation: cancellation)
    }

    /// Returns the pixels after the last byte; of a damaged image, the good rows, transparent below. Call it once.
    func finish(
        allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        let failure = isComplete ? nil : damage ?? .decoding(format: .webp, reason: .truncated)
        let rowCount = rowCount
        if let failure, !allowsDamage || rowCount == 0 { throw failure }
        if let streamedRows { return (streamedRows.finish(), failure != nil) }
        guard let buffer = output.take() else { throw .outOfResources(reason: .memory(byteCount: 0)) }
        return (try finished(buffer, rowCount: rowCount, cancellation: cancellation), failure != nil)
    }

    /// Clears the missing rows, premultiplies the others and checks whether they are opaque. libwebp's
    /// premultiplication rounds down, so lossless images would change.
    private func finished(
        _ buffer: consuming MutablePixelBuffer, rowCount: Int, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        try buffer.clear(rows: rowCount..<outputSize.height, cancellation: cancellation)
        var isOpaque = rowCount == outputSize.height
        let start = buffer.baseAddress.assumingMemoryBound(to: UInt8.self)
        let stride = buffer.bytesPerRow
        let rows = PixelSize(width: outputSize.width, height: rowCount)
        try rows.forEachRowBatch(cancellation: cancellation) { rows in
            let areOpaque = cwi_premultiply(start + rows.lowerBound * stride, rows.count * outputSize.width)
            isOpaque = isOpaque && areOpaque
        }
        return buffer.freeze(isOpaque: isOpaque)
    }

    /// The memory of libwebp besides the output, in bytes.
    static func workingByteCount(of size: PixelSize, isLossless: Bool, hasAlpha: Bool) -> Int {
        // Rows of blocks, and data about each block.
        let rows = size.width * 256 + (1 << 20)
        // Lossless pixels have 4 bytes, and up to half a byte of predictors and colors. Alpha has one byte, and may be
        // coded as lossless pixels are.
        let lossless = size.pixelCount * 4 + size.pixelCount / 2
        if isLossless { return lossless + rows }
        return (hasAlpha ? size.pixelCount + lossless : 0) + rows
    }
}
