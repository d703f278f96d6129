import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// What we write is read by the library's own program, and by us.
@Suite(.timeLimit(.minutes(3))) struct LibraryEncoderTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry

    init() throws { files = try FormatFiles() }

    private static let losslessFormats = FormatFiles.written.filter { $0 != .tiff }

    @Test(arguments: FormatFiles.written) func losslessFilesHaveTheSamePixels(format: LibraryFormat) throws {
        for hasAlpha in [false, true] {
            for size in [PixelSize(width: 61, height: 40), PixelSize(width: 64, height: 64)] {
                let pixels = try FormatFiles.painting(size, hasAlpha: hasAlpha)
                var options = EncodingOptions()
                options.isLossless = true
                let data = try registry.encode(Image(pixels: pixels), as: format.format, options: options)
                try files.directory.write(data, to: "image." + format.format.fileExtension)
                // Dividing by alpha rounds.
                let tolerance = hasAlpha ? 3 : 0
                #expect((Pixels(try registry.decode(data).pixels).difference(from: Pixels(pixels)) ?? 255) <= tolerance)
                let other = try files.decodeElsewhere(format, "image." + format.format.fileExtension)
                #expect((other.difference(from: Pixels(pixels)) ?? 255) <= tolerance)
            }
        }
    }

    /// Noise shows every loss: libheif made YCbCr of it, which rounds.
    @Test(arguments: FormatFiles.written) func losslessFilesHaveTheSameNoise(format: LibraryFormat) throws {
        var random = SplitMix64(seed: 5)
        for size in [PixelSize(width: 64, height: 48), PixelSize(width: 31, height: 17)] {
            let bytes = random.opaquePixels(count: size.pixelCount)
            let pixels = Pixels(size: size, bytes: bytes)
            var options = EncodingOptions()
            options.isLossless = true
            let image = Image(pixels: try pixels.buffer(isOpaque: true))
            let data = try registry.encode(image, as: format.format, options: options)
            try files.directory.write(data, to: "image." + format.format.fileExtension)
            #expect(Pixels(try registry.decode(data).pixels) == pixels)
            let other = try files.decodeElsewhere(format, "image." + format.format.fileExtension)
            #expect(other == pixels)
        }
    }

    @Test(arguments: FormatFiles.written) func lossyFilesLookTheSame(format: LibraryFormat) throws {
        let pixels = try FormatFiles.painting(PixelSize(width: 120, height: 90))
        var lengths: [Int] = []
        for quality in [0.3, 0.95] {
            let data = try registry.encode(
                Image(pixels: pixels), as: format.format, options: EncodingOptions(quality: quality))
            lengths.append(data.count)
            try files.directory.write(data, to: "image." + format.format.fileExtension)
            let least = quality > 0.9 ? 38.0 : 25
            #expect((Pixels(try registry.decode(data).pixels).psnr(against: Pixels(pixels)) ?? 0) > least)
            let other = try files.decodeElsewhere(format, "image." + format.format.fileExtension)
            #expect((other.psnr(against: Pixels(pixels)) ?? 0) > least)
        }
        if format != .tiff { #expect(lengths[0] < lengths[1]) }
    }

    @Test(arguments: FormatFiles.written, [0, 7, 10]) func everySpeedWorks(format: LibraryFormat, speed: Int) throws {
        let pixels = try FormatFiles.painting(PixelSize(width: 48, height: 32), hasAlpha: true)
        var options = EncodingOptions()
        options.speed = speed
        let data = try registry.encode(Image(pixels: pixels), as: format.format, options: options)
        #expect((Pixels(try registry.decode(data).pixels).psnr(against: Pixels(pixels)) ?? 0) > 25)
    }

    @Test(arguments: FormatFiles.written.filter { $0 != .heic }) func writesASinglePixel(format: LibraryFormat) throws {
        let pixels = try FormatFiles.painting(PixelSize(width: 1, height: 1))
        var options = EncodingOptions()
        options.isLossless = true
        let data = try registry.encode(Image(pixels: pixels), as: format.format, options: options)
        #expect(Pixels(try registry.decode(data).pixels) == Pixels(pixels))
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func respectsALimitOfBytes() throws {
        let pixels = try FormatFiles.painting(PixelSize(width: 200, height: 150))
        let options = EncodingOptions(byteLimit: 900)
        #expect(try registry.encode(Image(pixels: pixels), as: .avif, options: options).count <= 900)
    }
}
