internal import CWebImageKernels
internal import CWebImageWebP
internal import WebImageCore

/// One libwebp decoder, for a still or the picture of a frame, which reads all at once or in pieces.
///
/// libwebp decodes as far as the bytes reach: rows from the top, of a lossy picture with alpha none before all of its
/// alpha is there.
final class WebPImageDecoder {
    /// Not `private(set)`: libwebp writes it behind Swift's back, through the address that it was given.
    private var output: MutablePixelBuffer?
    /// In its stead, for a thumbnail of a large picture.
    private let passingRows: PassingRows?
    /// At an address of its own, which libwebp keeps.
    private let config: UnsafeMutablePointer<WebPDecoderConfig>
    private let decoder: OpaquePointer
    private let size: PixelSize
    /// What comes out: ``size``, or what libwebp scales it to.
    private let outputSize: PixelSize
    /// Of the compressed picture, as announced.
    private let byteCount: Int
    /// How many bytes libwebp has seen.
    private var seenCount = 0
    private var shownCount = 0
    private(set) var isComplete = false
    /// What ended decoding early, with good rows before it perhaps.
    private(set) var damage: WebImageError?

    /// Takes memory for a picture of `size`.
    ///
    /// - Parameters:
    ///   - byteCount: how many bytes ``decode(_:wholePiecesOnly:cancellation:)`` gets in the end.
    ///   - targetSize: the size that comes out, of rows that are not kept: then there are no previews. `nil`, the default, for
    ///     the picture's own.
    ///   - scaledSize: the size to which libwebp scales the rows; `nil`, the default, for the picture's own.
    init(
        size: PixelSize, byteCount: Int, resampledTo targetSize: PixelSize? = nil, scaledTo scaledSize: PixelSize? = nil
    ) throws(WebImageError) {
        let outputSize = scaledSize ?? size
        let output: MutablePixelBuffer?
        let address: UnsafeMutableRawPointer
        if let targetSize {
            let rows = try PassingRows(of: size, resampledTo: targetSize)
            (passingRows, address) = (rows, rows.baseAddress)
            output = nil
        } else {
            let pixels = try MutablePixelBuffer(width: outputSize.width, height: outputSize.height)
            (passingRows, address) = (nil, pixels.baseAddress)
            output = consume pixels
        }
        let config = UnsafeMutablePointer<WebPDecoderConfig>.allocate(capacity: 1)
        config.initialize(to: WebPDecoderConfig())
        guard WebPInitDecoderConfig(config) != 0 else {
            config.deallocate()
            throw .decoding(format: .webp, reason: .unsupported("another version of libwebp"))
        }
        let bytesPerRow = outputSize.width * 4
        if outputSize != size {
            config.pointee.options.use_scaling = 1
            config.pointee.options.scaled_width = Int32(outputSize.width)
            config.pointee.options.scaled_height = Int32(outputSize.height)
        }
        config.pointee.output.colorspace = MODE_RGBA
        config.pointee.output.is_external_memory = 1
        config.pointee.output.u.RGBA = WebPRGBABuffer(
            rgba: address.assumingMemoryBound(to: UInt8.self), stride: Int32(bytesPerRow),
            size: bytesPerRow * outputSize.height)
        guard let decoder = WebPIDecode(nil, 0, config) else {
            config.deallocate()
            throw .outOfMemory(byteCount: bytesPerRow * outputSize.height)
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

    /// How many rows are there, from the top.
    private var rowCount: Int {
        if isComplete { return outputSize.height }
        var rowCount: Int32 = 0
        guard WebPIDecGetRGB(decoder, &rowCount, nil, nil, nil) != nil else { return 0 }
        return min(Int(rowCount), outputSize.height)
    }

    /// Decodes as far as the bytes reach, or to the first damage, which it notes.
    ///
    /// It hands libwebp the bytes in pieces, to look at the cancellation flag in between. How much is decoded at once can
    /// be much all the same: 38 bytes of lossless data can stand for 99 megapixels, and it cannot be interrupted.
    ///
    /// - Parameters:
    ///   - bytes: all there are, from the first.
    ///   - wholePiecesOnly: whether a rest shorter than a piece waits for more; see ``needsWholePieces``.
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
        // A file can announce more than there is; then the pieces would be too long to stop between them.
        let pieceLength = pieceLength(of: wholePiecesOnly ? byteCount : min(byteCount, bytes.count))
        while damage == nil, !isComplete, seenCount < bytes.count {
            if wholePiecesOnly, bytes.count - seenCount < pieceLength { return }
            try cancellation?.check()
            seenCount = min(seenCount + pieceLength, bytes.count)
            switch WebPIUpdate(decoder, start, seenCount) {
            case VP8_STATUS_OK: isComplete = true
            case VP8_STATUS_SUSPENDED: break
            case VP8_STATUS_OUT_OF_MEMORY: throw .outOfMemory(byteCount: size.pixelCount * 4)
            case let status: damage = WebImageError(status)
            }
            passingRows?.resample(upTo: rowCount)
        }
    }

    /// Whether pieces have to be whole, but for the last: then the pixels do not depend on how the bytes came. Known once
    /// decoding has begun.
    ///
    /// A partition of lossy data that begins with 0xFF, which no encoder writes, leaves libwebp's reader in a state that it
    /// should never be in; then it matters whether there are 8 bytes of the partition when it begins.
    private var needsWholePieces: Bool { !config.pointee.input.isLossless }

    /// Lossy pictures go on where they stopped. Lossless ones go back up to 8 rows, so that a piece should have many
    /// more: with 64 of them, 2 megapixels took 35 ms instead of 31.
    private func pieceLength(of byteCount: Int) -> Int {
        needsWholePieces ? min(max(256, byteCount / 64), 1 << 16) : max(4096, byteCount / max(1, size.height / 128))
    }

    /// The rows so far, clear below; `nil` if there are no others than last time.
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

    /// The pixels, after the last byte was decoded; of a damaged picture, the rows that are good, clear below. Call it once.
    func finish(
        damage policy: DecodingOptions.Damage, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, isPartial: Bool) {
        let failure = isComplete ? nil : damage ?? .decoding(format: .webp, reason: .truncated)
        let rowCount = rowCount
        if let failure, policy == .refuse || rowCount == 0 { throw failure }
        if let passingRows { return (passingRows.finish(), failure != nil) }
        guard let buffer = output.take() else { throw .outOfMemory(byteCount: 0) }
        return (try finished(buffer, rowCount: rowCount, cancellation: cancellation), failure != nil)
    }

    /// Clears the rows behind `rowCount`, multiplies the others by alpha and looks whether they are opaque. libwebp would
    /// multiply too, but rounds down: pictures written without loss would not come back as they were.
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
        // Lossless pixels have 4 bytes, and up to half a byte of predictors and colors. Alpha has one byte, and may be coded
        // as lossless pixels are.
        let lossless = size.pixelCount * 4 + size.pixelCount / 2
        if isLossless { return lossless + rows }
        return (hasAlpha ? size.pixelCount + lossless : 0) + rows
    }
}
