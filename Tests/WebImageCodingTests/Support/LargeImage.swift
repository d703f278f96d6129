import Foundation
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Files of 12 megapixels that are fast to make: of one color where that does not change the memory of decoding.
enum LargeImage {
    static let size = PixelSize(width: 4000, height: 3000)

    private static let files = LockBox<[String: Data]>([:])

    /// Makes a file once for all tests.
    private static func cached(_ name: String, _ make: () throws -> Data) rethrows -> Data {
        if let file = files.withLock({ $0[name] }) { return file }
        let file = try make()
        files.withLock { $0[name] = file }
        return file
    }

    static func jpeg() throws -> Data {
        try cached("jpeg") { try JPEGEncoder().encode(image(), options: EncodingOptions()) }
    }

    /// The same, rotated.
    static func rotatedJPEG() throws -> Data {
        // A TIFF with one entry: orientation (0x112), one 16-bit number, 6.
        let tiff: [UInt8] = [
            0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,
        ]
        let content = Data("Exif".utf8) + [0, 0] + tiff
        return try Data([0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(content.count + 2)]) + content + jpeg().dropFirst(2)
    }

    static let fiftyMegapixels = PixelSize(width: 8660, height: 5773)

    /// A gray progressive JPEG (ITU-T T.81, annex G) with the components of color or CMYK.
    ///
    /// - Parameter isSubsampled: whether all but the first have half the sides.
    static func progressiveJPEG(
        size: PixelSize = size, componentCount: Int = 3, isSubsampled: Bool = true
    ) -> Data {
        func marker(_ code: UInt8, _ content: [UInt8]) -> Data {
            Data([0xFF, code]) + PNGWriter.number(content.count + 2, byteCount: 2) + content
        }
        let sides = PNGWriter.number(size.height, byteCount: 2) + PNGWriter.number(size.width, byteCount: 2)
        let factor = isSubsampled ? 2 : 1
        let unitCount =
            ((size.width + 8 * factor - 1) / (8 * factor)) * ((size.height + 8 * factor - 1) / (8 * factor))
        let components = (1...componentCount).map { UInt8($0) }
        let sampling: (UInt8) -> UInt8 = { $0 == 1 && isSubsampled ? 0x22 : 0x11 }
        var data = Data([0xFF, 0xD8]) + marker(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        data += marker(0xC2, [8] + sides + [UInt8(componentCount)] + components.flatMap { [$0, sampling($0), 0] })
        // One code of one bit: no difference from the previous block.
        data += marker(0xC4, [0x00, 1] + [UInt8](repeating: 0, count: 15) + [0])
        // Fifteen of four bits: a run of 2^n blocks without more. Their extra bits are all zero here.
        data += marker(0xC4, [0x10, 0, 0, 0, 15] + [UInt8](repeating: 0, count: 12) + (0..<15).map { $0 << 4 })
        data += marker(0xDA, [UInt8(componentCount)] + components.flatMap { [$0, 0] } + [0, 0, 0])
        data += Data(count: (unitCount * (factor * factor + componentCount - 1) + 7) / 8)
        for component in components {
            let count = component == 1 ? (size.width + 7) / 8 * ((size.height + 7) / 8) : unitCount
            data += marker(0xDA, [1, component, 0, 1, 63, 0])
            var bits = ""
            for power in stride(from: 14, through: 0, by: -1) {
                let code = String(power, radix: 2)
                let run = String(repeating: "0", count: 4 - code.count) + code + String(repeating: "0", count: power)
                bits += String(repeating: run, count: power == 14 ? count >> 14 : count >> power & 1)
            }
            bits += String(repeating: "0", count: (8 - bits.count % 8) % 8)
            let digits = Array(bits)
            data += stride(from: 0, to: digits.count, by: 8).map { UInt8(String(digits[$0..<$0 + 8]), radix: 2) ?? 0 }
        }
        return data + [0xFF, 0xD9]
    }

    /// A PNG with this many frames; several are an APNG.
    static func png(
        _ color: PNGLayout.ColorType, depth: Int = 8, isInterlaced: Bool = false, frameCount: Int = 1
    ) -> Data {
        let bitCount = color.channelCount * depth
        // The passes start at column and row x, y, every dx and dy (W3C PNG, third edition, 8.1).
        let passes =
            isInterlaced
            ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
            : [(0, 0, 1, 1)]
        let byteCount = passes.reduce(0) { sum, pass in
            let (width, height) = (
                (size.width - pass.0 + pass.2 - 1) / pass.2, (size.height - pass.1 + pass.3 - 1) / pass.3
            )
            return sum + ((width * bitCount + 7) / 8 + 1) * height
        }
        let stream = cached("stream \(byteCount)") {
            PNGWriter.compressed([UInt8](repeating: 0, count: byteCount))
        }
        var data = PNGWriter.signature
        data += PNGWriter.header(size, depth: depth, color: color, isInterlaced: isInterlaced)
        if color == .palette { data += PNGWriter.chunk("PLTE", [10, 20, 30, 40, 50, 60]) }
        if frameCount > 1 { data += PNGWriter.chunk("acTL", PNGWriter.number(frameCount) + PNGWriter.number(0)) }
        for frame in 0..<frameCount {
            let sequence = max(0, frame * 2 - 1)
            if frameCount > 1 {
                let geometry = [sequence, size.width, size.height, 0, 0].map { PNGWriter.number($0) }.reduce(Data(), +)
                data += PNGWriter.chunk("fcTL", geometry + [0, 1, 0, 10, 0, 0])
            }
            data +=
                frame == 0
                ? PNGWriter.chunk("IDAT", stream) : PNGWriter.chunk("fdAT", PNGWriter.number(sequence + 1) + stream)
        }
        return data + PNGWriter.chunk("IEND")
    }

    static func lossyWebP(hasAlpha: Bool = false) throws -> Data {
        try cached("lossy \(hasAlpha)") {
            try WebPEncoder().encode(
                image(alpha: hasAlpha ? 0x80 : 0xFF), options: EncodingOptions(quality: 0.1).with { $0.webPEffort = 0 })
        }
    }

    /// A lossless WebP with random bits (RFC 9649, 3): with one color it would have no bits for its pixels.
    static func losslessWebP() -> Data { riff([("VP8L", losslessChunk())]) }

    /// A lossless WebP with this many frames, each of which covers the canvas.
    static func animatedWebP(frameCount: Int) -> Data {
        let image = Data.webpChunk("VP8L", losslessChunk())
        let sides = Data(littleEndian: size.width - 1, byteCount: 3) + Data(littleEndian: size.height - 1, byteCount: 3)
        let frame = Data([0, 0, 0, 0, 0, 0]) + sides + [100, 0, 0, 2] + image
        return riff(
            [("VP8X", Data([2, 0, 0, 0]) + sides), ("ANIM", Data([0, 0, 0, 0, 0, 0]))]
                + (0..<frameCount).map { _ in ("ANMF", frame) })
    }

    /// A GIF with this many frames of about 8 megapixels, which fill the code table.
    static func gif(frameCount: Int = 1) -> Data {
        let still = cached("gif") { solidGIF(width: 2900, height: 2800) }
        // The screen and its two colors come first, the trailer last.
        let frame = still[19..<still.count - 1]
        return still.prefix(19) + (0..<frameCount).map { _ in frame }.reduce(Data(), +) + [0x3B]
    }

    private static func losslessChunk() -> Data { cached("lossless", makeLosslessChunk) }

    private static func makeLosslessChunk() -> Data {
        var header = BitWriter()
        header.write(0x2F, count: 8)
        header.write(size.width - 1, count: 14)
        header.write(size.height - 1, count: 14)
        // Opaque, version 0; no transforms, no color cache, one set of codes.
        header.write(0, count: 4)
        header.write(0, count: 3)
        // Green is one of two values, one bit each; the others have one value and need none.
        header.write(0b111, count: 3)
        header.write(10, count: 8)
        header.write(200, count: 8)
        for value in [50, 100, 255] {
            header.write(0b101, count: 3)
            header.write(value, count: 8)
        }
        header.write(0b0001, count: 4)
        var random = SplitMix64(seed: 1)
        var data = Data(header.bytes)
        for _ in 0..<size.pixelCount / 64 + 1 { withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) } }
        return data
    }

    private static func riff(_ chunks: [(name: String, content: Data)]) -> Data {
        let content = chunks.reduce(Data("WEBP".utf8)) { $0 + Data.webpChunk($1.name, $1.content) }
        var data = Data("RIFF".utf8) + [0, 0, 0, 0] + content
        data.setRIFFLength()
        return data
    }

    /// Squares of 8 by 8 pixels, so that block codecs have something to encode.
    static func image(size: PixelSize = size, alpha: UInt8 = 0xFF) throws -> Image {
        var random = SplitMix64(seed: 2)
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        let rowByteCount = pixels.bytesPerRow
        pixels.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            for y in stride(from: 0, to: size.height, by: 8) {
                let row = start + y * rowByteCount
                for x in stride(from: 0, to: rowByteCount, by: 32) {
                    let word = UInt32(truncatingIfNeeded: random.next()) & 0x3F_3F3F | UInt32(alpha) << 24
                    (row + x).initializeMemory(as: UInt32.self, repeating: word, count: 8)
                }
                for copy in 1..<8 where y + copy < size.height {
                    (row + copy * rowByteCount).copyMemory(from: row, byteCount: rowByteCount)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: alpha == 0xFF))
    }
}
