import CodingTestSupport
import CWebImageKernels
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Both ways of decoding pixels, ours and libpng's, compared with the original samples.
@Suite(.timeLimit(.minutes(3))) struct PNGPixelsTests {
    private static let sizes = [(1, 1), (1, 9), (2, 3), (3, 2), (5, 5), (7, 1), (16, 4), (33, 17), (101, 13)]

    private static func still(in data: Data) -> PNGImage? {
        var file = PNGFile()
        file.read(data.bytes)
        return file.end == .whole ? file.still : nil
    }

    private static func samples(_ count: Int, seed: Int) -> [UInt8] {
        var generator = SplitMix64(seed: UInt64(seed))
        return generator.bytes(count: count)
    }

    /// Premultiplied RGBA of 8-bit samples.
    private static func pixels(of samples: [UInt8], color: PNGLayout.ColorType, palette: [UInt8]) -> [UInt8] {
        let count = color.channelCount
        var bytes = stride(from: 0, to: samples.count, by: count).flatMap { start -> [UInt8] in
            let pixel = samples[start..<start + count]
            return switch color {
            case .gray: [pixel[start], pixel[start], pixel[start], 255]
            case .grayAlpha: [pixel[start], pixel[start], pixel[start], pixel[start + 1]]
            case .rgb: pixel + [255]
            case .rgba: Array(pixel)
            case .palette: palette[Int(pixel[start]) * 3..<Int(pixel[start]) * 3 + 3] + [255]
            }
        }
        cwi_premultiply(&bytes, bytes.count / 4)
        return bytes
    }

    @Test(arguments: sizes, [PNGLayout.ColorType.gray, .rgb, .palette, .grayAlpha, .rgba])
    func decodesEveryFilterTheSameBothWays(size: (Int, Int), color: PNGLayout.ColorType) throws {
        let size = PixelSize(width: size.0, height: size.1)
        let palette = Self.samples(256 * 3, seed: 1)
        for seed in 0..<6 {
            let rowByteCount = size.width * color.channelCount
            let samples = Self.samples(rowByteCount * size.height, seed: seed)
            // One filter for all rows, then all filters in turn.
            let filtered = PNGWriter.filtered(
                samples, rowByteCount: rowByteCount, bytesPerPixel: color.channelCount,
                filter: { seed < 5 ? UInt8(seed) : UInt8($0 % 5) })
            let data = PNGWriter.file(
                header: PNGWriter.header(size, color: color),
                chunks: color == .palette ? PNGWriter.chunk("PLTE", palette) : Data(), filtered: filtered,
                pieceByteCount: seed.isMultiple(of: 2) ? .max : 37)
            let expected = Self.pixels(of: samples, color: color, palette: palette)
            let still = try #require(Self.still(in: data))
            let fast = try #require(try PNGFastDecoder(still)?.pixels(in: data.bytes, cancellation: nil))
            #expect(Pixels(fast).bytes == expected)
            let stream = try PNGStreamDecoder(still)
            try stream.take(still.chunks, of: data.bytes, cancellation: nil)
            let slow = try stream.finish()
            #expect(stream.failure == nil)
            #expect(Pixels(slow).bytes == expected)
            #expect(slow.isOpaque == fast.isOpaque)
            #expect(fast.isOpaque == stride(from: 3, to: expected.count, by: 4).allSatisfy { expected[$0] == 255 })
        }
    }

    /// A transparent index, and indices beyond the palette.
    @Test func decodesShortPalettesTheSameBothWays() throws {
        let size = PixelSize(width: 256, height: 1)
        let chunks = PNGWriter.chunk("PLTE", Self.samples(30 * 3, seed: 2)) + PNGWriter.chunk("tRNS", [0, 7, 200])
        let data = PNGWriter.file(
            header: PNGWriter.header(size, color: .palette), chunks: chunks, filtered: [0] + Array(0...255))
        let still = try #require(Self.still(in: data))
        let fast = try #require(try PNGFastDecoder(still)?.pixels(in: data.bytes, cancellation: nil))
        let stream = try PNGStreamDecoder(still)
        try stream.take(still.chunks, of: data.bytes, cancellation: nil)
        #expect(try Pixels(fast) == Pixels(stream.finish()))
        #expect(!fast.isOpaque)
        #expect(fast[0, 0] == SIMD4(0, 0, 0, 0))
        #expect(fast[1, 0].w == 7)
        #expect(fast[255, 0] == SIMD4(0, 0, 0, 255))
    }

    /// Narrow and low images have no pixels in some passes.
    @Test(arguments: 1...9)
    func decodesInterlacedImagesOfEverySmallSize(width: Int) throws {
        for height in 1...9 {
            let size = PixelSize(width: width, height: height)
            let samples = Self.samples(size.pixelCount * 4, seed: width * 10 + height)
            let data = try Self.interlacedFile(size, samples: samples)
            let image = try PNGDecoder().decode(data, options: DecodingOptions(allowsDamage: false))
            #expect(Pixels(image.pixels).bytes == Self.pixels(of: samples, color: .rgba, palette: []), "\(size)")
            #expect(!image.isPartial)
        }
    }

    /// The seven passes of W3C PNG, third edition, 8.1.
    private static func interlacedFile(_ size: PixelSize, samples: [UInt8]) throws -> Data {
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        var filtered: [UInt8] = []
        for (left, top, stepX, stepY) in passes where left < size.width {
            for y in stride(from: top, to: size.height, by: stepY) {
                filtered.append(0)
                for x in stride(from: left, to: size.width, by: stepX) {
                    let start = (y * size.width + x) * 4
                    filtered += samples[start..<start + 4]
                }
            }
        }
        return PNGWriter.file(header: PNGWriter.header(size, color: .rgba, isInterlaced: true), filtered: filtered)
    }

    @Test func leavesUnusualImagesToLibpng() throws {
        let size = PixelSize(width: 4, height: 4)
        let whole = [UInt8](repeating: 0, count: 13 * 4)
        func pixels(_ filtered: [UInt8], _ header: Data, _ chunks: Data = Data()) throws -> PixelBuffer? {
            let data = PNGWriter.file(header: header, chunks: chunks, filtered: filtered)
            let still = try #require(Self.still(in: data))
            return try PNGFastDecoder(still)?.pixels(in: data.bytes, cancellation: nil)
        }
        let header = PNGWriter.header(size, color: .rgb)
        #expect(try pixels(whole, header) != nil)
        // A byte too few, one too many, an invalid filter, a transparent color, interlacing, 16 bits.
        #expect(try pixels(whole.dropLast(), header) == nil)
        #expect(try pixels(whole + [0], header) == nil)
        #expect(try pixels([5] + whole.dropFirst(), header) == nil)
        #expect(try pixels(whole, header, PNGWriter.chunk("tRNS", [0, 1, 0, 2, 0, 3])) == nil)
        #expect(try pixels(whole, PNGWriter.header(size, color: .rgb, isInterlaced: true)) == nil)
        #expect(try pixels(whole, PNGWriter.header(size, depth: 16, color: .gray)) == nil)
    }

    /// 4 KB decompress to 4 MB, of which 18 bytes are needed.
    @Test func decompressesNoMoreThanTheHeaderAllows() throws {
        let size = PixelSize(width: 8, height: 2)
        let data = PNGWriter.file(
            header: PNGWriter.header(size, color: .gray), filtered: [UInt8](repeating: 0, count: 1 << 22))
        let image = try PNGDecoder().decode(data, options: DecodingOptions())
        #expect(Pixels(image.pixels).bytes == (0..<64).map { $0 % 4 == 3 ? 255 : 0 })
        #expect(!image.isPartial)
    }
}
