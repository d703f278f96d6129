import CWebImageDeflate
import Foundation
import WebImageCore

@testable import WebImageCoding

/// Puts PNG files together from their parts, so that tests choose every filter, chunk and checksum.
enum PNGWriter {
    static let signature = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

    /// A chunk with its checksum.
    static func chunk(_ name: String, _ content: some Sequence<UInt8> = []) -> Data {
        let named = Data(name.utf8) + Array(content)
        let checksum = named.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) }
        return number(named.count - 4) + named + number(Int(checksum))
    }

    static func number(_ value: Int, byteCount: Int = 4) -> Data {
        Data((0..<byteCount).map { UInt8(truncatingIfNeeded: value >> (8 * (byteCount - 1 - $0))) })
    }

    /// IHDR.
    static func header(
        _ size: PixelSize, depth: Int = 8, color: PNGLayout.ColorType, isInterlaced: Bool = false
    ) -> Data {
        let content = number(size.width) + number(size.height) + [UInt8(depth), color.rawValue, 0, 0]
        return chunk("IHDR", content + [isInterlaced ? 1 : 0])
    }

    /// A zlib stream.
    static func compressed(_ bytes: [UInt8]) -> Data {
        let compressor = libdeflate_alloc_compressor(6)
        defer { libdeflate_free_compressor(compressor) }
        var output = [UInt8](repeating: 0, count: libdeflate_zlib_compress_bound(compressor, bytes.count))
        let count = libdeflate_zlib_compress(compressor, bytes, bytes.count, &output, output.count)
        return Data(output.prefix(count))
    }

    /// A file of one picture, its data in pieces of `pieceByteCount`.
    static func file(
        header: Data, chunks: Data = Data(), filtered: [UInt8], pieceByteCount: Int = .max
    ) -> Data {
        let stream = compressed(filtered)
        let pieces = stride(from: 0, to: stream.count, by: min(pieceByteCount, stream.count)).map { start in
            chunk("IDAT", stream[start..<min(stream.count, start + min(pieceByteCount, stream.count))])
        }
        return signature + header + chunks + pieces.reduce(Data(), +) + chunk("IEND")
    }

    /// Rows of `samples`, filtered with what `filter` says of each.
    static func filtered(
        _ samples: [UInt8], rowByteCount: Int, bytesPerPixel: Int, filter: (Int) -> UInt8
    ) -> [UInt8] {
        var output: [UInt8] = []
        for y in 0..<samples.count / rowByteCount {
            let kind = filter(y)
            output.append(kind)
            for x in 0..<rowByteCount {
                func sample(_ x: Int, _ y: Int) -> Int { x < 0 || y < 0 ? 0 : Int(samples[y * rowByteCount + x]) }
                let (left, above) = (sample(x - bytesPerPixel, y), sample(x, y - 1))
                let corner = sample(x - bytesPerPixel, y - 1)
                let predicted =
                    switch kind {
                    case 0: 0
                    case 1: left
                    case 2: above
                    case 3: (left + above) / 2
                    default: paeth(left, above, corner)
                    }
                output.append(UInt8(truncatingIfNeeded: sample(x, y) - predicted))
            }
        }
        return output
    }

    /// Whichever neighbour is nearest to left + above - corner (W3C PNG, third edition, 9.4).
    private static func paeth(_ left: Int, _ above: Int, _ corner: Int) -> Int {
        let estimate = left + above - corner
        return [left, above, corner].min { abs(estimate - $0) < abs(estimate - $1) } ?? 0
    }
}

extension Data {
    /// Where the chunks of a PNG named `name` begin, with their lengths.
    func chunkOffsets(of name: String) -> [Int] {
        var offsets: [Int] = []
        var offset = 8
        while offset + 12 <= count {
            if self[offset + 4..<offset + 8] == Data(name.utf8) { offsets.append(offset) }
            offset += 12 + self[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        return offsets
    }

    /// The same with a bit of a chunk's checksum turned over.
    func withWrongChecksum(ofChunkAt offset: Int) -> Data {
        var data = self
        let length = self[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        data[offset + 8 + length] ^= 1
        return data
    }
}
