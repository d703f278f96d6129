import CodingTestSupport
import Foundation
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Truncated files, files with flipped bits, and hostile files.
@Suite(.timeLimit(.minutes(3))) struct DamagedDataTests {
    private let registry = CodecRegistry()

    private static let fixtures = [
        "baseline-420.jpg", "progressive-444.jpg", "cmyk-adobe.jpg", "rgb-8.png", "rgba-16-adam7.png",
        "palette-4-alpha.png", "interlaced.gif", "offset.gif", "animated.gif", "lossy.webp", "lossless-alpha.webp",
        "animated.webp",
    ].map(Fixture.init)

    /// Only an end marker after the last pixel may be missing.
    @Test(arguments: fixtures)
    func refusesTruncatedDataUnlessEveryPixelIsThere(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = Pixels(try registry.decode(data).pixels)
        var refusedCount = 0
        for length in 0..<data.count {
            do throws(WebImageError) {
                let image = try registry.decode(data.prefix(length), options: DecodingOptions(allowsDamage: false))
                #expect(Pixels(image.pixels) == whole, "\(length) of \(data.count) bytes")
            } catch {
                refusedCount += 1
                switch error {
                case .unrecognizedFormat: #expect(length < 12)
                case .decoding(_, .truncated, _): break
                default: Issue.record("\(length) of \(data.count) bytes: \(error)")
                }
            }
        }
        #expect(refusedCount > 0)
        if fixture.name.hasSuffix("jpg") { #expect(refusedCount >= data.count - 4) }
        let isNeverCut = fixture.name.hasSuffix("png") || fixture.name.hasSuffix("webp")
        if isNeverCut || fixture.name == "animated.gif" { #expect(refusedCount == data.count) }
    }

    @Test(arguments: [
        "baseline-420.jpg", "progressive-420.jpg", "progressive-grey.jpg", "progressive-restart.jpg",
        "scan-per-component.jpg",
    ])
    func decodesAJPEGWithoutItsEndMarker(_ name: String) throws {
        let data = try Fixture(name).data()
        #expect(data.suffix(2) == Data([0xFF, 0xD9]))
        let image = try registry.decode(data.dropLast(2), options: DecodingOptions(allowsDamage: false))
        #expect(!image.isPartial)
        #expect(try Pixels(image.pixels) == Pixels(registry.decode(data).pixels))
    }

    /// Only missing detail tells that the file is truncated.
    @Test(arguments: ["progressive-420.jpg", "progressive-grey.jpg", "scan-per-component.jpg"])
    func showsCompleteScansOnly(_ name: String) throws {
        let data = try Fixture(name).data()
        for offset in data.scanOffsets.dropFirst() {
            // The tables before a scan belong to it.
            let image = try registry.decode(data.prefix(offset))
            #expect(image.isPartial, "without the scan at \(offset)")
        }
    }

    @Test func namesAnUnsupportedFeature() throws {
        var data = try Fixture("baseline-420.jpg").data()
        let header = try #require(data.baselineFrameHeader)
        data[header + 4] = 12
        let feature = "Unsupported JPEG data precision 12"
        #expect(throws: WebImageError.decoding(format: .jpeg, reason: .unsupported(feature))) {
            try registry.decode(data)
        }
    }

    @Test(arguments: fixtures)
    func survivesFlippedBits(_ fixture: Fixture) throws {
        let data = try fixture.data()
        var options = DecodingOptions()
        options.limits.pixelCount = 1_000_000
        for position in data.indices.dropFirst(8) {
            var damaged = data
            damaged[position] ^= 1 << (position % 8)
            // Every result but a crash is correct: some bits do not matter, and some formats have no checksum.
            if let image = try? registry.decode(damaged, options: options) {
                #expect(image.pixels.size.pixelCount <= 1_000_000)
            }
            _ = try? registry.info(of: damaged)
        }
    }

    @Test(arguments: ["jpg", "png", "gif", "webp"])
    func survivesNoiseAfterASignature(_ fileExtension: String) throws {
        let fixture = try #require(Fixture.all(withExtension: fileExtension).first)
        let start = try fixture.data().prefix(12)
        var generator = SplitMix64(seed: 42)
        for count in 1...200 {
            let data = start + Data(generator.bytes(count: count))
            #expect(throws: WebImageError.self) { try registry.decode(data) }
            _ = try? registry.info(of: data)
        }
    }

    @Test(arguments: [
        ("baseline-420.jpg", sizeOffsetOfFrameHeader, 2), ("rgb-8.png", 16, 4), ("87a.gif", 6, 2),
    ])
    func refusesAHugeImage(name: String, offset: Int, byteCount: Int) throws {
        var data = try Fixture(name).data()
        let offset = offset == Self.sizeOffsetOfFrameHeader ? try #require(data.baselineFrameHeader) + 5 : offset
        for side in 0..<2 {
            for index in 0..<byteCount {
                let isLow = byteCount == 2 || index >= 2
                data[offset + side * byteCount + index] = isLow ? 0xFF : 0
            }
        }
        let size = PixelSize(width: 65_535, height: 65_535)
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try registry.decode(data)
        }
        #expect(try registry.info(of: data).size == size)
    }

    @Test func refusesAHugeWebP() throws {
        var data = try Fixture("animated.webp").data()
        // The canvas in the extended header: width and height minus 1, 24 bits each.
        data.replaceSubrange(24..<30, with: [0xFE, 0x3F, 0, 0xFE, 0x3F, 0])
        #expect(
            throws: WebImageError.limitExceeded(
                reason: .pixels(size: PixelSize(width: 16_383, height: 16_383), limit: 100_000_000))
        ) {
            try registry.decode(data)
        }
    }

    @Test(arguments: ["photo.jpg", "photo.png", "87a.gif", "lossy.webp"])
    func refusesMorePixelsThanAllowed(_ name: String) throws {
        let data = try Fixture(name).data()
        let size = try registry.info(of: data).size
        var options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        options.limits.pixelCount = size.pixelCount
        #expect(throws: Never.self) { try registry.decode(data, options: options) }
        options.limits.pixelCount = size.pixelCount - 1
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: size.pixelCount - 1))) {
            try registry.decode(data, options: options)
        }
    }

    @Test func refusesMoreScansThanAllowed() throws {
        let data = try Fixture("scan-bomb.jpg").data()
        #expect(throws: WebImageError.limitExceeded(reason: .scans(limit: 100))) {
            try registry.decode(data)
        }
        var options = DecodingOptions()
        options.limits.scanCount = 1_000
        #expect(try registry.decode(data, options: options).width == 64)
    }

    @Test func refusesUndefinedLZWCodes() throws {
        var data = try Fixture("offset.gif").data()
        // After the frame's descriptor: the code size of 2, a block length, then a clear code of 3 bits.
        #expect(data[35] == 2)
        data[37] = 0b0011_1100
        #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("LZW code 7 before it is defined"))) {
            try registry.decode(data)
        }
    }

    private static let sizeOffsetOfFrameHeader = -1
}

