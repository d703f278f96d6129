internal import CWebImageDeflate
internal import CWebImageKernels
internal import CWebImagePNG
import FoundationEssentials
import WebImageCore

/// Filters and compresses the pixels of a PNG or a frame with libdeflate, on several processors.
///
///     rows ──▶ bands of 1 MiB ──▶ filter ──▶ deflate ──▶ pieces ──▶ one stream
///
/// Matches do not reach from one piece into the one before: on photographs a file is 0.1 % longer for it.
struct PNGPixelEncoder: Sendable {
    private let pixels: PixelBuffer
    private let hasAlpha: Bool
    private let level: Int32
    private let filter: Int32?
    private let bytesPerPixel: Int
    private let rowByteCount: Int

    /// - Parameter hasAlpha: whether alpha is stored; required unless all pixels are opaque.
    init(_ pixels: PixelBuffer, hasAlpha: Bool, options: EncodingOptions) {
        self.pixels = pixels
        self.hasAlpha = hasAlpha
        filter = options.pngFilter.number
        bytesPerPixel = hasAlpha ? 4 : 3
        rowByteCount = pixels.width * bytesPerPixel
        let isLarge = (rowByteCount + 1) * pixels.height > Self.slowByteLimit
        level = Int32(isLarge ? min(options.pngLevel, 9) : options.pngLevel)
    }

    /// A part of the stream.
    private struct Piece: Sendable {
        let stream: Data
        /// Of the filtered rows.
        let checksum: UInt32
        let byteCount: Int
    }

    /// Returns the zlib stream.
    func compressed(cancellation: Cancellation?) throws(WebImageError) -> Data {
        let bandHeight = max(1, Self.pieceByteCount / (rowByteCount + 1))
        let pieces = LockBox<[Int: Piece]>([:])
        try DecodingQueue.forEachBand(
            ofRows: pixels.height, bandHeight: bandHeight, isShared: true, cancellation: cancellation
        ) { [self] rows in
            guard let piece = piece(of: rows) else { return }
            pieces.withLock { $0[rows.lowerBound] = piece }
        }
        let made = pieces.withLock { $0 }
        // Deflate with a window of 32 KiB, no dictionary.
        var stream = Data([0x78, 0x9C])
        var checksum: UInt32 = 1
        for row in stride(from: 0, to: pixels.height, by: bandHeight) {
            guard let piece = made[row] else {
                throw .outOfResources(reason: .memory(byteCount: (rowByteCount + 1) * bandHeight))
            }
            stream.append(piece.stream)
            checksum = cwi_zlib_joined_checksum(checksum, piece.checksum, piece.byteCount)
        }
        return stream + PNGFileWriter.bytes(of: checksum)
    }

    /// `nil` without memory.
    private func piece(of rows: Range<Int>) -> Piece? {
        let byteCount = (rowByteCount + 1) * rows.count
        guard let filtered = try? ScratchMemory(byteCount: byteCount),
            let compressor = libdeflate_alloc_compressor(level)
        else { return nil }
        defer { libdeflate_free_compressor(compressor) }
        let start = filtered.address.assumingMemoryBound(to: UInt8.self)
        filter(rows, into: start)
        let capacity = libdeflate_deflate_compress_bound(compressor, byteCount) + Int(CWI_DEFLATE_JOINT_LENGTH)
        guard let output = try? ScratchMemory(byteCount: capacity) else { return nil }
        var count = libdeflate_deflate_compress(compressor, start, byteCount, output.address, capacity)
        if rows.upperBound < pixels.height {
            count = cwi_deflate_continue(output.address.assumingMemoryBound(to: UInt8.self), count)
        }
        guard count > 0 else { return nil }
        return Piece(
            stream: Data(bytes: output.address, count: count), checksum: libdeflate_adler32(1, start, byteCount),
            byteCount: byteCount)
    }

    private func filter(_ rows: Range<Int>, into filtered: UnsafeMutablePointer<UInt8>) {
        // Two rows with straight alpha, alternately this one and the previous one, and the kernel's scratch space.
        let lines = UnsafeMutablePointer<UInt8>.allocate(capacity: rowByteCount * 3)
        lines.initialize(repeating: 0, count: rowByteCount * 3)
        defer { lines.deallocate() }
        if rows.lowerBound > 0 {
            readRow(rows.lowerBound - 1, into: lines + (1 - (rows.lowerBound & 1)) * rowByteCount)
        }
        for y in rows {
            let row = lines + (y & 1) * rowByteCount
            let above = lines + (1 - (y & 1)) * rowByteCount
            readRow(y, into: row)
            let output = filtered + (y - rows.lowerBound) * (rowByteCount + 1)
            if let filter {
                cwi_png_filter_with(UInt8(filter), row, above, output, rowByteCount, bytesPerPixel)
            } else {
                cwi_png_filter(row, above, output, lines + 2 * rowByteCount, rowByteCount, bytesPerPixel)
            }
        }
    }

    private func readRow(_ y: Int, into row: UnsafeMutablePointer<UInt8>) {
        if hasAlpha {
            cwi_unpremultiply(pixels.row(y), row, pixels.width)
        } else {
            cwi_rgba_to_rgb(pixels.row(y), row, pixels.width)
        }
    }

    /// Returns a zlib stream.
    static func deflated(_ bytes: [UInt8], level: Int32 = 6) throws(WebImageError) -> Data {
        guard let compressor = libdeflate_alloc_compressor(level) else {
            throw .outOfResources(reason: .memory(byteCount: bytes.count))
        }
        defer { libdeflate_free_compressor(compressor) }
        var stream = Data(count: libdeflate_zlib_compress_bound(compressor, bytes.count))
        let count = stream.withUnsafeMutableBytes {
            libdeflate_zlib_compress(compressor, bytes, bytes.count, $0.baseAddress, $0.count)
        }
        return stream.prefix(count)
    }

    /// Some 25 ms of work at the default level, after which the cancellation is checked.
    private static let pieceByteCount = 1 << 20
    /// Above this, level 9 is the highest: those above take seconds for each megapixel.
    private static let slowByteLimit = 2 << 20
}
