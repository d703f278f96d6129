import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// What each format's options change.
@Suite struct EncodingOptionsTests {
    private let registry = CodecRegistry()

    private func photo() throws -> Image { try registry.decode(Fixture("photo.jpg").data()) }

    private func encode(
        _ format: ImageFormat, _ image: Image? = nil, _ change: (inout EncodingOptions) -> Void
    ) throws -> Data {
        var options = EncodingOptions()
        change(&options)
        return try registry.encode(image ?? photo(), as: format, options: options)
    }

    @Test func writesProgressiveJPEGOfTheSamePixels() throws {
        let baseline = try encode(.jpeg) { _ in }
        let progressive = try encode(.jpeg) { $0.jpeg.isProgressive = true }
        #expect(baseline.scanCount == 1)
        #expect(progressive.scanCount > 5)
        #expect(progressive.count < baseline.count)
        #expect(try Pixels(registry.decode(progressive).pixels) == Pixels(registry.decode(baseline).pixels))
    }

    @Test func makesHuffmanCodesForThePicture() throws {
        let standard = try encode(.jpeg) { _ in }
        let optimized = try encode(.jpeg) { $0.jpeg.optimizesHuffmanCodes = true }
        #expect(optimized.count < standard.count)
        #expect(try Pixels(registry.decode(optimized).pixels) == Pixels(registry.decode(standard).pixels))
    }

    @Test(arguments: [
        (EncodingOptions.JPEG.Chroma.full, 0x11 as UInt8), (.halved, 0x21), (.quartered, 0x22), (.automatic, 0x22),
    ])
    func keepsAsMuchChromaAsAsked(chroma: EncodingOptions.JPEG.Chroma, sampling: UInt8) throws {
        let data = try encode(.jpeg) { $0.jpeg.chroma = chroma }
        #expect(data[try #require(data.baselineFrameHeader) + 11] == sampling)
    }

    @Test func compressesPNGHarderAtHigherLevels() throws {
        var sizes: [Int] = []
        for level in [0, 1, 6, 12] {
            let data = try encode(.png) { $0.png.level = level }
            #expect(try Pixels(registry.decode(data).pixels) == Pixels(photo().pixels))
            sizes.append(data.count)
        }
        #expect(sizes == sizes.sorted(by: >) && Set(sizes).count == 4)
    }

    @Test(arguments: [(EncodingOptions.PNG.Filter.none, 0 as UInt8), (.sub, 1), (.up, 2), (.average, 3), (.paeth, 4)])
    func filtersEveryRowAsAsked(filter: EncodingOptions.PNG.Filter, number: UInt8) throws {
        let image = try photo()
        for hasAlpha in [true, false] {
            let pixels = try Pixels(image.pixels).buffer(isOpaque: !hasAlpha)
            let options = EncodingOptions(png: .init(filter: filter))
            let fast = try PNGEncoder().encode(Image(pixels: pixels), options: options)
            let slow = try PNGEncoder().encodeRowByRow(pixels, hasAlpha: hasAlpha, options: options)
            for data in [fast, slow] {
                var file = PNGFile()
                file.read(data.bytes)
                let chunks = try #require(file.still).chunks
                let stream = chunks.reduce(into: Data()) { $0 += data[$1.content] }
                let unpacked = ZlibStream.unpacked(stream.bytes, byteLimit: 1 << 26)
                let rows = try #require(unpacked)
                let rowByteCount = image.width * (hasAlpha ? 4 : 3) + 1
                #expect(rows.count == rowByteCount * image.height)
                for row in stride(from: 0, to: rows.count, by: rowByteCount) { #expect(rows[row] == number) }
                #expect(try Pixels(registry.decode(data).pixels) == Pixels(image.pixels))
            }
        }
    }

    @Test func writesWebPWithoutLoss() throws {
        for name in ["photo.jpg", "rgba-8.png", "rgb-8.png", "transparent.gif"] {
            let original = try registry.decode(Fixture(name).data())
            let data = try encode(.webp, original) {
                $0.webP.isLossless = true
                $0.webP.effort = 1
                // It means nothing here.
                $0.quality = 0
            }
            #expect(try Pixels(registry.decode(data).pixels) == Pixels(original.pixels), "\(name)")
        }
        #expect(WebPEncoder().usesQuality(EncodingOptions()))
        #expect(!WebPEncoder().usesQuality(EncodingOptions(webP: .init(isLossless: true))))
    }

    @Test func compressesWebPHarderWithMoreEffort() throws {
        for isLossless in [true, false] {
            let sizes = try [0, 6].map { effort in
                try encode(.webp) {
                    $0.webP.isLossless = isLossless
                    $0.webP.effort = effort
                }.count
            }
            #expect(sizes[1] < sizes[0])
        }
    }

    @Test func losesAlphaOnlyWhenAsked() throws {
        let size = PixelSize(width: 64, height: 64)
        var smooth = Pixels(size, [0, 0, 0, 0])
        for place in 0..<size.pixelCount { smooth.bytes[place * 4 + 3] = UInt8(place % 64 * 3 + place / 64 % 7) }
        let image = Image(pixels: try smooth.buffer())
        let whole = try encode(.webp, image) { _ in }
        let coarse = try encode(.webp, image) { $0.webP.alphaQuality = 0 }
        #expect(try Pixels(registry.decode(whole).pixels) == smooth)
        #expect(try Pixels(registry.decode(coarse).pixels) != smooth)
        #expect(coarse.count < whole.count)
    }

    @Test func laysTranslucentPixelsOverTheBackgroundInGIF() throws {
        let row: [UInt8] = [0, 0, 0, 0] + [60, 60, 60, 127] + [128, 0, 0, 128] + [9, 8, 7, 255]
        let pixels = Pixels(size: PixelSize(width: 4, height: 1), bytes: row)
        let data = try encode(.gif, Image(pixels: pixels.buffer())) { $0.background = Color(red: 0, green: 1, blue: 0) }
        #expect(
            try Pixels(registry.decode(data).pixels).bytes == [
                0, 0, 0, 0, 0, 0, 0, 0, 128, 127, 0, 255, 9, 8, 7, 255,
            ])
    }

    @Test func bringsValuesIntoTheirRanges() {
        var options = EncodingOptions(
            png: .init(level: 99), webP: .init(effort: -1, alphaQuality: 7), gif: .init(colorLimit: 1))
        #expect(options.png.level == 12 && options.webP.effort == 0 && options.webP.alphaQuality == 1)
        #expect(options.gif.colorLimit == 2)
        options.png.level = -1
        options.webP.effort = 9
        options.webP.alphaQuality = .nan
        options.gif.colorLimit = 1000
        #expect(options.png.level == 0 && options.webP.effort == 6 && options.webP.alphaQuality == 1)
        #expect(options.gif.colorLimit == 256)
    }
}
