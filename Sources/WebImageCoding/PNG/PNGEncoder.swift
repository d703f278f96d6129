internal import CWebImageDeflate
internal import CWebImageKernels
internal import CWebImagePNG
package import FoundationEssentials
internal import Glibc
package import WebImageCore

/// Encodes PNG: RGB for opaque images, else RGBA with straight alpha. Lossless, except for the colors of transparent
/// pixels.
///
/// Images of up to 16 MiB (2 MiB from level 10 on) are compressed by libdeflate, which can't be cancelled and takes up
/// to about 0.25 s at the default level; larger ones by libpng, which can.
///
/// Several frames become an APNG. Durations are fractions of two 16-bit numbers, at most 65,535 s.
package struct PNGEncoder: AnimationEncoder {
    package init() {}

    package var format: ImageFormat { .png }

    package func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let pixels = image.pixels
        guard let encoder = PNGFastEncoder(pixels, hasAlpha: !pixels.isOpaque, options: options) else {
            return try encodeRowByRow(pixels, hasAlpha: !pixels.isOpaque, options: options)
        }
        var file = PNGFileWriter()
        file.appendHeader(of: pixels.size, hasAlpha: !pixels.isOpaque)
        file.append(.data, try encoder.compressed(cancellation: options.cancellation))
        return file.finish()
    }

    package func usesQuality(_ options: EncodingOptions) -> Bool { false }

    package func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        var data = try APNGFileWriter.encode(animation, isOpaqueThroughout: true, options: options)
        if data == nil { data = try APNGFileWriter.encode(animation, isOpaqueThroughout: false, options: options) }
        guard let data else { preconditionFailure("a frame that not even a file with alpha holds") }
        return data
    }

    /// Encodes with libpng.
    func encodeRowByRow(
        _ pixels: PixelBuffer, hasAlpha: Bool, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        guard let encoder = cwi_png_encoder_create() else {
            throw .outOfResources(reason: .memory(byteCount: pixels.byteCount))
        }
        defer { cwi_png_encoder_destroy(encoder) }
        func check(_ status: cwi_png_status) throws(WebImageError) {
            switch status {
            case CWI_PNG_OK: return
            case CWI_PNG_OUT_OF_MEMORY: throw .outOfResources(reason: .memory(byteCount: pixels.byteCount))
            default: throw .encoding(format: .png, reason: .codec(String(cString: cwi_png_encoder_message(encoder))))
            }
        }
        try check(
            cwi_png_encoder_start(
                encoder, UInt32(pixels.width), UInt32(pixels.height), hasAlpha, options.zlibLevel,
                options.pngFilter.number ?? -1))

        let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
        var line = [UInt8](repeating: 0, count: hasAlpha ? pixels.width * 4 : 0)
        try pixels.size.forEachRowBatch(pixelCount: 1 << 15, cancellation: options.cancellation) {
            (rows) throws(WebImageError) in
            if !hasAlpha {
                let start = source + rows.lowerBound * pixels.bytesPerRow
                try check(cwi_png_write_rows(encoder, start, pixels.bytesPerRow, UInt32(rows.count)))
                return
            }
            for row in rows {
                cwi_unpremultiply(source + row * pixels.bytesPerRow, &line, pixels.width)
                try check(cwi_png_write_rows(encoder, line, line.count, 1))
            }
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        try check(cwi_png_finish(encoder, &bytes, &count))
        guard let bytes else { throw .encoding(format: .png, reason: .codec("no output")) }
        return Data(bytesNoCopy: bytes, count: count, deallocator: .free)
    }
}

extension EncodingOptions {
    /// The zlib level for a libdeflate level. At 3, files are at worst a fifth larger than at zlib's default of 6, and
    /// several times faster to write.
    fileprivate var zlibLevel: Int32 { pngLevel == Self.defaultPNGLevel ? 3 : Int32(min(pngLevel, 9)) }
}

extension EncodingOptions.PNGFilter {
    /// The format's number; `nil` for the adaptive filter.
    var number: Int32? {
        switch self {
        case .adaptive: nil
        case .none: 0
        case .sub: 1
        case .up: 2
        case .average: 3
        case .paeth: 4
        }
    }
}

/// Compresses the pixels of a PNG or a frame with libdeflate, all rows at once: more than twice as fast as libpng, with
/// files about as long.
struct PNGFastEncoder {
    private let pixels: PixelBuffer
    private let hasAlpha: Bool
    private let level: Int32
    private let filter: Int32?
    private let bytesPerPixel: Int
    private let rowByteCount: Int

    /// `nil` for images that take libdeflate too long.
    ///
    /// - Parameter hasAlpha: whether alpha is stored; required unless all pixels are opaque.
    init?(_ pixels: PixelBuffer, hasAlpha: Bool, options: EncodingOptions) {
        self.pixels = pixels
        self.hasAlpha = hasAlpha
        level = Int32(options.pngLevel)
        filter = options.pngFilter.number
        bytesPerPixel = hasAlpha ? 4 : 3
        rowByteCount = pixels.width * bytesPerPixel
        guard filteredByteCount <= (level < 10 ? Self.filteredByteLimit : Self.slowFilteredByteLimit) else {
            return nil
        }
    }

    /// Returns the zlib stream.
    func compressed(cancellation: Cancellation?) throws(WebImageError) -> Data {
        // A filtered row is one byte longer than as RGBA at most.
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
        // Two rows with straight alpha, alternately this one and the previous one, and the kernel's scratch space.
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
            throw .outOfResources(reason: .memory(byteCount: filteredByteCount))
        }
        defer { libdeflate_free_compressor(compressor) }
        let bound = libdeflate_zlib_compress_bound(compressor, filteredByteCount)
        guard let stream = malloc(bound) else { throw .outOfResources(reason: .memory(byteCount: bound)) }
        defer { free(stream) }
        let count = libdeflate_zlib_compress(compressor, filtered, filteredByteCount, stream, bound)
        return Data(bytes: stream, count: count)
    }

    private var filteredByteCount: Int { (rowByteCount + 1) * pixels.height }

    /// 5 megapixels without alpha.
    private static let filteredByteLimit = 16 << 20
    /// For levels that are many times slower.
    private static let slowFilteredByteLimit = 2 << 20
}

/// Writes the chunks of a PNG.
struct PNGFileWriter {
    private var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

    /// 8 bits a channel, sRGB with perceptual intent.
    mutating func appendHeader(of size: PixelSize, hasAlpha: Bool) {
        append(.header, PNGLayout(size: size, colorType: hasAlpha ? .rgba : .rgb).content)
        append(.sRGB, [0])
    }

    mutating func append(_ name: PNGChunk.Name, _ content: some Collection<UInt8>) {
        append(name, [], content)
    }

    /// Appends a chunk whose content is in two places.
    mutating func append(_ name: PNGChunk.Name, _ prefix: [UInt8], _ content: some Collection<UInt8>) {
        file.append(contentsOf: Self.bytes(of: UInt32(prefix.count + content.count)))
        let start = file.count
        file.append(contentsOf: Self.bytes(of: name.rawValue))
        file.append(contentsOf: prefix)
        file.append(contentsOf: content)
        let checksum = file[start...].withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) }
        file.append(contentsOf: Self.bytes(of: checksum))
    }

    /// Returns the file.
    mutating func finish() -> Data {
        append(.end, [])
        return file
    }

    /// Big-endian.
    static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
