import CodingTestSupport
import CWebImageKernels
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// How PNG files are written.
@Suite(.timeLimit(.minutes(3))) struct PNGEncoderTests {
    @Test(arguments: [3, 4])
    func choosesTheBestFilterForEachRow(bytesPerPixel: Int) {
        var generator = SplitMix64(seed: 3)
        var usedFilters: Set<UInt8> = []
        for width in Array(1...20) + [65, 130] {
            for kind in 0..<6 {
                let count = width * bytesPerPixel
                // Noise in small steps, so that each filter is sometimes the best.
                var samples = (0..<count * 2).map { _ in UInt8.random(in: 0...(kind == 0 ? 2 : 255), using: &generator)
                }
                for x in 0..<count where kind > 0 {
                    let (left, above) = (x < bytesPerPixel ? 0 : samples[count + x - bytesPerPixel], samples[x])
                    let base = kind < 3 ? left : kind < 5 ? above : left / 2 + above / 2
                    samples[count + x] = base &+ UInt8.random(in: 0...3, using: &generator)
                }
                func filtered(_ filter: UInt8) -> [UInt8] {
                    let rows = PNGWriter.filtered(
                        samples, rowByteCount: count, bytesPerPixel: bytesPerPixel, filter: { _ in filter })
                    return rows.suffix(count + 1)
                }
                let sums = (UInt8(0)...4).map {
                    filtered($0).dropFirst().reduce(0) { $0 + abs(Int(Int8(bitPattern: $1))) }
                }
                var output = [UInt8](repeating: 99, count: count + 2)
                var scratch = [UInt8](repeating: 0, count: count)
                cwi_png_filter(
                    Array(samples.suffix(count)), Array(samples.prefix(count)), &output, &scratch, count, bytesPerPixel)
                let best = UInt8(sums.firstIndex(of: sums.min() ?? 0) ?? 0)
                #expect(output == filtered(best) + [99], "\(width) pixels")
                usedFilters.insert(output[0])
            }
        }
        #expect(usedFilters == [0, 1, 2, 3, 4])
    }

    /// Our own decoder could share a mistake with the encoder.
    @Test(arguments: [(1, 1), (5, 3), (64, 40), (101, 7), (700, 800)], [true, false])
    func writesFilesThatLibpngReads(size: (Int, Int), isOpaque: Bool) throws {
        var generator = SplitMix64(seed: 8)
        var bytes = generator.bytes(count: size.0 * size.1 * 4)
        if isOpaque { for alpha in stride(from: 3, to: bytes.count, by: 4) { bytes[alpha] = 255 } }
        cwi_premultiply(&bytes, bytes.count / 4)
        let pixels = Pixels(size: PixelSize(width: size.0, height: size.1), bytes: bytes)
        let data = try PNGEncoder().encode(
            Image(pixels: pixels.buffer(isOpaque: isOpaque)), options: EncodingOptions())
        var file = PNGFile()
        file.read(data.bytes)
        let still = try #require(file.still)
        #expect(file.end == .whole)
        #expect(still.layout.colorType == (isOpaque ? .rgb : .rgba))
        let stream = try PNGStreamDecoder(still)
        try stream.take(still.chunks, of: data.bytes, cancellation: nil)
        #expect(stream.failure == nil)
        #expect(try Pixels(stream.finish()) == pixels)
        #expect(data.chunkOffsets(of: "sRGB").count == 1)
    }

    /// The pieces end with blocks of all kinds: without compression, with the format's codes, and with codes of their own.
    @Test(arguments: [0, 1, 6, 9, 12], [1, 7, 256])
    func joinsThePiecesOfALargeImage(level: Int, shadeCount: Int) throws {
        var generator = SplitMix64(seed: UInt64(shadeCount))
        var buffer = try MutablePixelBuffer(width: 1000, height: 1100)
        let shades = generator.bytes(count: 1000 * 1100).map { Int($0) * shadeCount / 256 }
        buffer.withUnsafeMutableBytes { bytes in
            for (index, shade) in shades.enumerated() {
                for channel in 0..<3 { bytes[index * 4 + channel] = UInt8(shade) }
                bytes[index * 4 + 3] = 255
            }
        }
        let pixels = buffer.freeze(isOpaque: true)
        let data = try PNGEncoder().encode(
            Image(pixels: pixels), options: EncodingOptions().with { $0.pngLevel = level })
        #expect(try Pixels(PNGDecoder().decode(data, options: DecodingOptions()).pixels) == Pixels(pixels))
        var file = PNGFile()
        file.read(data.bytes)
        let still = try #require(file.still)
        let stream = try PNGStreamDecoder(still)
        try stream.take(still.chunks, of: data.bytes, cancellation: nil)
        #expect(stream.failure == nil)
        #expect(try Pixels(stream.finish()) == Pixels(pixels))
    }

    @Test func aCancelledImageIsNotCompressed() throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        let pixels = try MutablePixelBuffer(width: 2100, height: 2000).freeze(isOpaque: false)
        let encoder = PNGPixelEncoder(pixels, hasAlpha: true, options: EncodingOptions())
        #expect(throws: WebImageError.cancelled) { try encoder.compressed(cancellation: cancellation) }
    }
}

