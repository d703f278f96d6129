import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Segments whose length is wrong: what libjpeg passes over is passed over, and what it can't read is damage.
@Suite struct JPEGSegmentTests {
    /// A length below 2 counts not even itself; others end before or behind the comment's end.
    @Test(arguments: [0xFE, 0xE1, 0xE2, 0xEE, 0xDC] as [UInt8], [0, 1, 2, 5])
    func aCommentOfAWrongLengthIsPassedOver(_ marker: UInt8, length: UInt8) throws {
        for name in ["baseline-420.jpg", "progressive-420.jpg", "orientation-6.jpg"] {
            var data = try Fixture(name).data()
            let whole = try JPEGDecoder().decode(data, options: DecodingOptions())
            data.insert(contentsOf: [0xFF, marker, 0, length] + Data("a comment".utf8), at: 2)
            let image = try JPEGDecoder().decode(data, options: DecodingOptions(damage: .refuse))
            #expect(Pixels(image.pixels) == Pixels(whole.pixels), "\(name)")
            #expect(try JPEGDecoder().info(of: data).size == whole.pixels.size)
            #expect(try JPEGDecoder().probe(data)?.size == whole.pixels.size)
            let decoder = try #require(JPEGDecoder().makeIncrementalDecoder(options: DecodingOptions()))
            #expect(try Pixels(decoder.decode(data, inPiecesOf: 100).pixels) == Pixels(whole.pixels), "\(name)")
        }
    }

    @Test(arguments: [0xDB, 0xC4, 0xDD, 0xC0] as [UInt8]) func aTableOfAWrongLengthIsDamage(_ marker: UInt8) throws {
        var data = try Fixture("baseline-420.jpg").data()
        data.insert(contentsOf: [0xFF, marker, 0, 1], at: 2)
        #expect(throws: WebImageError.self) { try JPEGDecoder().decode(data, options: DecodingOptions()) }
    }
}
