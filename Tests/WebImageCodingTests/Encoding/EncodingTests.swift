import Foundation
import Testing
import WebImageCoding
import WebImageCore

/// What is written can be read back.
@Suite struct EncodingTests {
    private let registry = CodecRegistry()

    private func image(_ name: String) throws -> Image { try registry.decode(Fixture(name).data()) }

    @Test(arguments: ["rgb-8.png", "rgba-8.png", "transparent.gif", "baseline-420.jpg"])
    func writesPNGWithoutLoss(_ name: String) throws {
        let original = try image(name)
        let data = try registry.encode(original, as: .png)
        let info = try registry.info(of: data)
        #expect(info.format == .png)
        #expect(info.hasAlpha == !original.pixels.isOpaque)
        let copy = try registry.decode(data)
        #expect(Pixels(copy.pixels) == Pixels(original.pixels))
        #expect(copy.pixels.isOpaque == original.pixels.isOpaque)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp])
    func writesLossyFormatsCloseToTheOriginal(_ format: ImageFormat) throws {
        let original = try image("photo.jpg")
        var sizes: [Int] = []
        for (quality, psnr) in [(0.1, 20.0), (0.5, 29.0), (0.85, 33.0), (1, 35.0)] {
            let data = try registry.encode(original, as: format, options: EncodingOptions(quality: quality))
            let copy = try registry.decode(data)
            #expect(copy.format == format)
            #expect(try #require(Pixels(copy.pixels).psnr(against: Pixels(original.pixels))) > psnr, "\(quality)")
            sizes.append(data.count)
        }
        #expect(sizes == sizes.sorted())
    }

    @Test func keepsAllChromaOfAJPEGFromNineTenthsOn() throws {
        let original = try image("photo.jpg")
        for (quality, sampling) in [(0.89, 0x22), (0.9, 0x11)] {
            let data = try registry.encode(original, as: .jpeg, options: EncodingOptions(quality: quality))
            let header = try #require(data.baselineFrameHeader)
            // The first component's sampling factors stand behind its number.
            #expect(data[header + 11] == sampling)
        }
    }

    @Test func bringsAQualityIntoItsRange() {
        var options = EncodingOptions(quality: 7)
        #expect(options.quality == 1)
        options.quality = -1
        #expect(options.quality == 0)
        options.quality = .nan
        #expect(options.quality == EncodingOptions.defaultQuality)
    }

    @Test func laysTransparentPixelsOverTheBackground() throws {
        let clear = try Pixels(size: PixelSize(width: 16, height: 16), bytes: .init(repeating: 0, count: 1024)).buffer()
        let options = EncodingOptions(quality: 1, background: Color(red: 1, green: 0.5, blue: 0))
        let data = try registry.encode(Image(pixels: clear), as: .jpeg, options: options)
        let pixel = try registry.decode(data).pixels[8, 8]
        #expect(abs(Int(pixel.x) - 255) <= 2 && abs(Int(pixel.y) - 128) <= 2 && pixel.z <= 2)
    }

    @Test func keepsAlphaInWebP() throws {
        let original = try image("rgba-8.png")
        let copy = try registry.decode(registry.encode(original, as: .webp))
        for y in 0..<original.height {
            for x in 0..<original.width { #expect(copy.pixels[x, y].w == original.pixels[x, y].w) }
        }
    }

    @Test(arguments: [ImageFormat.jpeg, .png, .webp])
    func stopsWhenCancelled(_ format: ImageFormat) throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        let original = try image("photo.png")
        #expect(throws: WebImageError.cancelled) {
            try registry.encode(original, as: format, options: EncodingOptions(cancellation: cancellation))
        }
    }

    @Test func refusesPicturesLargerThanTheFormatHolds() throws {
        let wide = try MutablePixelBuffer(width: 65_535, height: 1).freeze(isOpaque: true)
        for (format, limit) in [(ImageFormat.jpeg, 65_500), (.webp, 16_383)] {
            let reason = WebImageError.EncodingFailure.tooLarge(wide.size, maximumDimension: limit)
            #expect(throws: WebImageError.encoding(format: format, reason: reason)) {
                try registry.encode(Image(pixels: wide), as: format)
            }
        }
    }

    @Test func endsFilesAsTheirFormatsDemand() throws {
        let original = try image("rgba-8.png")
        let png = try registry.encode(original, as: .png)
        #expect(png.suffix(8).prefix(4) == Data("IEND".utf8))
        let jpeg = try registry.encode(original, as: .jpeg)
        #expect(jpeg.suffix(2) == Data([0xFF, 0xD9]))
    }
}
