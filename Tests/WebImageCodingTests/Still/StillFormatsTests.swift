import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// BMP, ICO, ICNS, PNM and QOI: formats whose files are decoded as a whole.
@Suite(.timeLimit(.minutes(3))) struct StillFormatsTests {
    static let extensions = ["bmp", "ico", "cur", "icns", "pbm", "pgm", "ppm", "pam", "qoi"]
    static let fixtures = extensions.flatMap { Fixture.all(withExtension: $0) }
    private let registry = CodecRegistry()

    @Test func findsAllFixtures() { #expect(Self.fixtures.count == 39) }

    @Test(arguments: fixtures) func decodesExactly(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let image = try registry.decode(data)
        let reference = try fixture.reference()
        #expect(Pixels(image.pixels) == reference)
        #expect(image.pixels.isOpaque == reference.isOpaque)
        #expect(image.format == ImageFormat(signatureOf: data))
        #expect(!image.isPartial && !image.isThumbnail)
        let info = try registry.info(of: data)
        #expect(info.size == reference.size && info.frameCount == 1)
        #expect(info.hasAlpha || reference.isOpaque)
    }

    @Test(arguments: fixtures) func rowsAreResampledLikeTheWhole(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let file: any StillFile
        switch ImageFormat(signatureOf: data) {
        case .bmp: file = try BMPDecoder().file(data, page: nil)
        case .pnm: file = try PNMDecoder().file(data, page: nil)
        default: return
        }
        guard file.hasSeparateRows else { return }
        let target = PixelSize(width: max(1, file.size.width / 3), height: max(1, file.size.height / 2))
        let whole = try file.pixels(allowsDamage: false, cancellation: nil).pixels
        let rows = try #require(try file.pixels(resampledTo: target, cancellation: nil))
        #expect(Pixels(rows) == Pixels(try whole.resampled(to: target, cancellation: nil)))
        #expect(rows.isOpaque == whole.isOpaque)
    }

    @Test(arguments: fixtures) func probesAPrefixLikeTheWhole(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let info = try registry.info(of: data)
        var found: ImageProbe?
        for length in 0..<data.count {
            guard let probe = try registry.probe(data.prefix(length)) else {
                #expect(found == nil, "forgets at \(length) bytes")
                continue
            }
            #expect(probe.size == info.size && probe.hasAlpha == info.hasAlpha && probe.format == info.format)
            found = probe
        }
        #expect(found != nil)
    }

    @Test(arguments: fixtures) func makesThumbnails(_ fixture: Fixture) throws {
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 9, height: 9)))
        let image = try registry.decode(fixture.data(), options: options)
        #expect(max(image.width, image.height) == 9)
        #expect(image.isThumbnail)
    }

    // MARK: Bitmaps

    /// A bitmap of one pixel.
    private func bitmap(bits: Int, masks: [Int] = [], pixelOffset: Int, body: [UInt8]) -> Data {
        func number(_ value: Int, _ count: Int = 4) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        var bytes = Array("BM".utf8)
        for value in [0, 0, pixelOffset, 40, 1, 1] { bytes += number(value) }
        bytes += number(1, 2) + number(bits, 2) + number(masks.isEmpty ? 0 : 3)
        bytes += [UInt8](repeating: 0, count: 20)
        for mask in masks { bytes += number(mask) }
        return Data(bytes + body)
    }

    @Test(arguments: [0, 1, 2]) func aMaskOfABitmapHasNoGaps(channel: Int) throws {
        var masks = [0xF000, 0xF0, 0xF]
        let body: [UInt8] = [0x5F, 0xF0, 0, 0]
        let pixels = try registry.decode(bitmap(bits: 16, masks: masks, pixelOffset: 66, body: body)).pixels
        #expect(pixels[0, 0] == SIMD4(255, 85, 255, 255))
        masks[channel] &= 0xDDDD
        #expect(throws: WebImageError.decoding(format: .bmp, reason: .corrupt("a mask with gaps"))) {
            try registry.decode(bitmap(bits: 16, masks: masks, pixelOffset: 66, body: body))
        }
    }

    /// In this file the pixel is where the palette begins.
    @Test func aPaletteIsWithinTheFile() throws {
        func file(_ byteCount: Int) -> Data {
            bitmap(bits: 8, pixelOffset: 54, body: [UInt8](repeating: 0, count: byteCount))
        }
        #expect(try registry.decode(file(1024)).pixels[0, 0] == SIMD4(0, 0, 0, 255))
        for byteCount in [4, 1023] {
            #expect(throws: WebImageError.decoding(format: .bmp, reason: .truncated)) {
                try registry.decode(file(byteCount))
            }
        }
    }

    @Test func aTruncatedBitmapIsNotOpaque() throws {
        let data = try Fixture("bmp-24.bmp").data()
        let image = try registry.decode(data.prefix(data.count * 3 / 4))
        #expect(image.isPartial && !image.pixels.isOpaque)
        #expect(try registry.decode(data).pixels.isOpaque)
    }

    @Test(arguments: fixtures) func survivesDamage(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let format = try #require(ImageFormat(signatureOf: data))
        let decoder = try #require(CodecRegistry.builtInDecoders().first { $0.format == format })
        func check(_ data: Data, _ what: @autoclosure () -> String) {
            var exercise = DecoderExercise(decoder, input: data)
            exercise.run()
            #expect(exercise.faults == [], "\(what())")
        }
        for percent in stride(from: 1, through: 100, by: 3) {
            check(data.prefix(max(18, data.count * percent / 100)), "cut to \(percent) %")
        }
        var random = SplitMix64(seed: 5)
        for _ in 0..<60 {
            var changed = data
            let offset = Int.random(in: 2..<min(data.count, Bool.random(using: &random) ? 64 : .max), using: &random)
            changed[offset] = UInt8.random(in: 0...255, using: &random)
            check(changed, "byte \(offset)")
        }
    }

    @Test(arguments: ["bmp-24.bmp", "bmp-24-down.bmp", "bmp-8.bmp", "p3.ppm", "p6.ppm", "rgba.qoi"])
    func ofATruncatedFileTheRowsBeforeAreDecoded(_ name: String) throws {
        let data = try Fixture(name).data()
        let half = data.prefix(data.count * 3 / 4)
        let image = try registry.decode(half)
        #expect(image.isPartial && !image.pixels.isOpaque)
        let whole = try registry.decode(data)
        // A bitmap begins with the lowest row.
        let row = name.hasPrefix("bmp") && !name.contains("down") ? image.height - 1 : 0
        #expect((0..<image.width).allSatisfy { image.pixels[$0, row] == whole.pixels[$0, row] })
        #expect(image.pixels[0, image.height - 1 - row] == .zero)
        #expect(throws: WebImageError.decoding(format: whole.format ?? .bmp, reason: .truncated)) {
            try registry.decode(half, options: DecodingOptions(allowsDamage: false))
        }
    }

    /// Headers that claim 65,536 × 65,536 pixels.
    @Test(arguments: ["bmp-24.bmp", "rgba.qoi"]) func refusesHugeSizes(_ name: String) throws {
        var data = try Fixture(name).data()
        let isBitmap = name.hasSuffix("bmp")
        for offset in isBitmap ? [18, 22] : [4, 8] {
            data.replaceSubrange(offset..<offset + 4, with: isBitmap ? [0, 0, 1, 0] : [0, 1, 0, 0])
        }
        #expect(
            throws: WebImageError.limitExceeded(
                reason: .pixels(size: PixelSize(width: 65_536, height: 65_536), limit: 100_000_000))
        ) { try registry.decode(data) }
        #expect(throws: WebImageError.self) {
            try registry.decode(Data("P6 99999999999999999999 1 255\n".utf8))
        }
        #expect(throws: WebImageError.self) { try registry.decode(Data("P6 65536 65536 255\n".utf8)) }
    }

    @Test func respectsCancellation() throws {
        let cancellation = Cancellation()
        cancellation.cancel()
        for fixture in Self.fixtures {
            #expect(throws: WebImageError.cancelled) {
                try registry.decode(fixture.data(), options: DecodingOptions(cancellation: cancellation))
            }
        }
    }

    @Test func namesWhatABitmapHasThatItDoesNotRead() throws {
        var data = try Fixture("bmp-24.bmp").data()
        data[30] = 5
        #expect(throws: WebImageError.decoding(format: .bmp, reason: .unsupported("a PNG in a bitmap"))) {
            try registry.decode(data)
        }
    }

    /// The profile of a version 5 header follows the pixels.
    @Test func convertsTheProfileOfABitmap() throws {
        let plain = try Fixture("bmp-32-v5.bmp").data()
        let jpeg = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/p3.jpg"))
        let segment = try #require(jpeg.range(of: Data("ICC_PROFILE\0".utf8)))
        let length = Int(jpeg[segment.lowerBound - 2]) << 8 | Int(jpeg[segment.lowerBound - 1])
        let profile = jpeg[segment.upperBound + 2..<segment.lowerBound - 2 + length]
        var data = plain
        data.replaceSubrange(14 + 56..<14 + 60, with: Data("DEBM".utf8))
        for (offset, value) in [(112, plain.count - 14), (116, profile.count)] {
            data.replaceSubrange(
                14 + offset..<14 + offset + 4, with: (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) })
        }
        data += profile
        #expect(try registry.info(of: data).hasColorProfile)
        let (converted, unchanged) = (try registry.decode(data), try registry.decode(plain))
        #expect(try #require(Pixels(converted.pixels).difference(from: Pixels(unchanged.pixels))) > 5)
    }

    // MARK: Icons

    @Test(arguments: [(8, 16), (16, 16), (17, 32), (32, 32), (33, 48), (200, 48)])
    func theSmallestSufficientImageOfAnIconIsChosen(_ wanted: Int, _ side: Int) throws {
        // The images have different contents: each size has its own gradient.
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: wanted, height: wanted)))
        let image = try registry.decode(Fixture("sizes.ico").data(), options: options)
        let index = try #require([16, 48, 32].firstIndex(of: side))
        var page = options
        page.page = index
        #expect(try Pixels(registry.decode(Fixture("sizes.ico").data(), options: page).pixels) == Pixels(image.pixels))
    }

    @Test func everyImageOfAnIconHasAnIndex() throws {
        let data = try Fixture("sizes.ico").data()
        #expect(try registry.info(of: data).pageCount == 3)
        var options = DecodingOptions()
        for (page, side) in [16, 48, 32].enumerated() {
            options.page = page
            #expect(try registry.decode(data, options: options).pixels.size == PixelSize(width: side, height: side))
        }
        options.page = 3
        #expect(throws: WebImageError.decoding(format: .ico, reason: .page(3, count: 3))) {
            try registry.decode(data, options: options)
        }
        options.page = -1
        #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
    }

    @Test func aDamagedImageOfAnIconIsReplacedByAnother() throws {
        var data = try Fixture("sizes.ico").data()
        // The PNG of 48 × 48 follows the first bitmap.
        let png = try #require(data.range(of: Data([0x89, 0x50, 0x4E, 0x47])))
        data.replaceSubrange(png.lowerBound + 12..<png.lowerBound + 16, with: Data("JUNK".utf8))
        #expect(try registry.decode(data).pixels.size == PixelSize(width: 32, height: 32))
    }

    // MARK: Writing

    private func pixels(_ width: Int, _ height: Int, alpha: Bool) throws -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        var random = SplitMix64(seed: 9)
        pixels.withUnsafeMutableBytes { bytes in
            for pixel in 0..<bytes.count / 4 {
                let opacity = alpha ? UInt8((pixel + 1) % 256) : 255
                for channel in 0..<3 { bytes[pixel * 4 + channel] = UInt8.random(in: 0...opacity, using: &random) }
                bytes[pixel * 4 + 3] = opacity
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: !alpha))
    }

    @Test(arguments: [(1, 1), (3, 5), (64, 33)], [false, true])
    func aWrittenBitmapIsLossless(_ size: (Int, Int), _ alpha: Bool) throws {
        let image = try pixels(size.0, size.1, alpha: alpha)
        let data = try registry.encode(image, as: .bmp)
        let read = try registry.decode(data)
        #expect(Pixels(read.pixels) == Pixels(image.pixels))
        #expect(try registry.info(of: data).hasAlpha == alpha)
    }

    @Test func aWrittenIconHasTheRequestedSizes() throws {
        let image = try pixels(64, 32, alpha: true)
        var options = EncodingOptions()
        options.iconSides = [64, 16, 32]
        let data = try registry.encode(image, as: .ico, options: options)
        #expect(try registry.info(of: data).pageCount == 3)
        var decoding = DecodingOptions()
        for (page, side) in [16, 32, 64].enumerated() {
            decoding.page = page
            let read = try registry.decode(data, options: decoding)
            #expect(read.pixels.size == PixelSize(width: side, height: side / 2))
            let expected = try image.pixels.resampled(to: read.pixels.size, cancellation: nil)
            #expect(Pixels(read.pixels) == Pixels(expected))
        }
        options.iconSides = [257]
        #expect(throws: WebImageError.self) { try registry.encode(image, as: .ico, options: options) }
        #expect(try registry.decode(registry.encode(pixels(700, 20, alpha: false), as: .ico)).width == 256)
    }

    @Test(.enabled(if: OtherProgram.hasPillow)) func pillowReadsWhatIsWritten() throws {
        let directory = try TemporaryDirectory()
        for (format, alpha) in [(ImageFormat.bmp, false), (.bmp, true), (.ico, true)] {
            let image = try pixels(40, 30, alpha: alpha)
            let file = directory.url("image.\(format.fileExtension)")
            try registry.encode(image, as: format).write(to: file)
            let reading = try OtherProgram.pillowReading(of: file)
            #expect(reading.width == 40 && reading.height == 30)
            var straight = [UInt8](try #require(reading.frames.first))
            for pixel in stride(from: 0, to: straight.count, by: 4) {
                let opacity = Int(straight[pixel + 3])
                for channel in 0..<3 {
                    straight[pixel + channel] = UInt8((Int(straight[pixel + channel]) * opacity + 127) / 255)
                }
            }
            let size = PixelSize(width: 40, height: 30)
            let difference = Pixels(size: size, bytes: straight).difference(from: Pixels(image.pixels))
            #expect(try #require(difference) == 0, "\(format.name)")
        }
    }
}
