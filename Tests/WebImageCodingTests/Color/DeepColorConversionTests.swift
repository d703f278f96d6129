import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(3))) struct DeepColorConversionTests {
    /// Converts a row of straight RGBA, repeated in eight rows.
    private func converted(_ pixels: [SIMD4<UInt16>], _ encoding: ColorEncoding = .sRGB) throws -> PixelBuffer {
        let size = PixelSize(width: pixels.count, height: 8)
        let rows = Array(repeating: pixels, count: size.height).flatMap { $0 }
        return try rows.withUnsafeBytes { bytes -> Result<PixelBuffer, WebImageError> in
            Result { () throws(WebImageError) in
                guard let start = bytes.baseAddress else { throw .cancelled }
                return try DeepColorConversion(from: encoding).pixels(
                    from: start, bytesPerRow: pixels.count * 8, size: size, cancellation: nil)
            }
        }.get()
    }

    private func gray(_ level: UInt16) -> SIMD4<UInt16> { SIMD4(level, level, level, 65_535) }

    private func codePoints(_ primaries: UInt8, _ transfer: UInt8) throws -> ColorEncoding {
        try #require(ColorCodePoints(primaries: primaries, transfer: transfer).encoding)
    }

    /// The mean of a column, which dithering keeps.
    private func mean(_ pixels: PixelBuffer, _ x: Int) -> Double {
        (0..<8).reduce(0) { $0 + Double(pixels[x, $1].x) } / 8
    }

    @Test func levelsOfEightBitsStayExact() throws {
        let pixels = try converted((0...255).map { gray($0 * 257) })
        #expect(pixels.isOpaque)
        for x in 0...255 {
            for y in 0..<8 { #expect(pixels[x, y] == SIMD4(UInt8(x), UInt8(x), UInt8(x), 255)) }
        }
    }

    @Test func ditheringKeepsTheMean() throws {
        let levels = (0..<64).map { UInt16(30_000 + $0 * 16) }
        let pixels = try converted(levels.flatMap { Array(repeating: gray($0), count: 8) })
        for (index, level) in levels.enumerated() {
            // A block of 8 × 8 has all thresholds.
            let sum = (0..<8).reduce(0.0) { $0 + mean(pixels, index * 8 + $1) }
            #expect(abs(sum / 8 - Double(level) / 257) < 0.02)
        }
    }

    @Test func colorsNeverExceedAlpha() throws {
        let pixels = try converted((0..<200).map { SIMD4(65_535, 40_000, 0, UInt16($0 * 300)) })
        #expect(!pixels.isOpaque)
        for x in 0..<200 {
            for y in 0..<8 {
                let pixel = pixels[x, y]
                #expect(pixel.x <= pixel.w && pixel.y <= pixel.w && pixel.z <= pixel.w)
            }
        }
    }

    /// As with 8 bits, and in browsers.
    @Test func colorsOutsideAreClippedPerChannel() throws {
        let encoding = try codePoints(12, 13)
        let levels: [UInt8] = [0, 60, 128, 200, 255]
        var bytes: [UInt8] = []
        for red in levels {
            for green in levels { for blue in levels { bytes += [red, green, blue, 255] } }
        }
        func deepPixel(_ index: Int) -> SIMD4<UInt16> {
            SIMD4(truncatingIfNeeded: SIMD4(bytes[index], bytes[index + 1], bytes[index + 2], 255)) &* 257
        }
        let count = bytes.count / 4
        let deep = try converted((0..<count).map { deepPixel($0 * 4) }, encoding)
        let transform = try #require(encoding.makeTransform(model: .rgb))
        var shallow = bytes
        transform.convert(bytes, to: &shallow, pixelCount: count)
        for x in 0..<count {
            for (channel, value) in [deep[x, 0].x, deep[x, 0].y, deep[x, 0].z].enumerated() {
                #expect(abs(Int(value) - Int(shallow[x * 4 + channel])) <= 1)
            }
        }
        let neutral = try converted((0..<64).map { gray(UInt16($0 * 1_040)) }, encoding)
        for x in 0..<64 {
            let pixel = neutral[x, 3]
            #expect(abs(Int(pixel.x) - Int(pixel.y)) <= 1 && abs(Int(pixel.y) - Int(pixel.z)) <= 1)
            #expect(abs(Int(pixel.x) - x * 1_040 / 257) <= 1)
        }
    }

    /// From black to the brightest red that a display of BT.2020 has, without an edge.
    @Test(arguments: [UInt8(16), 18]) func saturatedHDRStaysRed(transfer: UInt8) throws {
        let peak = transfer == 16 ? 49271.0 : 65_535.0
        let levels = (0...200).map { UInt16(peak * Double($0) / 200) }
        let pixels = try converted(levels.map { SIMD4($0, 0, 0, 65_535) }, codePoints(9, transfer))
        for x in levels.indices {
            #expect(pixels[x, 0].y == 0 && pixels[x, 0].z == 0)
            if x > 0 { #expect((-1...9).contains(mean(pixels, x) - mean(pixels, x - 1))) }
        }
        #expect(pixels[200, 0] == SIMD4(255, 0, 0, 255))
    }

    /// A profile with color tables goes through lcms2 with all bits.
    @Test func tablesAndCurvesOfGrayKeepAllBits() throws {
        for name in ["table.png", "gray.png"] {
            let data = try Data(
                contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/" + name))
            let profile = try #require(try PNGDecoder().colorProfile(of: data))
            let conversion = ColorConversion(from: .profile(profile), model: profile.model)
            let deep = DeepColorConversion(from: .profile(profile), model: profile.model)
            #expect(!deep.isIdentity)
            var (bytes, pixels): ([UInt8], [UInt16]) = ([], [])
            for level in UInt8.min...UInt8.max {
                bytes += [level, level, level, 255]
                pixels += [level, level, level, 255].map { UInt16($0) * 257 }
            }
            var buffer = try MutablePixelBuffer(width: 256, height: 1)
            buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
            let shallow = try conversion.convertedToSRGB(buffer.freeze(isOpaque: true))
            var output = [UInt8](repeating: 0, count: 1024)
            #expect(deep.convert(pixels, to: &output, count: 256, row: 0))
            for index in 0..<1024 {
                let expected = shallow[index / 4, 0][index % 4]
                #expect(abs(Int(output[index]) - Int(expected)) <= 2, "\(name) \(index)")
            }
        }
    }

    /// Levels of SMPTE ST 2084 for 10, 50 and 90 cd/m², all below the knee, and sRGB's levels of a 203rd of them.
    @Test(arguments: [(UInt16(19641), 62.7), (28854, 136.0), (32606, 177.7)])
    func darkTonesOfPQKeepTheirLight(level: UInt16, expected: Double) throws {
        let pixels = try converted(Array(repeating: gray(level), count: 8), codePoints(9, 16))
        let sum = (0..<8).reduce(0.0) { $0 + mean(pixels, $1) }
        #expect(abs(sum / 8 - expected) < 0.6)
    }

    @Test(arguments: [UInt8(16), 18]) func hdrIsMappedToTheWholeRange(transfer: UInt8) throws {
        let encoding = try codePoints(9, transfer)
        // PQ reaches 1,000 cd/m² at this level, HLG at the highest.
        let peak = transfer == 16 ? 49271.0 : 65_535.0
        let pixels = try converted((0...100).map { gray(UInt16(peak * Double($0) / 100)) }, encoding)
        #expect(mean(pixels, 0) == 0 && mean(pixels, 100) == 255)
        for x in 1...100 { #expect(mean(pixels, x) >= mean(pixels, x - 1) - 0.5) }
        for x in 10...100 where x % 10 == 0 { #expect(mean(pixels, x) > mean(pixels, x - 10)) }
    }

    /// A PNG has such levels of 8 bits.
    @Test func eightBitsOfHDRAreConvertedLikeSixteen() throws {
        let encoding = try codePoints(9, 16)
        let levels = (0...25).map { UInt8($0 * 7) }
        var buffer = try MutablePixelBuffer(width: levels.count, height: 1)
        buffer.withUnsafeMutableBytes { bytes in
            for (x, level) in levels.enumerated() {
                for channel in 0..<3 { bytes[x * 4 + channel] = level }
                bytes[x * 4 + 3] = 255
            }
        }
        let shallow = try ColorConversion(from: encoding).convertedToSRGB(buffer.freeze(isOpaque: true))
        let deep = try converted(levels.map { gray(UInt16($0) * 257) }, encoding)
        for x in levels.indices { #expect(abs(Int(shallow[x, 0].x) - Int(deep[x, 0].x)) <= 1) }
    }
}
