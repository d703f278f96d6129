import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// The effect of each format's options.
@Suite(.timeLimit(.minutes(3))) struct EncodingOptionsTests {
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
        let progressive = try encode(.jpeg) { $0.isProgressive = true }
        #expect(baseline.scanCount == 1)
        #expect(progressive.scanCount > 5)
        #expect(progressive.count < baseline.count)
        #expect(try Pixels(registry.decode(progressive).pixels) == Pixels(registry.decode(baseline).pixels))
    }

    @Test(arguments: [ImageFormat.webp, .avif, .heic, .jpegXL])
    func aHigherQualityIsAHigherNumberOfEachLibrary(format: ImageFormat) {
        let numbers = (0...100).map { EncodingOptions(quality: Double($0) / 100).libraryQuality(of: format) }
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(numbers.first == 0 && numbers.last == 100)
    }

    @Test func numbersOfALibraryAreNotChanged() throws {
        for format in [ImageFormat.jpeg, .webp, .avif, .heic, .jpegXL, .jpeg2000] {
            let options = EncodingOptions(quality: 0.63).with { $0.qualityScale = .library }
            #expect(options.libraryQuality(of: format) == 63)
        }
        #expect(EncodingOptions(quality: 0.63).libraryQuality(of: .jpeg) == 63)
        let (look, library) = try (
            encode(.webp) { $0.quality = 0.5 }, encode(.webp) { ($0.quality, $0.qualityScale) = (0.5, .library) }
        )
        #expect(look.count > library.count)
    }

    @Test func optimizesHuffmanCodes() throws {
        let standard = try encode(.jpeg) { _ in }
        let optimized = try encode(.jpeg) { $0.optimizesHuffmanCodes = true }
        #expect(optimized.count < standard.count)
        #expect(try Pixels(registry.decode(optimized).pixels) == Pixels(registry.decode(standard).pixels))
    }

    @Test(arguments: [
        (EncodingOptions.Chroma.full, 0x11 as UInt8), (.halved, 0x21), (.quartered, 0x22), (.automatic, 0x22),
    ])
    func keepsTheRequestedChroma(chroma: EncodingOptions.Chroma, sampling: UInt8) throws {
        let data = try encode(.jpeg) { $0.chroma = chroma }
        #expect(data[try #require(data.baselineFrameHeader) + 11] == sampling)
    }

    @Test func compressesPNGHarderAtHigherLevels() throws {
        var sizes: [Int] = []
        for level in [0, 1, 6, 12] {
            let data = try encode(.png) { $0.pngLevel = level }
            #expect(try Pixels(registry.decode(data).pixels) == Pixels(photo().pixels))
            sizes.append(data.count)
        }
        #expect(sizes == sizes.sorted(by: >) && Set(sizes).count == 4)
    }

    @Test(arguments: [1, 2, 3, 16, 17, 256, 257], [false, true])
    func aSearchStoresFewColorsInAPalette(colorCount: Int, isOpaque: Bool) throws {
        // An odd width, so that the last byte of a row is not full, and too many pixels for a comparison with RGB.
        var buffer = try MutablePixelBuffer(width: 301, height: 220)
        buffer.withUnsafeMutableBytes { bytes in
            for index in 0..<301 * 220 {
                let color = index * 31 % colorCount
                let alpha = isOpaque || color % 3 > 0 ? 255 : color % 2 * 128
                let channels = [color & 255, color * 7 & 255, color >> 8 * 40].map { $0 * alpha / 255 } + [alpha]
                for channel in 0..<4 { bytes[index * 4 + channel] = UInt8(channels[channel]) }
            }
        }
        let image = Image(pixels: buffer.freeze(isOpaque: isOpaque))
        let plain = try encode(.png, image) { _ in }
        let found = try encode(.png, image) { ($0.searchesPNG, $0.metadata) = (true, ImageMetadata()) }
        #expect(try Pixels(registry.decode(found).pixels) == Pixels(registry.decode(plain).pixels))
        let hasPalette = found.range(of: Data("PLTE".utf8)) != nil
        #expect(hasPalette == (colorCount <= 256 || !isOpaque && Set(plainColors(image)).count <= 256))
        if hasPalette { #expect(found[24] == (colorCount <= 2 ? 1 : colorCount <= 3 ? 2 : found[24])) }
    }

    private func plainColors(_ image: Image) -> [SIMD4<UInt8>] {
        (0..<image.height).flatMap { y in (0..<image.width).map { x in image.pixels[x, y] } }
    }

    @Test func aSearchTakesTheShorterFilter() throws {
        let image = try photo()
        let found = try encode(.png, image) { $0.searchesPNG = true }
        let both = try [EncodingOptions.PNGFilter.adaptive, .none].map { filter in
            try encode(.png, image) { $0.pngFilter = filter }.count
        }
        #expect(found.count == both.min())
        #expect(try Pixels(registry.decode(found).pixels) == Pixels(image.pixels))
    }

    /// A smooth gradient of few colors.
    @Test func aSearchFiltersIndicesWhereThatIsShorter() throws {
        var buffer = try MutablePixelBuffer(width: 400, height: 300)
        buffer.withUnsafeMutableBytes { bytes in
            for index in 0..<400 * 300 {
                let (x, y) = (index % 400, index / 400)
                let light = UInt8(clamping: 128 + Int(100 * sin(Double(x * x + 3 * y * y) / 40_000)))
                for channel in 0..<3 { bytes[index * 4 + channel] = light }
                bytes[index * 4 + 3] = 255
            }
        }
        let image = Image(pixels: buffer.freeze(isOpaque: true))
        let palette = try #require(try PNGPalette(image.pixels, cancellation: nil))
        let filtered = try #require(palette.filteredRows)
        let found = try encode(.png, image) { ($0.searchesPNG, $0.metadata) = (true, ImageMetadata()) }
        let level = Int32(EncodingOptions().pngLevel)
        let plain = try PNGPixelEncoder.deflated(palette.rows, level: level)
        let short = try PNGPixelEncoder.deflated(filtered, level: level)
        #expect(short.count < plain.count * 3 / 4)
        #expect(found.range(of: Data("PLTE".utf8)) != nil && found.range(of: short) != nil)
        #expect(try Pixels(registry.decode(found).pixels) == Pixels(image.pixels))
    }

    @Test(arguments: [(EncodingOptions.PNGFilter.none, 0 as UInt8), (.sub, 1), (.up, 2), (.average, 3), (.paeth, 4)])
    func filtersEveryRowAsRequested(filter: EncodingOptions.PNGFilter, number: UInt8) throws {
        let image = try photo()
        for hasAlpha in [true, false] {
            let pixels = try Pixels(image.pixels).buffer(isOpaque: !hasAlpha)
            let options = EncodingOptions().with { $0.pngFilter = filter }
            let data = try PNGEncoder().encode(Image(pixels: pixels), options: options)
            var file = PNGFile()
            file.read(data.bytes)
            let chunks = try #require(file.still).chunks
            let stream = chunks.reduce(into: Data()) { $0 += data[$1.content] }
            let unpacked = PNGColors.decompressed(stream.bytes, byteLimit: 1 << 26)
            let rows = try #require(unpacked)
            let rowByteCount = image.width * (hasAlpha ? 4 : 3) + 1
            #expect(rows.count == rowByteCount * image.height)
            for row in stride(from: 0, to: rows.count, by: rowByteCount) { #expect(rows[row] == number) }
            #expect(try Pixels(registry.decode(data).pixels) == Pixels(image.pixels))
        }
    }

    @Test func writesWebPWithoutLoss() throws {
        for name in ["photo.jpg", "rgba-8.png", "rgb-8.png", "transparent.gif"] {
            let original = try registry.decode(Fixture(name).data())
            let data = try encode(.webp, original) {
                $0.isLossless = true
                $0.webPEffort = 1
                // Ignored here.
                $0.quality = 0
            }
            #expect(try Pixels(registry.decode(data).pixels) == Pixels(original.pixels), "\(name)")
        }
        #expect(EncodingOptions().usesQuality(as: .webp))
        #expect(!EncodingOptions(isLossless: true).usesQuality(as: .webp))
    }

    @Test func compressesWebPHarderWithMoreEffort() throws {
        for isLossless in [true, false] {
            let sizes = try [0, 6].map { effort in
                try encode(.webp) {
                    $0.isLossless = isLossless
                    $0.webPEffort = effort
                }.count
            }
            #expect(sizes[1] < sizes[0])
        }
    }

    @Test func losesAlphaOnlyIfRequested() throws {
        let size = PixelSize(width: 64, height: 64)
        var smooth = Pixels(size, [0, 0, 0, 0])
        for place in 0..<size.pixelCount { smooth.bytes[place * 4 + 3] = UInt8(place % 64 * 3 + place / 64 % 7) }
        let image = Image(pixels: try smooth.buffer())
        let whole = try encode(.webp, image) { _ in }
        let coarse = try encode(.webp, image) { $0.alphaQuality = 0 }
        #expect(try Pixels(registry.decode(whole).pixels) == smooth)
        #expect(try Pixels(registry.decode(coarse).pixels) != smooth)
        #expect(coarse.count < whole.count)
    }

    @Test func blendsTranslucentPixelsOverTheBackgroundInGIF() throws {
        let row: [UInt8] = [0, 0, 0, 0] + [60, 60, 60, 127] + [128, 0, 0, 128] + [9, 8, 7, 255]
        let pixels = Pixels(size: PixelSize(width: 4, height: 1), bytes: row)
        let data = try encode(.gif, Image(pixels: pixels.buffer())) { $0.background = Color(red: 0, green: 1, blue: 0) }
        #expect(
            try Pixels(registry.decode(data).pixels).bytes == [
                0, 0, 0, 0, 0, 0, 0, 0, 128, 127, 0, 255, 9, 8, 7, 255,
            ])
    }

    @Test func clampsValues() {
        var options = EncodingOptions()
        options.pngLevel = 99
        options.webPEffort = -1
        options.alphaQuality = 7
        options.colorLimit = 1
        #expect(options.pngLevel == 12 && options.webPEffort == 0 && options.alphaQuality == 1)
        #expect(options.colorLimit == 2)
        options.pngLevel = -1
        options.webPEffort = 9
        options.alphaQuality = .nan
        options.colorLimit = 1000
        #expect(options.pngLevel == 0 && options.webPEffort == 6 && options.alphaQuality == 1)
        #expect(options.colorLimit == 256)
    }
}

