import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Icons with more images than any program writes.
@Suite(.timeLimit(.minutes(1))) struct IconTests {
    private let registry = CodecRegistry()

    private func bytes(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }

    private func part(_ name: String, _ content: [UInt8]) -> Data {
        Data(name.utf8) + Data(bytes(8 + content.count) + content)
    }

    private func icon(_ parts: Data) -> Data { Data("icns".utf8) + Data(bytes(8 + parts.count)) + parts }

    /// The mask of each was searched among all: half a million took minutes.
    @Test func halfAMillionEmptyImagesAreRead() throws {
        let (one, count) = (part("is32", []), 500_000)
        var parts = Data(capacity: one.count * count)
        for _ in 0..<count { parts.append(one) }
        let data = icon(parts)
        let info = try registry.info(of: data)
        #expect(info.size == PixelSize(width: 16, height: 16) && info.pageCount == ICNSDecoder.entryLimit)
        #expect(throws: WebImageError.self) { try registry.decode(data) }
    }

    @Test func theFirstMaskCounts() throws {
        // Three channels of 256 equal bytes: 130 at most in a run.
        let channel: [UInt8] = [255, 7, 251, 7]
        let data = icon(
            part("s8mk", [UInt8](repeating: 255, count: 256)) + part("is32", channel + channel + channel)
                + part("s8mk", [UInt8](repeating: 0, count: 256)))
        let image = try registry.decode(data)
        #expect(image.pixels.size == PixelSize(width: 16, height: 16))
        #expect(image.pixels[3, 3] == SIMD4(7, 7, 7, 255))
    }

    /// All entries have the same damaged image; only some are tried.
    @Test func manyDamagedImagesAreNotAllTried() throws {
        let side = 200
        var bitmap = try registry.encode(
            Image(pixels: try MutablePixelBuffer(width: side, height: side).freeze(isOpaque: true)), as: .png)
        // The last bytes of the pixels.
        bitmap[bitmap.count - 20] ^= 0xFF
        let count = 20_000
        var data = Data([0, 0, 1, 0, UInt8(count & 255), UInt8(count >> 8)])
        let offset = 6 + 16 * count
        for _ in 0..<count {
            data += Data([UInt8(side), UInt8(side), 0, 0, 1, 0, 32, 0])
            data += Data(bytes(bitmap.count).reversed() + bytes(offset).reversed())
        }
        var options = DecodingOptions()
        options.allowsDamage = false
        #expect(throws: WebImageError.self) { try registry.decode(data + bitmap, options: options) }
    }
}
