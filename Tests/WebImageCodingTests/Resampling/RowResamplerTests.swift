import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Resampling rows as they come, and whole pictures: one result.
@Suite struct RowResamplerTests {
    @Test(arguments: [
        (PixelSize(width: 64, height: 48), PixelSize(width: 16, height: 12)),
        (PixelSize(width: 101, height: 307), PixelSize(width: 13, height: 40)),
        (PixelSize(width: 33, height: 17), PixelSize(width: 32, height: 16)),
        (PixelSize(width: 40, height: 200), PixelSize(width: 40, height: 1)),
        (PixelSize(width: 5, height: 3), PixelSize(width: 1, height: 2)),
        (PixelSize(width: 9, height: 11), PixelSize(width: 20, height: 30)),
    ])
    func makesThePixelsOfTheWholePicture(_ from: PixelSize, _ to: PixelSize) throws {
        var random = SplitMix64(seed: 3)
        var bytes = (0..<from.pixelCount * 4).map { _ in UInt8.random(in: 0...255, using: &random) }
        for pixel in stride(from: 0, to: bytes.count, by: 4) {
            for channel in 0..<3 { bytes[pixel + channel] = min(bytes[pixel + channel], bytes[pixel + 3]) }
        }
        let expected = try Pixels(size: from, bytes: bytes).buffer().resampled(to: to)
        let resampler = try RowResampler(from: from, to: to)
        bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            for row in 0..<from.height { resampler.append(start + row * from.width * 4) }
        }
        #expect(Pixels(resampler.finish(isOpaque: false)) == Pixels(expected))
    }

    /// Every kind of PNG, made row by row or as a whole.
    @Test func makesThumbnailsOfEveryKindOfPNG() throws {
        let options = DecodingOptions(thumbnail: Thumbnail(width: 9, height: 9))
        var count = 0
        for fixture in Fixture.all(withExtension: "png") {
            let data = try fixture.data()
            var file = PNGFile()
            file.read(data.bytes)
            let picture = try #require(file.still)
            let whole = try picture.decoded(from: data.bytes, shortage: .truncated, cancellation: nil).pixels
            let target = options.thumbnail?.targetSize(of: picture.layout.size) ?? whole.size
            let rows = try picture.resampledByRows(to: target, from: data.bytes, cancellation: nil)
            guard !picture.layout.isInterlaced, target != whole.size else {
                #expect(rows == nil, "\(fixture.name)")
                continue
            }
            let thumbnail = try #require(rows, "\(fixture.name)")
            #expect(try Pixels(thumbnail) == Pixels(whole.resampled(to: target)), "\(fixture.name)")
            #expect(thumbnail.isOpaque == whole.isOpaque, "\(fixture.name)")
            count += 1
        }
        #expect(count > 20)
    }

    @Test func leavesDamagedPicturesToTheOtherWay() throws {
        let data = try Fixture("rgb-16.png").data()
        let cut = data.prefix(data.count / 2)
        var file = PNGFile()
        file.read(cut.bytes)
        let picture = try #require(file.still)
        let size = PixelSize(width: 5, height: 4)
        #expect(try picture.resampledByRows(to: size, from: cut.bytes, cancellation: nil) == nil)
    }

    @Test(arguments: ["photo.jpg", "photo.png", "orientation-6.jpg", "interlaced.gif", "lossy.webp"])
    func scalesDownToALimitOfBytes(_ name: String) throws {
        let data = try Fixture(name).data()
        let whole = try CodecRegistry().decode(data).pixels.size
        for byteLimit in [whole.pixelCount * 4, whole.pixelCount * 4 - 1, whole.pixelCount, 400, 4, 0] {
            let image = try CodecRegistry().decode(data, options: DecodingOptions(byteLimit: byteLimit))
            #expect(image.pixels.size.pixelCount * 4 <= max(byteLimit, 4))
            #expect(image.isThumbnail == (image.pixels.size != whole))
            if byteLimit >= whole.pixelCount * 4 { #expect(image.pixels.size == whole) }
            if byteLimit == whole.pixelCount { #expect(abs(image.pixels.size.width * 2 - whole.width) <= 2) }
        }
    }

    @Test func keepsTheProportionsOfWhatIsScaledDown() {
        #expect(
            PixelSize(width: 4000, height: 3000).scaledDown(toPixelCount: 120_000) == PixelSize(width: 400, height: 300)
        )
        #expect(PixelSize(width: 60_000, height: 1).scaledDown(toPixelCount: 100) == PixelSize(width: 100, height: 1))
        #expect(PixelSize(width: 1, height: 60_000).scaledDown(toPixelCount: 100) == PixelSize(width: 1, height: 100))
    }
}
