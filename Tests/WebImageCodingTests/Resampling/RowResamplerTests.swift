import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Resampling row by row gives the same as resampling the whole image.
@Suite(.timeLimit(.minutes(3))) struct RowResamplerTests {
    @Test(arguments: [
        (PixelSize(width: 64, height: 48), PixelSize(width: 16, height: 12)),
        (PixelSize(width: 101, height: 307), PixelSize(width: 13, height: 40)),
        (PixelSize(width: 33, height: 17), PixelSize(width: 32, height: 16)),
        (PixelSize(width: 40, height: 200), PixelSize(width: 40, height: 1)),
        (PixelSize(width: 5, height: 3), PixelSize(width: 1, height: 2)),
        (PixelSize(width: 9, height: 11), PixelSize(width: 20, height: 30)),
    ])
    func makesThePixelsOfTheWholeImage(_ from: PixelSize, _ to: PixelSize) throws {
        var random = SplitMix64(seed: 3)
        var bytes = random.bytes(count: from.pixelCount * 4)
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

    /// Every kind of PNG, row by row and as a whole.
    @Test func makesThumbnailsOfEveryKindOfPNG() throws {
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 9, height: 9)))
        var count = 0
        for fixture in Fixture.all(withExtension: "png") {
            let data = try fixture.data()
            var file = PNGFile()
            file.read(data.bytes)
            let still = try #require(file.still)
            let whole = try still.decoded(from: data.bytes, missingRows: .truncated, cancellation: nil).pixels
            let target = options.thumbnail?.targetSize(of: still.layout.size) ?? whole.size
            let rows = try still.resampledByRows(to: target, from: data.bytes, cancellation: nil)
            guard !still.layout.isInterlaced, target != whole.size else {
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

    /// The rows are all good, but not what follows in the stream.
    @Test(arguments: ["wrong checksum", "no checksum", "a byte too many", "a row too many", "a bad block"])
    func makesThumbnailsOfPNGsWithBadEndsOfData(_ end: String) throws {
        var random = SplitMix64(seed: 5)
        let size = PixelSize(width: 40, height: 30)
        let row = (0...size.width * 3).map { $0 == 0 ? 1 : UInt8.random(in: 0...9, using: &random) }
        let filtered = (0..<size.height).flatMap { _ in row }
        var stream = PNGWriter.compressed(filtered)
        switch end {
        case "wrong checksum": stream[stream.count - 1] ^= 1
        case "no checksum": stream.removeLast(4)
        case "a byte too many": stream.append(7)
        case "a row too many": stream = PNGWriter.compressed(filtered + row)
        default:
            // An uncompressed block, empty ones, and one of an unknown type.
            let count = filtered.count
            stream = Data([
                0x78, 1, 0, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8 & 255),
            ])
            stream += filtered
            for _ in 0..<300 { stream += [0, 0, 0, 255, 255] }
            stream.append(7)
        }
        let data = try #require(still(of: stream, size))
        let good = try #require(still(of: PNGWriter.compressed(filtered), size))
        let target = PixelSize(width: 8, height: 6)
        let whole = try good.image.decoded(from: good.file.bytes, missingRows: .truncated, cancellation: nil).pixels
        let rows = try #require(try data.image.resampledByRows(to: target, from: data.file.bytes, cancellation: nil))
        #expect(try Pixels(rows) == Pixels(whole.resampled(to: target)))
        #expect(rows.isOpaque)
    }

    private func still(of stream: Data, _ size: PixelSize) -> (image: PNGImage, file: Data)? {
        let data =
            PNGWriter.signature + PNGWriter.header(size, color: .rgb) + PNGWriter.chunk("IDAT", stream)
            + PNGWriter.chunk("IEND")
        var file = PNGFile()
        file.read(data.bytes)
        return file.still.map { ($0, data) }
    }

    /// GIFs that are resampled while painted, interlaced and animated ones too, and those whose first frame is a part
    /// of the canvas.
    @Test func makesThumbnailsOfEveryKindOfGIF() throws {
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 9, height: 9)))
        var count = 0
        for fixture in Fixture.all(withExtension: "gif") {
            let data = try fixture.data()
            let whole = try GIFDecoder().decode(data, options: DecodingOptions())
            let thumbnail = try GIFDecoder().decode(data, options: options)
            #expect(
                try Pixels(thumbnail.pixels) == Pixels(whole.pixels.resampled(to: thumbnail.pixels.size)),
                "\(fixture.name)")
            #expect(thumbnail.pixels.isOpaque == whole.pixels.isOpaque, "\(fixture.name)")
            #expect(thumbnail.frameCount == whole.frameCount, "\(fixture.name)")
            #expect((thumbnail.animation == nil) == (whole.animation == nil), "\(fixture.name)")
            if thumbnail.isThumbnail { count += 1 }
        }
        #expect(count > 5)
    }

    /// Every kind of WebP, complete, truncated and damaged.
    @Test func makesThumbnailsOfEveryKindOfWebP() throws {
        let target = PixelSize(width: 7, height: 5)
        for name in ["lossy", "lossless", "lossy-alpha", "lossless-alpha", "orientation-6"] {
            let data = try Fixture("\(name).webp").data()
            var damaged = data
            damaged[data.count * 2 / 3] ^= 0x55
            for file in [data, damaged] + (1..<10).map({ data.prefix(data.count * $0 / 10) }) {
                guard let whole = try decoded(file, resampledTo: nil) else { continue }
                let rows = try #require(try decoded(file, resampledTo: target))
                #expect(try Pixels(rows.pixels) == Pixels(whole.pixels.resampled(to: target)), "\(name)")
                #expect(rows.pixels.isOpaque == whole.pixels.isOpaque)
                #expect(rows.isPartial == whole.isPartial)
            }
            #expect(try decoded(data, resampledTo: target)?.isPartial == false)
        }
    }

    /// `nil` if there is no row.
    private func decoded(
        _ file: Data, resampledTo target: PixelSize?
    ) throws -> (pixels: PixelBuffer, isPartial: Bool)? {
        let size = try WebPFile(reading: file.bytes).size
        let decoder = try WebPImageDecoder(
            size: size, byteCount: file.count, options: DecodingOptions(), resampledTo: target)
        do throws(WebImageError) {
            try file.bytes.withUnsafeBytes { (bytes) throws(WebImageError) in
                try decoder.decode(bytes, cancellation: nil)
            }
            return try decoder.finish(allowsDamage: true, cancellation: nil)
        } catch .decoding {
            return nil
        }
    }

    /// So large that memory is released meanwhile.
    @Test(arguments: [(isLossless: false, hasAlpha: false), (false, true), (true, true)])
    func makesThumbnailsOfLargeWebPs(isLossless: Bool, hasAlpha: Bool) throws {
        let size = PixelSize(width: 1800, height: 1500)
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in
            // Plain arithmetic: debug builds are slow.
            guard let words = bytes.bindMemory(to: UInt32.self).baseAddress else { return }
            var (x, y) = (0, 0)
            while y < size.height {
                let alpha = hasAlpha ? (x + y) / 4 & 255 : 255
                let (red, green, blue) = (x / 3 & 255, y / 2 & 255, x / 50 % 2 == 0 ? 40 : 200)
                let (low, middle) = (red < alpha ? red : alpha, green < alpha ? green : alpha)
                let high = blue < alpha ? blue : alpha
                words[y * size.width + x] = UInt32(low | middle << 8 | high << 16 | alpha << 24)
                x += 1
                if x == size.width { (x, y) = (0, y + 1) }
            }
        }
        let data = try WebPEncoder().encode(
            Image(pixels: pixels.freeze(isOpaque: !hasAlpha)),
            options: EncodingOptions(quality: 0.3, isLossless: isLossless).with { $0.webPEffort = 0 })
        // In a lossy one, all alpha precedes the first row.
        for file in [data, data.prefix(data.count * 9 / 10)] {
            let whole = try WebPDecoder().decode(file, options: DecodingOptions())
            let thumbnail = try WebPDecoder().decode(
                file, options: DecodingOptions(thumbnail: Thumbnail(.pixels(width: 120, height: 100))))
            #expect(try Pixels(thumbnail.pixels) == Pixels(whole.pixels.resampled(to: thumbnail.pixels.size)))
            #expect(thumbnail.pixels.size == PixelSize(width: 120, height: 100))
            #expect(thumbnail.pixels.isOpaque == whole.pixels.isOpaque)
            #expect(thumbnail.isPartial == whole.isPartial && thumbnail.isThumbnail)
            #expect(thumbnail.isPartial == (file.count < data.count))
        }
    }

    @Test func decodesDamagedImagesAsAWhole() throws {
        let data = try Fixture("rgb-16.png").data()
        let cut = data.prefix(data.count / 2)
        var file = PNGFile()
        file.read(cut.bytes)
        let still = try #require(file.still)
        let size = PixelSize(width: 5, height: 4)
        #expect(try still.resampledByRows(to: size, from: cut.bytes, cancellation: nil) == nil)
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

    @Test func keepsTheProportionsWhenScalingDown() {
        #expect(
            PixelSize(width: 4000, height: 3000).scaledDown(toPixelCount: 120_000) == PixelSize(width: 400, height: 300)
        )
        #expect(PixelSize(width: 60_000, height: 1).scaledDown(toPixelCount: 100) == PixelSize(width: 100, height: 1))
        #expect(PixelSize(width: 1, height: 60_000).scaledDown(toPixelCount: 100) == PixelSize(width: 1, height: 100))
    }
}
