import CodingTestSupport
import CWebImageJPEG
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// Round trips of encoded images.
@Suite(.timeLimit(.minutes(3))) struct EncodingTests {
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

    @Test func keepsAllChromaOfAJPEGFromAQualityOfNineTenths() throws {
        let original = try image("photo.jpg")
        for (quality, sampling) in [(0.89, 0x22), (0.9, 0x11)] {
            let data = try registry.encode(original, as: .jpeg, options: EncodingOptions(quality: quality))
            let header = try #require(data.baselineFrameHeader)
            // The first component's sampling factors follow its number.
            #expect(data[header + 11] == sampling)
        }
    }

    @Test func clampsTheQuality() {
        var options = EncodingOptions(quality: 7)
        #expect(options.quality == 1)
        options.quality = -1
        #expect(options.quality == 0)
        options.quality = .nan
        #expect(options.quality == EncodingOptions.defaultQuality)
    }

    @Test func blendsTransparentPixelsOverTheBackground() throws {
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

    @Test func refusesImagesTooLargeForTheFormat() throws {
        let wide = try MutablePixelBuffer(width: 65_535, height: 1).freeze(isOpaque: true)
        for (format, limit) in [(ImageFormat.jpeg, 65_500), (.webp, 16_383)] {
            let reason = WebImageError.EncodingFailure.tooLarge(wide.size, maximumDimension: limit)
            #expect(throws: WebImageError.encoding(format: format, reason: reason)) {
                try registry.encode(Image(pixels: wide), as: format)
            }
        }
    }

    @Test func writesTheEndMarkerOfEachFormat() throws {
        let original = try image("rgba-8.png")
        let png = try registry.encode(original, as: .png)
        #expect(png.suffix(8).prefix(4) == Data("IEND".utf8))
        let jpeg = try registry.encode(original, as: .jpeg)
        #expect(jpeg.suffix(2) == Data([0xFF, 0xD9]))
    }
}

/// Errors of the C encoders that Swift's checks prevent.
@Suite(.timeLimit(.minutes(3))) struct EncoderShimTests {
    @Test func passesOnLibjpegsErrors() {
        let encoder = cwi_jpeg_encoder_create()
        defer { cwi_jpeg_encoder_destroy(encoder) }
        let settings = cwi_jpeg_encoder_settings(
            quality: 85, chroma_columns: 2, chroma_rows: 2, is_gray: false, is_progressive: false,
            optimizes_codes: false)
        #expect(cwi_jpeg_encoder_start(encoder, 70_000, 1, settings) == CWI_JPEG_CORRUPT)
        #expect(String(cString: cwi_jpeg_encoder_message(encoder)).contains("65500"))
    }

    @Test func endsAnEncoderThatWasNeverStarted() {
        cwi_jpeg_encoder_destroy(cwi_jpeg_encoder_create())
    }
}

/// Images that share the memory of another one, with gaps between rows.
@Suite(.timeLimit(.minutes(3))) struct PartEncodingTests {
    @Test(arguments: [ImageFormat.png, .jpeg, .webp], [true, false])
    func areEncodedLikeCopies(format: ImageFormat, isOpaque: Bool) throws {
        let bytes = (0..<60 * 40).flatMap { (index: Int) -> [UInt8] in
            let alpha = isOpaque ? 255 : index % 256
            let (red, green) = (index % 60 * 4 * alpha / 255, index / 60 * 6 * alpha / 255)
            return [UInt8(red), UInt8(green), 0, UInt8(alpha)]
        }
        let whole = try Pixels(size: PixelSize(width: 60, height: 40), bytes: bytes).buffer(isOpaque: isOpaque)
        let part = try #require(try whole.cropped(to: PixelRect(x: 5, y: 3, width: 51, height: 35)))
        #expect(part.bytesPerRow == 240)
        var copied: [UInt8] = []
        for row in 3..<38 { copied += bytes[(row * 60 + 5) * 4..<(row * 60 + 56) * 4] }
        let copy = try Pixels(size: part.size, bytes: copied).buffer(isOpaque: isOpaque)
        let options = EncodingOptions(quality: 0.9)
        let encoded = try CodecRegistry.builtIn.encode(Image(pixels: part), as: format, options: options)
        #expect(encoded == (try CodecRegistry.builtIn.encode(Image(pixels: copy), as: format, options: options)))
    }
}
