internal import CWebImageDeflate
internal import WebImageCore

/// Decodes the most frequent PNG pictures, those with 8 bits a channel and without interlacing, several times faster
/// than libpng: libdeflate unpacks all rows at once, and the row filters are undone with vector instructions.
///
/// The filtered rows are unpacked into the end of the memory that the pixels get. A row is shorter filtered than as
/// RGBA, or one byte longer, for which there is room behind the last; so the pixels, from the top, never reach a row that
/// is still to be read:
///
///     ┌─────────────────────────────────────────────┬───────┐
///     │ pixels ──▶        ◀── filtered rows to come │ spare │
///     └─────────────────────────────────────────────┴───────┘
///
/// It takes whole, intact pictures alone and leaves all others to ``PNGStreamDecoder``, which knows what to make of
/// them.
struct PNGFastDecoder {
    private let picture: PNGPicture
    private let rows: PNGRowConversion

    /// `nil` for a kind of picture that it does not know.
    init?(_ picture: PNGPicture) {
        guard let rows = PNGRowConversion(picture) else { return nil }
        self.picture = picture
        self.rows = rows
        guard filteredByteCount <= Self.filteredByteLimit else { return nil }
    }

    /// The pixels; `nil` if the data are not all there, not intact or odd in another way.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func pixels(in data: RawSpan, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        guard !picture.chunks.isEmpty, picture.chunks.allSatisfy({ $0.isWhole && $0.isIntact(in: data) }) else {
            return nil
        }
        try cancellation?.check()
        if picture.chunks.count == 1 {
            return try pixels(ofStream: data.extracting(picture.chunks[0].compressedBytes), cancellation: cancellation)
        }
        let stream = joinedChunks(of: data)
        return try pixels(ofStream: stream.span.bytes, cancellation: cancellation)
    }

    private func pixels(ofStream stream: RawSpan, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        let size = picture.layout.size
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

    /// Whether it makes exactly the bytes expected, of exactly those given.
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

    /// Turns filtered rows into pixels and tells whether all are opaque; `nil` for a filter that does not exist.
    private func convert(
        _ filtered: UnsafePointer<UInt8>, to pixels: UnsafeMutablePointer<UInt8>, cancellation: Cancellation?
    ) throws(WebImageError) -> Bool? {
        let size = picture.layout.size
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
        let count = picture.chunks.reduce(0) { $0 + $1.compressedBytes.count }
        return [UInt8](unsafeUninitializedCapacity: count) { joined, filled in
            for chunk in picture.chunks {
                data.extracting(chunk.compressedBytes).withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(joined)[filled...].copyBytes(from: bytes)
                    filled += bytes.count
                }
            }
        }
    }

    private var filteredByteCount: Int { rows.filteredByteCount * picture.layout.size.height }

    /// libdeflate can't be stopped: 64 MiB, 16 megapixels with alpha, take it a tenth of a second.
    private static let filteredByteLimit = 64 << 20
}