/// The kernels that undo PNG's filters.
@Suite(.timeLimit(.minutes(3))) struct UnfilterTests {
    @Test(arguments: UInt8(0)...4, [1, 2, 3, 4, 6, 8])
    func undoesEveryFilterOnEveryProcessor(filter: UInt8, bytesPerPixel: Int) {
        var generator = SplitMix64(seed: UInt64(filter) * 10 + UInt64(bytesPerPixel))
        for width in Array(1...20) + [63, 64, 65, 201] {
            let count = width * bytesPerPixel
            let samples = generator.bytes(count: count * 2)
            let filtered = PNGWriter.filtered(
                samples, rowByteCount: count, bytesPerPixel: bytesPerPixel, filter: { _ in filter })
            let source = Array(filtered.suffix(count))
            let above = Array(samples.prefix(count))
            // Bytes after the row must not change.
            var row = [UInt8](repeating: 99, count: count + 8)
            var portable = row
            #expect(cwi_png_unfilter(filter, source, above, &row, count, bytesPerPixel))
            #expect(cwi_png_unfilter_portable(filter, source, above, &portable, count, bytesPerPixel))
            let expected = Array(samples.suffix(count)) + [UInt8](repeating: 99, count: 8)
            #expect(row == expected, "\(width) pixels")
            #expect(portable == expected, "\(width) pixels")
        }
    }

    @Test func refusesInvalidFilters() {
        var row: [UInt8] = [1, 2, 3]
        #expect(!cwi_png_unfilter(5, [4, 5, 6], [7, 8, 9], &row, 3, 3))
        #expect(!cwi_png_unfilter_portable(5, [4, 5, 6], [7, 8, 9], &row, 3, 3))
        #expect(row == [1, 2, 3])
    }

    @Test(arguments: Array(0...40) + [100])
    func spreadsOtherPixelsToFourBytes(count: Int) {
        var generator = SplitMix64(seed: UInt64(count))
        let bytes = generator.bytes(count: count * 3)
        let palette = (0..<256).map { _ in UInt32.random(in: 0 ... .max, using: &generator) }
        func spread(_ kernel: (inout [UInt8]) -> Void) -> [UInt8] {
            var pixels = [UInt8](repeating: 99, count: count * 4 + 4)
            kernel(&pixels)
            #expect(pixels.suffix(4) == [99, 99, 99, 99])
            return pixels.dropLast(4)
        }
        func expected(_ pixel: (Int) -> [UInt8]) -> [UInt8] { (0..<count).flatMap(pixel) }
        let rgb = spread { cwi_rgb_to_rgba(bytes, &$0, count) }
        #expect(rgb == expected { bytes[$0 * 3..<$0 * 3 + 3] + [255] })
        let gray = spread { cwi_gray_to_rgba(bytes, &$0, count) }
        #expect(gray == expected { [bytes[$0], bytes[$0], bytes[$0], 255] })
        let grayAlpha = spread { cwi_gray_alpha_to_rgba(bytes, &$0, count) }
        #expect(grayAlpha == expected { [bytes[$0 * 2], bytes[$0 * 2], bytes[$0 * 2], bytes[$0 * 2 + 1]] })
        let colors = spread { cwi_indices_to_rgba(bytes, palette, &$0, count) }
        #expect(
            colors
                == expected { index in
                    let word = palette[Int(bytes[index])]
                    return [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) }
                })
    }
}
