import CWebImageDeflate
import Foundation
@testable import WebImageCoding
import WebImageCore

/// Writes PNG files from parts, so that tests choose every filter, chunk and checksum.
enum PNGWriter {
    static let signature = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

    static func chunk(_ name: String, _ content: some Sequence<UInt8> = []) -> Data {
        let named = Data(name.utf8) + Array(content)
        let checksum = named.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) }
        return number(named.count - 4) + named + number(Int(checksum))
    }

    static func number(_ value: Int, byteCount: Int = 4) -> Data {
        Data((0..<byteCount).map { UInt8(truncatingIfNeeded: value >> (8 * (byteCount - 1 - $0))) })
    }

    static func header(
        _ size: PixelSize, depth: Int = 8, color: PNGLayout.ColorType, isInterlaced: Bool = false
    ) -> Data {
        let content = number(size.width) + number(size.height) + [UInt8(depth), color.rawValue, 0, 0]
        return chunk("IHDR", content + [isInterlaced ? 1 : 0])
    }

    static func compressed(_ bytes: [UInt8]) -> Data {
        let compressor = libdeflate_alloc_compressor(6)
        defer { libdeflate_free_compressor(compressor) }
        var output = [UInt8](repeating: 0, count: libdeflate_zlib_compress_bound(compressor, bytes.count))
        let count = libdeflate_zlib_compress(compressor, bytes, bytes.count, &output, output.count)
        return Data(output.prefix(count))
    }

    /// A file with one image, its data in pieces of `pieceByteCount`.
    static func file(
        header: Data, chunks: Data = Data(), filtered: [UInt8], pieceByteCount: Int = .max
    ) -> Data {
        let stream = compressed(filtered)
        let pieces = stride(from: 0, to: stream.count, by: min(pieceByteCount, stream.count)).map { start in
            chunk("IDAT", stream[start..<min(stream.count, start + min(pieceByteCount, stream.count))])
        }
        return signature + header + chunks + pieces.reduce(Data(), +) + chunk("IEND")
    }

    /// Rows of `samples`, filtered with `filter` of each.
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

    /// The neighbor nearest to left + above - corner (W3C PNG, third edition, 9.4).
    private static func paeth(_ left: Int, _ above: Int, _ corner: Int) -> Int {
        let estimate = left + above - corner
        return [left, above, corner].min { abs(estimate - $0) < abs(estimate - $1) } ?? 0
    }
}

