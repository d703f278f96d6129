import CodingTestSupport
import Foundation
import Testing
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageCore

/// A part of an image is the same as the part of the whole image.
@Suite(.timeLimit(.minutes(3))) struct DecodingRegionTests {
    private let registry = CodecRegistry()

    private static let fixtures = ["jpg", "png", "webp", "gif", "bmp", "qoi", "pgm"].flatMap {
        Fixture.all(withExtension: $0)
    }

    private func regions(of size: PixelSize, _ seed: UInt64) -> [PixelRect] {
        var random = SplitMix64(seed: seed)
        let some = (0..<6).map { _ in
            let (x, y) = (
                Int.random(in: 0..<size.width, using: &random), Int.random(in: 0..<size.height, using: &random)
            )
            return PixelRect(
                x: x, y: y, width: .random(in: 1...size.width - x, using: &random),
                height: .random(in: 1...size.height - y, using: &random))
        }
        return some + [
            PixelRect(x: 0, y: 0, width: size.width, height: size.height),
            PixelRect(x: size.width - 1, y: size.height - 1, width: 1, height: 1),
            PixelRect(x: -5, y: -5, width: 8, height: size.height + 9),
        ]
    }

    @Test(arguments: fixtures) func isThePartOfTheWholeImage(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = try registry.decode(data, options: DecodingOptions(firstFrameOnly: true)).pixels
        for region in regions(of: whole.size, 7) {
            var options = DecodingOptions()
            options.region = region
            let part = try registry.decode(data, options: options)
            let expected = try #require(try whole.cropped(to: region))
            #expect(Pixels(part.pixels) == Pixels(try PixelBuffer.tight(expected)), "\(region)")
            #expect(!part.isThumbnail)
        }
    }

    @Test(arguments: [false, true], 1...8) func followsTheOrientation(_ isProgressive: Bool, _ orientation: Int) throws
    {
        let data = try Self.largeJPEG(isProgressive, try #require(ImageOrientation(rawValue: orientation)))
        let whole = try registry.decode(data).pixels
        for region in regions(of: whole.size, UInt64(orientation)) {
            var options = DecodingOptions()
            options.region = region
            let part = try registry.decode(data, options: options).pixels
            #expect(
                Pixels(part) == Pixels(try PixelBuffer.tight(try #require(try whole.cropped(to: region)))), "\(region)")
        }
    }

    /// Blocks of the same coefficients, and the same filter.
    @Test(arguments: [ImageFormat.jpeg, .png]) func isReducedLikeThePartOfTheWholeImage(_ format: ImageFormat) throws {
        let image = try registry.decode(try Self.largeJPEG(false, .up))
        let data = try registry.encode(image, as: format)
        let whole = try registry.decode(data).pixels
        let region = PixelRect(x: 0, y: 0, width: whole.width / 16 * 8, height: whole.height / 16 * 8)
        var options = DecodingOptions(
            thumbnail: Thumbnail(.pixels(width: region.width / 2, height: region.height / 2), mode: .stretch))
        options.region = region
        let part = try registry.decode(data, options: options)
        #expect(part.pixels.size == PixelSize(width: region.width / 2, height: region.height / 2))
        #expect(part.isThumbnail)
        let cropped = try #require(try whole.cropped(to: region))
        let psnr = try #require(Pixels(part.pixels).psnr(against: Pixels(try cropped.resampled(to: part.pixels.size))))
        #expect(psnr > (format == .jpeg ? 25 : 99), "\(psnr)")
    }

    @Test(arguments: ["baseline-420.jpg", "rgba-8.png", "lossy.webp"]) func refusesARegionOutside(_ name: String) throws
    {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.region = PixelRect(x: 70_000, y: 0, width: 5, height: 5)
        let error = #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
        #expect(error?.description.contains("a region outside the image") == true)
    }

    /// Rows before the damage are shown.
    @Test func showsTheRowsThatThereAre() throws {
        let data = try Self.largeJPEG(false, .up)
        let cut = data.prefix(data.count * 2 / 3)
        var options = DecodingOptions()
        options.region = PixelRect(x: 100, y: 0, width: 64, height: 64)
        let top = try registry.decode(cut, options: options)
        #expect(!top.isPartial)
        options.region = PixelRect(x: 100, y: 60, width: 64, height: 157)
        let middle = try registry.decode(cut, options: options)
        #expect(middle.isPartial)
        let whole = try #require(
            try registry.decode(cut).pixels.cropped(to: PixelRect(x: 100, y: 60, width: 64, height: 157)))
        #expect(Pixels(middle.pixels) == Pixels(try PixelBuffer.tight(whole)))
    }

    /// Several rows of blocks, with chroma of half the size.
    private static func largeJPEG(_ isProgressive: Bool, _ orientation: ImageOrientation) throws -> Data {
        var pixels = try MutablePixelBuffer(width: 333, height: 217)
        pixels.withUnsafeMutableBytes { bytes in
            for index in bytes.indices {
                let (x, y) = (index / 4 % 333, index / 4 / 333)
                bytes[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: (x * x / 40 + y * (index % 4 + 1)))
            }
        }
        var options = EncodingOptions()
        options.isProgressive = isProgressive
        let file = try CodecRegistry.shared.encode(
            Image(pixels: pixels.freeze(isOpaque: true)), as: .jpeg, options: options)
        let exif = Data("Exif\0\0".utf8) + ImageMetadata.exif(orientation)
        let length = exif.count + 2
        return file.prefix(2) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + exif + file.dropFirst(2)
    }
}

extension PixelBuffer {
    /// Without gaps between rows.
    fileprivate static func tight(_ pixels: PixelBuffer) throws -> PixelBuffer {
        try pixels.copied().freeze(isOpaque: pixels.isOpaque)
    }
}