/// Truncated, modified or invented files: the same result in every way of decoding, no crash, no hang, no uninitialized
/// pixels.
@Suite(.timeLimit(.minutes(3))) struct CorruptionTests {
    static let fixtures = [
        "baseline-420.jpg", "progressive-420.jpg", "scan-per-component.jpg", "cmyk-adobe.jpg", "rgba-8.png",
        "palette-4-adam7.png", "rgb-16.png", "animated.png",
        "interlaced.gif", "animated.gif", "lossy.webp", "lossless.webp", "animated-parts.webp",
    ].map(Fixture.init)

    private func faults(_ data: Data) throws -> [String] {
        let format = try #require(ImageFormat(signatureOf: data))
        let decoder = try #require(CodecRegistry.builtInDecoders().first { $0.format == format })
        var exercise = DecoderExercise(decoder, input: data)
        exercise.run()
        return exercise.faults
    }

    @Test(arguments: fixtures) func survivesTruncationAtEveryHundredth(_ fixture: Fixture) throws {
        let data = try fixture.data()
        for percent in 1...100 {
            let length = max(12, data.count * percent / 100)
            #expect(try faults(data.prefix(length)) == [], "cut to \(length) bytes")
        }
    }

    @Test(arguments: fixtures) func survivesFlippedBits(_ fixture: Fixture) throws {
        var random = SplitMix64(seed: 5)
        let data = try fixture.data()
        for _ in 0..<40 {
            var changed = data
            let (offset, bit) = (Int.random(in: 12..<data.count, using: &random), Int.random(in: 0..<8, using: &random))
            changed[offset] ^= 1 << bit
            #expect(try faults(changed) == [], "bit \(bit) of byte \(offset)")
        }
    }

    @Test(
        arguments: [
            [0xFF, 0xD8, 0xFF], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], Array("GIF89a".utf8),
            Array("RIFF\u{40}\u{1}\0\0WEBPVP8 ".utf8), Array("RIFF\u{40}\u{1}\0\0WEBPVP8L".utf8),
        ] as [[UInt8]])
    func survivesNoiseAfterASignature(_ signature: [UInt8]) throws {
        var random = SplitMix64(seed: 6)
        for length in 0..<60 {
            let noise = random.bytes(count: length * 8)
            #expect(try faults(Data(signature + noise + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])) == [])
        }
    }

    /// Regressions found by fuzzing.
    @Test func passesRegressions() throws {
        let directory = Fixture.directory.deletingLastPathComponent().appending(path: "regressions")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasSuffix(".md") }
        for name in names {
            #expect(try faults(Data(contentsOf: directory.appending(path: name))) == [], "\(name)")
        }
    }
}
