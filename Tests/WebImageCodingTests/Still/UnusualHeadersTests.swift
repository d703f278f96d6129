import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Files that break a rule of their format's headers, and that other programs read.
@Suite(.timeLimit(.minutes(3))) struct UnusualHeadersTests {
    private let registry = CodecRegistry()

    // MARK: JPEG

    /// The offsets of the markers before the first scan, and of its own.
    private func markers(of jpeg: Data) -> [Int] {
        var (offsets, offset): ([Int], Int) = ([], 2)
        while jpeg[offset + 1] != 0xDA {
            offsets.append(offset)
            offset += 2 + Int(jpeg[offset + 2]) << 8 + Int(jpeg[offset + 3])
        }
        return offsets + [offset]
    }

    @Test(
        arguments: ["baseline-420.jpg", "baseline-444.jpg", "progressive-420.jpg"],
        [[0x00], [0x12, 0x34, 0x00], [0xFF, 0xFF, 0xFF], [0xFF, 0x00, 0x5A], Array(repeating: 0x20, count: 300)])
    func strayBytesBetweenSegmentsAreSkipped(name: String, stray: [UInt8]) throws {
        let original = try Fixture(name).data()
        let expected = Pixels(try registry.decode(original).pixels)
        for place in markers(of: original) {
            var data = original
            data.insert(contentsOf: stray, at: place)
            let options = DecodingOptions(allowsDamage: false)
            #expect(Pixels(try registry.decode(data, options: options).pixels) == expected)
            #expect(try registry.info(of: data).size == expected.size)
            let incremental = try #require(JPEGDecoder().makeIncrementalDecoder(options: options))
            #expect(Pixels(try incremental.decode(data, inPiecesOf: 97).pixels) == expected)
        }
    }

    // MARK: BMP

    /// As `rletopdown` of bmpsuite.
    @Test(arguments: ["bmp-rle8.bmp", "bmp-rle4.bmp"]) func runsMayGoFromTheTopDown(name: String) throws {
        var data = try Fixture(name).data()
        let upright = try registry.decode(data).pixels
        let height = -upright.height
        data.replaceSubrange(22..<26, with: (0..<4).map { UInt8(truncatingIfNeeded: height >> (8 * $0)) })
        let flipped = try registry.decode(data, options: DecodingOptions(allowsDamage: false)).pixels
        #expect(flipped.size == upright.size)
        for y in 0..<upright.height {
            for x in 0..<upright.width { #expect(flipped[x, y] == upright[x, upright.height - 1 - y]) }
        }
    }

    /// As `badheadersize` of bmpsuite.
    @Test func aHeaderMayHaveAnySize() throws {
        let original = try Fixture("bmp-24.bmp").data()
        for added in [26, 60] {
            var data = original
            data.insert(contentsOf: Array(repeating: 0, count: added), at: 54)
            data[14] = UInt8(40 + added)
            data[10] = UInt8(54 + added)
            #expect(Pixels(try registry.decode(data).pixels) == Pixels(try registry.decode(original).pixels))
        }
    }

    // MARK: ICO

    @Test(arguments: [0, 1, 17, 0xFFFF_FFFF]) func lengthsInAnIconAreIgnored(length: Int) throws {
        let original = try Fixture("sizes.ico").data()
        var data = original
        for entry in 0..<3 {
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
            data.replaceSubrange(14 + entry * 16..<18 + entry * 16, with: bytes)
        }
        for page in 0..<3 {
            var options = DecodingOptions(allowsDamage: false)
            options.page = page
            let expected = try registry.decode(original, options: options).pixels
            #expect(Pixels(try registry.decode(data, options: options).pixels) == Pixels(expected))
        }
        #expect(try registry.info(of: data).pageCount == 3)
    }

    // MARK: GIF

    @Test func theLastLoopCountCounts() throws {
        var data = try Fixture("gif-mixed.gif").data()
        let name = try #require(data.firstRange(of: Data("NETSCAPE2.0".utf8)))
        let block = name.lowerBound - 3..<name.upperBound + 5
        data.replaceSubrange(name.upperBound + 2..<name.upperBound + 4, with: [3, 0])
        var second = data[block]
        second[second.startIndex + 16] = 7
        data.insert(contentsOf: second, at: block.upperBound)
        #expect(try registry.info(of: data).loopCount == 8)
    }
}