extension Data {
    /// The offsets of the chunks of a PNG named `name`, with their lengths.
    func chunkOffsets(of name: String) -> [Int] {
        var offsets: [Int] = []
        var offset = 8
        while offset + 12 <= count {
            if self[offset + 4..<offset + 8] == Data(name.utf8) { offsets.append(offset) }
            offset += 12 + self[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        return offsets
    }

    /// The file with a flipped bit in a chunk's checksum.
    func withWrongChecksum(ofChunkAt offset: Int) -> Data {
        var data = self
        let length = self[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        data[offset + 8 + length] ^= 1
        return data
    }
}

/// An APNG of frames of one color, 4 by 4 pixels, chunk by chunk: tests remove, duplicate or change chunks.
struct APNGWriter {
    static let size = PixelSize(width: 4, height: 4)

    /// The chunks between the header and the end.
    var chunks: [Data] = []

    private var number = 0

    /// - Parameter claimedCount: the number of frames in acTL.
    init(claimedCount: Int, plays: Int = 0) {
        chunks.append(PNGWriter.chunk("acTL", PNGWriter.number(claimedCount) + PNGWriter.number(plays)))
    }

    /// The default image.
    mutating func addStill(gray: UInt8) { chunks.append(PNGWriter.chunk("IDAT", Self.stream(gray, Self.size))) }

    /// fcTL; its number counts up by default.
    mutating func addHeader(
        _ size: PixelSize = size, left: Int = 0, top: Int = 0, delay: (Int, Int) = (1, 10), disposal: UInt8 = 0,
        blend: UInt8 = 0, number: Int? = nil
    ) {
        let position = [size.width, size.height, left, top].map { PNGWriter.number($0) }.reduce(Data(), +)
        let times = PNGWriter.number(delay.0, byteCount: 2) + PNGWriter.number(delay.1, byteCount: 2)
        chunks.append(
            PNGWriter.chunk("fcTL", PNGWriter.number(number ?? next()) + position + times + [disposal, blend]))
    }

    mutating func addData(gray: UInt8, _ size: PixelSize = size, number: Int? = nil) {
        chunks.append(PNGWriter.chunk("fdAT", PNGWriter.number(number ?? next()) + Self.stream(gray, size)))
    }

    private mutating func next() -> Int {
        number += 1
        return number - 1
    }

    var data: Data {
        PNGWriter.signature + PNGWriter.header(Self.size, color: .gray) + chunks.reduce(Data(), +)
            + PNGWriter.chunk("IEND")
    }

    private static func stream(_ gray: UInt8, _ size: PixelSize) -> Data {
        PNGWriter.compressed((0..<size.height).flatMap { _ in [0] + [UInt8](repeating: gray, count: size.width) })
    }

    /// Three frames, the first of which is the default image, in a valid file:
    ///
    ///     0 acTL   1 fcTL   2 IDAT   3 fcTL   4 fdAT   5 fcTL   6 fdAT
    static var threeFrames: APNGWriter {
        var writer = APNGWriter(claimedCount: 3, plays: 7)
        writer.addHeader()
        writer.addStill(gray: 10)
        writer.addHeader(delay: (1, 4))
        writer.addData(gray: 20)
        writer.addHeader()
        writer.addData(gray: 30)
        return writer
    }
}

/// A GIF of one color in which each LZW code is the one that its own step defines: a string one longer than the last.
///
/// So `n` codes make about `n²/2` pixels, the densest GIF: 4 million fit in 4 KB.
func solidGIF(width: Int, height: Int) -> Data {
    var packed = BitWriter()
    var (codeSize, nextCode) = (3, 6)
    packed.write(4, count: codeSize)
    packed.write(0, count: codeSize)
    var (filled, length) = (1, 1)
    while filled < width * height {
        packed.write(nextCode, count: codeSize)
        nextCode += 1
        if nextCode == 1 << codeSize { codeSize += 1 }
        length += 1
        filled += length
    }
    precondition(nextCode < 4096, "more pixels than one table holds")

    func number(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }
    let sides = number(width) + number(height)
    var data = Data("GIF89a".utf8)
    // The screen and a palette of two colors, then the frame and its code size.
    data += sides + [0x80, 0, 0, 200, 100, 50, 0, 0, 0]
    data += [0x2C, 0, 0, 0, 0] + sides + [0, 2]
    let bytes = packed.bytes
    for start in stride(from: 0, to: bytes.count, by: 255) {
        let block = bytes[start..<min(start + 255, bytes.count)]
        data.append(UInt8(block.count))
        data += block
    }
    data += [0, 0x3B]
    return data
}

/// Packs numbers lowest bit first.
struct BitWriter {
    private var whole: [UInt8] = []
    private var bits = 0
    private var bitCount = 0

    /// The last byte is padded with zeros.
    var bytes: [UInt8] { bitCount > 0 ? whole + [UInt8(bits)] : whole }

    mutating func write(_ value: Int, count: Int) {
        bits |= value << bitCount
        bitCount += count
        while bitCount >= 8 {
            whole.append(UInt8(bits & 0xFF))
            bits >>= 8
            bitCount -= 8
        }
    }
}

extension Data {
    /// The chunks of a WebP, each from its name to its last byte.
    var webpChunks: [(name: String, range: Range<Int>)] {
        var chunks: [(name: String, range: Range<Int>)] = []
        var offset = 12
        while offset + 8 <= count {
            let length = (0..<4).reduce(0) { $0 | Int(self[offset + 4 + $1]) << (8 * $1) }
            let name = String(decoding: self[offset..<offset + 4], as: UTF8.self)
            chunks.append((name, offset..<Swift.min(offset + 8 + length, count)))
            offset += 8 + length + length % 2
        }
        return chunks
    }

    init(littleEndian number: Int, byteCount: Int) {
        self.init((0..<byteCount).map { (place: Int) -> UInt8 in UInt8(truncatingIfNeeded: number >> (place * 8)) })
    }

    static func webpChunk(_ name: String, _ content: some Collection<UInt8>) -> Data {
        var chunk = Data()
        chunk.appendWebPChunk(name, content)
        return chunk
    }

    mutating func appendWebPChunk(_ name: String, _ content: some Collection<UInt8>) {
        append(contentsOf: name.utf8)
        append(Data(littleEndian: content.count, byteCount: 4))
        append(contentsOf: content)
        if content.count % 2 == 1 { append(0) }
    }

    /// Sets the length in a WebP's header.
    mutating func setRIFFLength() {
        let length = count - 8
        replaceSubrange(4..<8, with: Data(littleEndian: length, byteCount: 4))
    }
}
