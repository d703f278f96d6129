internal import CWebImageDeflate
internal import CWebImageKernels
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Compresses the pixels of a PNG, or of a frame of one, with libdeflate, all rows at once: more than twice as fast as
/// libpng, for files about as long.
struct PNGFastEncoder {
    private let pixels: PixelBuffer
    private let hasAlpha: Bool
    private let level: Int32
    private let filter: Int32?
    private let bytesPerPixel: Int
    private let rowByteCount: Int

    /// `nil` for a picture so large that nobody would want to wait for libdeflate.
    ///
    /// - Parameter hasAlpha: whether alpha is written; it has to be unless all pixels are opaque.
    init?(_ pixels: PixelBuffer, hasAlpha: Bool, options: EncodingOptions.PNG) {
        self.pixels = pixels
        self.hasAlpha = hasAlpha
        level = Int32(options.level)
        filter = options.filter.number
        bytesPerPixel = hasAlpha ? 4 : 3
        rowByteCount = pixels.width * bytesPerPixel
        guard filteredByteCount <= (level < 10 ? Self.filteredByteLimit : Self.slowFilteredByteLimit) else {
            return nil
        }
    }

    /// The zlib stream.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func compressed(cancellation: Cancellation?) throws(WebImageError) -> Data {
        // As RGBA a row is as long as filtered, but for a byte.
        var filtered = try MutablePixelBuffer(
            width: pixels.width, height: pixels.height, spareByteCount: pixels.height)
        return try filtered.withUnsafeMutableMemory { (memory) throws(WebImageError) in
            guard let start = memory.bindMemory(to: UInt8.self).baseAddress else { return Data() }
            try filter(into: start, cancellation: cancellation)
            try cancellation?.check()
            return try compressed(start)
        }
    }

    private func filter(
        into filtered: UnsafeMutablePointer<UInt8>, cancellation: Cancellation?
    ) throws(WebImageError) {
        // Two rows with straight alpha, in turns this one and the one above, and the kernel's room.
        let lines = UnsafeMutablePointer<UInt8>.allocate(capacity: rowByteCount * 3)
        lines.initialize(repeating: 0, count: rowByteCount * 3)
        defer { lines.deallocate() }
        try pixels.size.forEachRowBatch(pixelCount: 1 << 16, cancellation: cancellation) { rows in
            for y in rows {
                let row = lines + (y & 1) * rowByteCount
                let above = lines + (1 - (y & 1)) * rowByteCount
                if hasAlpha {
                    cwi_unpremultiply(pixels.row(y), row, pixels.width)
                } else {
                    cwi_rgba_to_rgb(pixels.row(y), row, pixels.width)
                }
                let output = filtered + y * (rowByteCount + 1)
                if let filter {
                    cwi_png_filter_with(UInt8(filter), row, above, output, rowByteCount, bytesPerPixel)
                } else {
                    cwi_png_filter(row, above, output, lines + 2 * rowByteCount, rowByteCount, bytesPerPixel)
                }
            }
        }
    }

    private func compressed(_ filtered: UnsafePointer<UInt8>) throws(WebImageError) -> Data {
        guard let compressor = libdeflate_alloc_compressor(level) else {
            throw .outOfMemory(byteCount: filteredByteCount)
        }
        defer { libdeflate_free_compressor(compressor) }
        let bound = libdeflate_zlib_compress_bound(compressor, filteredByteCount)
        guard let stream = malloc(bound) else { throw .outOfMemory(byteCount: bound) }
        defer { free(stream) }
        let count = libdeflate_zlib_compress(compressor, filtered, filteredByteCount, stream, bound)
        return Data(bytes: stream, count: count)
    }

    private var filteredByteCount: Int { (rowByteCount + 1) * pixels.height }

    /// 5 megapixels without alpha.
    private static let filteredByteLimit = 16 << 20
    /// For levels at which it takes many times as long.
    private static let slowFilteredByteLimit = 2 << 20
}