/// Limits on the size of files.
@Suite(.timeLimit(.minutes(3))) struct EncodingLimitsTests {
    private let registry = CodecRegistry()

    private func photo() throws -> Image { try registry.decode(Fixture("photo.jpg").data()) }

    @Test func fitsImagesInABox() throws {
        let image = try photo()
        let limits = EncodingOptions(bounds: Thumbnail(.pixels(width: 40, height: 40)))
        for format in [ImageFormat.jpeg, .png, .webp, .gif] {
            let size = try registry.info(of: registry.encode(image, as: format, options: limits)).size
            #expect(size == Thumbnail(.pixels(width: 40, height: 40)).targetSize(of: image.pixels.size))
        }
        let large = EncodingOptions(bounds: Thumbnail(.pixels(width: 5_000, height: 5_000)))
        #expect(try registry.info(of: registry.encode(image, as: .png, options: large)).size == image.pixels.size)
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func fitsEveryFrameInABox(_ format: ImageFormat) throws {
        let image = try registry.decode(Fixture("animated.webp").data())
        let limits = EncodingOptions(bounds: Thumbnail(.pixels(width: 16)))
        let copy = try registry.decode(registry.encode(image, as: format, options: limits))
        #expect(copy.width == 16 && copy.frameCount == 3)
        #expect(copy.animation?.frames.map(\.duration) == image.animation?.frames.map(\.duration))
    }

    @Test(arguments: [ImageFormat.jpeg, .webp])
    func lowersQualityFirst(_ format: ImageFormat) throws {
        let image = try photo()
        let best = try registry.encode(image, as: format).count
        let worst = try registry.encode(image, as: format, options: EncodingOptions(quality: 0.4)).count
        let limit = (best + worst) / 2
        let data = try registry.encode(image, as: format, options: EncodingOptions(byteLimit: limit))
        #expect(data.count <= limit && data.count > worst)
        #expect(try registry.info(of: data).size == image.pixels.size)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp, .png, .gif])
    func lowersTheSizeNext(_ format: ImageFormat) throws {
        let image = try photo()
        let limit = format == .webp ? 500 : 1_500
        let data = try registry.encode(image, as: format, options: EncodingOptions(byteLimit: limit))
        let info = try registry.info(of: data)
        #expect(data.count <= limit && data.count > limit / 5, "\(data.count)")
        #expect(info.size.width < image.width)
        let proportions = Double(info.size.width * image.height) / Double(info.size.height * image.width)
        #expect(abs(proportions - 1) < 0.2)
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func shrinksAnimations(_ format: ImageFormat) throws {
        let image = try registry.decode(Fixture("animated.webp").data())
        let whole = try registry.encode(image, as: format).count
        let limit = format == .webp ? 700 : whole / 2
        let data = try registry.encode(image, as: format, options: EncodingOptions(byteLimit: limit))
        #expect(data.count <= limit)
        #expect(try registry.info(of: data).frameCount == 3)
    }

    /// Also if a box has changed the proportions.
    @Test(arguments: [ImageFormat.gif, .png]) func keepsTheProportionsOfStretchedAnimations(_ format: ImageFormat)
        throws
    {
        let image = try registry.decode(Fixture("animated.webp").data())
        let bounds = Thumbnail(.pixels(width: image.width, height: image.height / 4), mode: .stretch)
        let whole = try registry.encode(image, as: format, options: EncodingOptions(bounds: bounds)).count
        let limits = EncodingOptions(bounds: bounds, byteLimit: whole * 2 / 3)
        let size = try registry.info(of: registry.encode(image, as: format, options: limits)).size
        #expect(size.width < image.width)
        let expected = bounds.targetSize(of: image.pixels.size)
        #expect(abs(size.height * expected.width / size.width - expected.height) <= 2)
    }

    @Test func keepsFilesThatAreShortEnough() throws {
        let image = try photo()
        let data = try registry.encode(image, as: .jpeg)
        #expect(try registry.encode(image, as: .jpeg, options: EncodingOptions(byteLimit: data.count)) == data)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp, .png, .gif])
    func reportsTheShortestLength(_ format: ImageFormat) throws {
        let image = try photo()
        let encoder = CountingEncoder(try #require(CodecRegistry.builtInEncoders.first { $0.format == format }))
        let registry = CodecRegistry(encoders: [encoder])
        #expect {
            try registry.encode(image, as: format, options: EncodingOptions(byteLimit: 10))
        } throws: { error in
            guard case .encoding(format, .tooLong(let byteCount, 10))? = error as? WebImageError else { return false }
            return byteCount > 10 && byteCount < 2_000
        }
        #expect(encoder.count <= 16)
    }
}

/// Counts its calls.
private final class CountingEncoder: ImageEncoder {
    private let encoder: any ImageEncoder
    private let calls = LockBox(0)

    init(_ encoder: any ImageEncoder) { self.encoder = encoder }

    var format: ImageFormat { encoder.format }
    var count: Int { calls.withLock { $0 } }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        calls.withLock { $0 += 1 }
        return try encoder.encode(image, options: options)
    }
}
