import CodingTestSupport
import Foundation
import Testing
import WebImageTestSupport
import WebImageCore

@testable import WebImageCoding

/// Where files store color information.
@Suite(.timeLimit(.minutes(3))) struct EmbeddedProfileTests {
    private let profile = ProfileBytes.display(.displayP3, curve: sRGBCurve).bytes

    // MARK: Kept colors

    /// A photograph in Display P3 keeps its stored colors, and is the same image as converted to sRGB before.
    @Test(arguments: [ImageFormat.jpeg, .png, .webp], [1, 70_000])
    func keepsTheColorsAndTheProfile(format: ImageFormat, profileByteCount: Int) throws {
        var profile = profile
        // Longer than a segment of a JPEG.
        profile += [UInt8](repeating: 7, count: max(0, profileByteCount - profile.count))
        profile.replaceSubrange(0..<4, with: number(profile.count, count: 4))
        let pieces = stride(from: 0, to: profile.count, by: 60_000).map {
            Array(profile[$0..<min($0 + 60_000, profile.count)])
        }
        let original = try jpeg(pieces.enumerated().map { (UInt8($0 + 1), UInt8(pieces.count), $1) })
        let registry = CodecRegistry()
        var decoding = DecodingOptions()
        decoding.keepsColors = true
        let kept = try registry.decode(original, options: decoding)
        #expect(try Pixels(kept.pixels) == Pixels(registry.decode(Fixture("baseline-444.jpg").data()).pixels))
        var options = EncodingOptions(quality: 1, isLossless: true)
        options.colorProfile = try registry.keptProfile(of: original)
        options.metadata = CameraMetadata.metadata()
        let file = try registry.encode(kept, as: format, options: options)
        #expect(try registry.colorProfile(of: file)?.bytes == profile)
        // The color space is still what the camera wrote.
        #expect(try CameraMetadata.numbers(of: registry.metadata(of: file))["colorSpace"] == 0xFFFF)
        let (converted, expected) = try (registry.decode(file), registry.decode(original))
        #expect(try #require(Pixels(converted.pixels).psnr(against: Pixels(expected.pixels))) > 45)
        #expect(try #require(Pixels(kept.pixels).psnr(against: Pixels(expected.pixels))) < 40)
        let later = try kept.pixels.convertedToSRGB(from: try #require(options.colorProfile))
        #expect(Pixels(later) == Pixels(expected.pixels))
    }

    @Test func anInkProfileAndCodePointsAreNotKept() throws {
        let press = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/press.jpg"))
        var options = DecodingOptions()
        options.keepsColors = true
        #expect(try CodecRegistry().keptProfile(of: press) == nil)
        let (kept, converted) = try (
            CodecRegistry().decode(press, options: options), CodecRegistry().decode(press)
        )
        #expect(Pixels(kept.pixels) == Pixels(converted.pixels))
    }

    // MARK: JPEG

    private func jpeg(_ pieces: [(number: UInt8, count: UInt8, bytes: [UInt8])]) throws -> Data {
        var data = try Fixture("baseline-444.jpg").data()
        var segments = Data()
        for piece in pieces {
            let content = Array("ICC_PROFILE\0".utf8) + [piece.number, piece.count] + piece.bytes
            segments += [0xFF, 0xE2] + number(content.count + 2, count: 2) + content
        }
        data.insert(contentsOf: segments, at: 2)
        return data
    }

    private func profile(inJPEG data: Data) throws -> ColorProfile? {
        try JPEGHeader(reading: data.bytes).colorProfile(in: data.bytes)
    }

    @Test func joinsTheProfileOfAJPEGInAnyOrder() throws {
        let thirds = [Array(profile[..<100]), Array(profile[100..<101]), Array(profile[101...])]
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            let data = try jpeg(order.map { (UInt8($0 + 1), 3, thirds[$0]) })
            #expect(try profile(inJPEG: data)?.bytes == profile)
        }
    }

    @Test func refusesContradictoryPieces() throws {
        let (first, second) = (Array(profile[..<100]), Array(profile[100...]))
        let wrong: [[(UInt8, UInt8, [UInt8])]] = [
            [(1, 2, first)], [(1, 2, first), (1, 2, second)], [(0, 2, first), (1, 2, second)],
            [(1, 2, first), (3, 2, second)], [(1, 2, first), (2, 3, second)], [(2, 2, first), (1, 2, second)],
            [(1, 1, profile), (2, 1, [])], [(1, 0, profile)], [(1, 255, profile)],
        ]
        for pieces in wrong {
            let data = try jpeg(pieces)
            #expect(try profile(inJPEG: data) == nil)
            #expect(try JPEGDecoder().info(of: data).hasColorProfile)
            let plain = try JPEGDecoder().decode(Fixture("baseline-444.jpg").data(), options: DecodingOptions())
            let shown = try JPEGDecoder().decode(data, options: DecodingOptions())
            #expect(Pixels(shown.pixels) == Pixels(plain.pixels))
        }
    }

    @Test func limitsTheProfileOfAJPEG() throws {
        let piece = [UInt8](repeating: 0, count: 65_000)
        let pieces = (1...UInt8(70)).map { (number: $0, count: UInt8(70), bytes: $0 == 1 ? profile : piece) }
        #expect(try profile(inJPEG: jpeg(pieces)) == nil)
        #expect(try profile(inJPEG: jpeg(pieces.prefix(60).map { ($0.number, 60, $0.bytes) })) != nil)
    }

    @Test func survivesASegmentShorterThanItsSignature() throws {
        var data = try Fixture("baseline-444.jpg").data()
        // Its length is four bytes; the signature is after its end.
        data.insert(contentsOf: [0xFF, 0xE2, 0, 4] + Array("ICC_PROFILE\0\u{1}\u{1}".utf8), at: 2)
        #expect(try profile(inJPEG: data) == nil)
    }

    // MARK: PNG

    /// `rgb-8.png` with more chunks after its header.
    private func png(_ chunks: [(name: String, content: [UInt8])]) throws -> Data {
        var data = try Fixture("rgb-8.png").data()
        let inserted = chunks.reduce(Data()) { $0 + pngChunk($1.name.utf8, $1.content) }
        data.insert(contentsOf: inserted, at: 33)
        return data
    }

    private func encoding(_ chunks: [(name: String, content: [UInt8])]) throws -> ColorEncoding {
        let data = try png(chunks)
        return try PNGHeader(reading: data.bytes).colors.encoding(in: data.bytes)
    }

    private func profileChunk(_ bytes: [UInt8], name: String = "name", method: UInt8 = 0) -> (String, [UInt8]) {
        ("iCCP", Array(name.utf8) + [0, method] + storedZlib(bytes))
    }

    private let gamma = (name: "gAMA", content: number(55_555, count: 4))
    private let lights = (
        name: "cHRM",
        content: [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000].flatMap { number($0, count: 4) }
    )

    @Test func ranksTheChunksOfAPNG() throws {
        let sRGB = (name: "sRGB", content: [0] as [UInt8])
        let codePoints = (name: "cICP", content: [12, 13, 0, 1] as [UInt8])
        let profiled = ColorEncoding.profile(try #require(ColorProfile(profile)))
        #expect(try encoding([]) == .sRGB)
        #expect(try encoding([profileChunk(profile)]) == profiled)
        #expect(try encoding([gamma, lights, sRGB, profileChunk(profile)]) == profiled)
        #expect(try encoding([profileChunk(profile), codePoints]) == .primaries(.displayP3, .sRGB))
        #expect(try encoding([gamma, lights, sRGB]) == .sRGB)
        #expect(try encoding([gamma]) == .gamma(0.55555))
        #expect(try encoding([lights]) == .sRGB)
        #expect(try encoding([lights, gamma]) == .primaries(.displayP3, .gamma(1 / 0.55555)))
        let hdr = try encoding([("cICP", [9, 16, 0, 1]), profileChunk(profile)])
        #expect(hdr == ColorCodePoints(primaries: 9, transfer: 16).encoding)
        // Reserved values: the next chunk applies.
        #expect(try encoding([("cICP", [99, 99, 0, 1]), gamma]) == .gamma(0.55555))
    }

    @Test func ignoresBrokenChunks() throws {
        #expect(try encoding([profileChunk(Array("no profile".utf8))]) == .sRGB)
        #expect(try encoding([profileChunk(profile, method: 1)]) == .sRGB)
        #expect(try encoding([profileChunk(profile, name: String(repeating: "x", count: 90))]) == .sRGB)
        #expect(try encoding([("iCCP", []), ("gAMA", [0, 0]), ("cHRM", [1]), ("cICP", [1])]) == .sRGB)
        #expect(try encoding([("gAMA", number(0, count: 4))]) == .sRGB)
        let nowhere = (name: "cHRM", content: [UInt8](repeating: 0, count: 32))
        #expect(ColorConversion(from: try encoding([nowhere, gamma])).isIdentity)
        #expect(ColorConversion(from: .gamma(1e-5)).isIdentity)
        #expect(ColorConversion(from: .gamma(40_000)).isIdentity)
    }

    @Test func readsColorsOnlyBeforeThePixelsOfAPNG() throws {
        var data = try Fixture("rgb-8.png").data()
        data.insert(contentsOf: pngChunk("gAMA".utf8, number(100_000, count: 4)), at: data.count - 12)
        let encoding = try PNGHeader(reading: data.bytes).colors.encoding(in: data.bytes)
        #expect(encoding == .sRGB)
    }

    @Test func limitsADecompressedProfile() throws {
        let (length, limit) = (300_000, 100_000)
        let bomb = storedZlib([UInt8](repeating: 7, count: length))
        #expect(unpackedCount(bomb, byteLimit: limit) == nil)
        #expect(unpackedCount(bomb, byteLimit: length) == length)
        #expect(unpackedCount(bomb.dropLast(9), byteLimit: length) == nil)
        #expect(unpackedCount([1, 2, 3], byteLimit: limit) == nil)
    }

    private func unpackedCount(_ bytes: [UInt8], byteLimit: Int) -> Int? {
        PNGColors.decompressed(bytes.span.bytes, byteLimit: byteLimit)?.count
    }

    @Test func appliesAGammaToGraysAsToColors() throws {
        var data = try Fixture("grey-8.png").data()
        data.insert(contentsOf: pngChunk("gAMA".utf8, number(100_000, count: 4)), at: 33)
        let plain = try Fixture("grey-8.png").reference()
        let shown = Pixels(try PNGDecoder().decode(data, options: DecodingOptions()).pixels)
        for (before, after) in zip(plain.bytes, shown.bytes) {
            #expect(Double(after) == (pow(Double(before) / 255, 1 / 2.2) * 255).rounded())
        }
    }

    // MARK: WebP

    @Test func refusesATruncatedProfileOfAWebP() throws {
        let data = try Fixture("../color/prophoto.webp").data()
        let file = try WebPFile(reading: data.bytes)
        let whole = file.colorProfile(in: data.bytes)
        #expect(whole != nil)
        let cut = data.prefix(try #require(file.profile).upperBound - 1)
        let profile = file.colorProfile(in: Data(cut).bytes)
        #expect(profile == nil)
    }

    // MARK: Models

    @Test(arguments: ["p3.jpg", "adobe.png", "prophoto.webp"])
    func readsTheNameOfTheProfile(_ name: String) throws {
        let info = try CodecRegistry().info(of: Fixture("../color/" + name).data())
        #expect(info.hasColorProfile)
        #expect(info.colorProfileName == "test")
    }

    @Test func ignoresProfilesOfAnotherModel() throws {
        let gray = ProfileBytes.gray(curve: gammaCurve(1)).bytes
        let plain = try Fixture("rgb-8.png").reference()
        let shown = try PNGDecoder().decode(png([profileChunk(gray)]), options: DecodingOptions())
        #expect(Pixels(shown.pixels) == plain)
    }

    @Test func convertsColorsOnlyWithinTheLimits() throws {
        // A unique profile, because the cache is shared by the process.
        let profile = ProfileBytes.display(.adobeRGB, curve: gammaCurve(1.734)).bytes
        let encoding = ColorEncoding.profile(try #require(ColorProfile(profile)))
        var options = DecodingOptions()
        options.limits.pixelCount = 1
        for data in [try jpeg([(1, 1, profile)]), try png([profileChunk(profile)])] {
            #expect(throws: WebImageError.self) { try CodecRegistry().decode(data, options: options) }
            #expect(!ColorConversion.transforms.holds(encoding))
        }
        _ = try JPEGDecoder().decode(jpeg([(1, 1, profile)]), options: DecodingOptions())
        #expect(ColorConversion.transforms.holds(encoding))
    }

    @Test func stopsWhenCancelled() throws {
        let checkpoints = Checkpoints(cancellingAt: 1)
        let conversion = ColorConversion(from: .primaries(.displayP3, .sRGB))
        let pixels = try Pixels(size: PixelSize(width: 1, height: 1), bytes: [1, 2, 3, 255]).buffer(isOpaque: true)
        #expect(throws: WebImageError.cancelled) {
            try conversion.convertedToSRGB(pixels, cancellation: checkpoints.cancellation)
        }
        #expect(try conversion.convertedToSRGB(pixels).isOpaque)
        #expect(try ColorConversion.none.convertedToSRGB(pixels) === pixels)
    }
}

/// An uncompressed zlib stream.
private func storedZlib(_ bytes: [UInt8]) -> [UInt8] {
    var output: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: bytes.count, by: 65_535) {
        let block = bytes[start..<min(start + 65_535, bytes.count)]
        let length = [UInt8(block.count & 0xFF), UInt8(block.count >> 8)]
        output += [block.endIndex == bytes.count ? 1 : 0] + length + length.map { ~$0 } + block
    }
    var (a, b) = (1, 0)
    for byte in bytes {
        a = (a + Int(byte)) % 65521
        b = (b + a) % 65521
    }
    return output + number(b << 16 | a, count: 4)
}
