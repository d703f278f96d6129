import CWebImageDeflate
import FoundationEssentials
import WebImageGTK

/// Writes an interlaced PNG (W3C PNG, third edition, 8.1), which the library reads but does not write: it is longer than
/// others. Seven passes hold ever more pixels:
///
///     1 6 4 6 2 6 4 6
///     7 7 7 7 7 7 7 7
///     5 6 5 6 5 6 5 6
///     7 7 7 7 7 7 7 7
///     3 6 4 6 3 6 4 6   …
enum InterlacedPNG {
    /// The first pixel of each pass, and the distance to the next.
    private static let passes: [(x: Int, y: Int, stepX: Int, stepY: Int)] = [
        (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
    ]

    /// Encodes the colors of opaque pixels.
    static func encode(_ pixels: PixelBuffer) throws(WebImageError) -> Data {
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        // 8 bits, RGB, zlib, standard filters, Adam7.
        file += PNGChunk.bytes(
            "IHDR", PNGChunk.bytes(of: pixels.width) + PNGChunk.bytes(of: pixels.height) + [8, 2, 0, 0, 1])
        file += PNGChunk.bytes("IDAT", try compressed(filtered(pixels)))
        file += PNGChunk.bytes("IEND", [])
        return file
    }

    /// Returns the rows of all passes, each less the row above it (filter 2, "up").
    private static func filtered(_ pixels: PixelBuffer) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(pixels.width * pixels.height * 3 + pixels.height * 4)
        for pass in passes where pass.x < pixels.width {
            var above: [UInt8] = []
            for y in stride(from: pass.y, to: pixels.height, by: pass.stepY) {
                var row: [UInt8] = []
                row.reserveCapacity(pixels.width / pass.stepX * 3 + 3)
                for x in stride(from: pass.x, to: pixels.width, by: pass.stepX) {
                    let pixel = pixels[x, y]
                    row += [pixel.x, pixel.y, pixel.z]
                }
                result.append(2)
                result += above.isEmpty ? row : zip(row, above).map { $0 &- $1 }
                above = row
            }
        }
        return result
    }

    private static func compressed(_ bytes: [UInt8]) throws(WebImageError) -> [UInt8] {
        guard let compressor = libdeflate_alloc_compressor(6) else {
            throw .outOfResources(reason: .memory(byteCount: bytes.count))
        }
        defer { libdeflate_free_compressor(compressor) }
        let bound = libdeflate_zlib_compress_bound(compressor, bytes.count)
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            count = libdeflate_zlib_compress(compressor, bytes, bytes.count, buffer.baseAddress, bound)
        }
    }

}
