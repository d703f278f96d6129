import Foundation
import Testing
import WebImageCoding
import WebImageCore

/// GIFs that are not as the specification has them, read as browsers read them.
@Suite struct GIFDecoderTests {
    private let registry = CodecRegistry()

    /// `offset.gif`: a screen of 30×20, its one frame of 21×17 at (5, 2). The frame begins at byte 25.
    private func offsetGIF(screen: (UInt8, UInt8) = (30, 20), left: UInt8 = 5) throws -> Data {
        var data = try Fixture("offset.gif").data()
        try #require(data[25] == 0x2C && data[26] == 5)
        (data[6], data[8], data[26]) = (screen.0, screen.1, left)
        return data
    }

    @Test(arguments: [
        ((UInt8(4), UInt8(4)), UInt8(5), PixelSize(width: 26, height: 19)),
        ((0, 0), 5, PixelSize(width: 26, height: 19)),
        ((40, 1), 5, PixelSize(width: 40, height: 19)),
        ((30, 20), 10, PixelSize(width: 31, height: 20)),
    ])
    func enlargesACanvasThatTheFirstFrameExceeds(screen: (UInt8, UInt8), left: UInt8, size: PixelSize) throws {
        let data = try offsetGIF(screen: screen, left: left)
        #expect(try registry.info(of: data).size == size)
        let pixels = try registry.decode(data).pixels
        #expect(pixels.size == size)
        let original = try registry.decode(offsetGIF()).pixels
        for y in 2..<19 {
            for x in 0..<21 { #expect(pixels[x + Int(left), y] == original[x + 5, y]) }
        }
        #expect(pixels[0, 2] == .zero)
    }

    @Test func refusesACanvasEnlargedBeyondTheLimit() throws {
        var data = try offsetGIF()
        data.replaceSubrange(26..<28, with: [0xFF, 0xFF])
        let size = PixelSize(width: 65_535 + 21, height: 20)
        #expect(throws: WebImageError.imageTooLarge(size: size, pixelLimit: 100_000_000)) { try registry.decode(data) }
    }

    @Test func refusesACanvasWithoutPixels() throws {
        var data = try offsetGIF(screen: (0, 0), left: 0)
        data.replaceSubrange(26..<34, with: [0, 0, 0, 0, 0, 0, 0, 0])
        #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("a canvas of 0×0 pixels"))) {
            try registry.info(of: data)
        }
        #expect(throws: WebImageError.decoding(format: .gif, reason: .truncated)) {
            try registry.info(of: data.prefix(20))
        }
    }

    @Test(arguments: [[], [0x00]])
    func readsAStillThatLacksOnlyItsTrailer(_ ending: [UInt8]) throws {
        let data = try Fixture("87a.gif").data()
        try #require(data.last == 0x3B)
        let image = try registry.decode(data.dropLast() + ending)
        #expect(Pixels(image.pixels) == Pixels(try registry.decode(data).pixels))
    }

    @Test func refusesAnAnimationWithoutItsTrailer() throws {
        let data = try Fixture("animated.gif").data()
        try #require(data.last == 0x3B)
        let options = DecodingOptions(damage: .refuse)
        #expect(throws: WebImageError.decoding(format: .gif, reason: .truncated)) {
            try registry.decode(data.dropLast(), options: options)
        }
        #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("a byte that begins no block"))) {
            try registry.decode(data.dropLast() + [0x00], options: options)
        }
    }
}
