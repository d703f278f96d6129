import CodingTestSupport
import Dispatch
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// Images with color chunks or profiles, compared with Pillow and lcms2.
@Suite(.timeLimit(.minutes(3))) struct ColorFixtureTests {
    private func decoded(_ name: String) throws -> (pixels: Pixels, reference: Pixels) {
        let fixture = Fixture("../color/" + name)
        return (Pixels(try CodecRegistry().decode(fixture.data()).pixels), try fixture.reference())
    }

    @Test(arguments: [
        "table.png", "gray.png", "prophoto.webp", "lights.png", "gamma.png",
        "code-points-win.png",
    ])
    func convertsToSRGB(_ name: String) throws {
        let (pixels, reference) = try decoded(name)
        #expect(try #require(pixels.difference(from: reference)) <= 2)
        #expect(try #require(pixels.psnr(against: reference)) > 48)
    }

    // With little alpha there are few color levels left to convert.
    @Test(arguments: ["adobe.png", "scanner.png"])
    func convertsTranslucentPixels(_ name: String) throws {
        let (pixels, reference) = try decoded(name)
        #expect(try #require(pixels.difference(from: reference)) <= 4)
        #expect(try #require(pixels.psnr(against: reference)) > 48)
    }

    // One level of the decoder is several after a steep curve.
    @Test(arguments: ["p3.jpg", "gray.jpg", "gray-in-colors.jpg", "press.jpg"])
    func convertsJPEGToSRGB(_ name: String) throws {
        let (pixels, reference) = try decoded(name)
        #expect(try #require(pixels.difference(from: reference)) <= 4)
        #expect(try #require(pixels.psnr(against: reference)) > 45)
    }

    @Test(arguments: ["srgb.png", "srgb-wins.png", "gamma-of-displays.png"])
    func leavesSRGBUntouched(_ name: String) throws {
        let (pixels, reference) = try decoded(name)
        #expect(pixels == reference)
    }

    @Test func leavesASRGBPhotographUntouched() throws {
        let data = try Fixture("../color/srgb.jpg").data()
        var plain = data
        let range = try #require(plain.range(of: Data([0xFF, 0xE2])))
        let length = Int(plain[range.upperBound]) << 8 | Int(plain[range.upperBound + 1])
        plain.removeSubrange(range.lowerBound..<range.upperBound + length)
        #expect(try !JPEGDecoder().info(of: plain).hasColorProfile)
        let options = DecodingOptions()
        #expect(
            Pixels(try JPEGDecoder().decode(data, options: options).pixels)
                == Pixels(try JPEGDecoder().decode(plain, options: options).pixels))
    }

    @Test(arguments: ["p3.jpg", "press.jpg", "adobe.png", "prophoto.webp"])
    func convertsThumbnailsAfterScaling(_ name: String) throws {
        let fixture = Fixture("../color/" + name)
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 12, height: 12)))
        let small = Pixels(try CodecRegistry().decode(fixture.data(), options: options).pixels)
        let reference = try Pixels(fixture.reference().buffer().resampled(to: small.size))
        // The order of the steps differs, but not the image.
        #expect(try #require(small.psnr(against: reference)) > 28)
        let unconverted = try unprofiled(fixture, options: options)
        #expect(small != unconverted)
    }

    /// The same image read as sRGB.
    private func unprofiled(_ fixture: Fixture, options: DecodingOptions) throws -> Pixels {
        var data = try fixture.data()
        for name in ["acsp", "iCCP", "ICCP"] {
            while let range = data.range(of: Data(name.utf8)) { data.replaceSubrange(range, with: Data("junk".utf8)) }
        }
        if fixture.name.hasSuffix("png") { data = withChecksums(data) }
        return Pixels(try CodecRegistry().decode(data, options: options).pixels)
    }
}

/// A modified PNG with corrected checksums.
func withChecksums(_ data: Data) -> Data {
    var output = Data(data.prefix(8))
    var offset = 8
    while offset + 12 <= data.count {
        let length = data[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        output += pngChunk(data[offset + 4..<offset + 8], data[offset + 8..<offset + 8 + length])
        offset += length + 12
    }
    return output
}

func pngChunk(_ name: some Sequence<UInt8>, _ content: some Sequence<UInt8>) -> Data {
    let content = Array(content)
    let checked = Array(name) + content
    var checksum: UInt32 = 0xFFFF_FFFF
    for byte in checked {
        checksum ^= UInt32(byte)
        for _ in 0..<8 { checksum = checksum >> 1 ^ (checksum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return Data(number(content.count, count: 4) + checked + number(Int(~checksum), count: 4))
}

@Suite(.timeLimit(.minutes(3))) struct ColorTransformCacheTests {
    private func encoding(gamma: Double) throws -> ColorEncoding {
        .profile(try #require(ProfileBytes.display(.displayP3, curve: gammaCurve(gamma)).profile()))
    }

    @Test func keepsTheMostRecentlyUsed() throws {
        let cache = ColorTransformCache(countLimit: 2)
        let (first, second, third) = (try encoding(gamma: 1), try encoding(gamma: 2), try encoding(gamma: 3))
        for encoding in [first, second, first, third] {
            #expect(cache.transform(from: encoding, model: .rgb) != nil)
        }
        #expect(cache.count == 2)
        #expect(cache.holds(first))
        #expect(!cache.holds(second))
        #expect(cache.holds(third))
    }

    @Test func isLimitedInBytes() throws {
        let cache = ColorTransformCache(byteLimit: 40_000)
        for gamma in 1...20 { _ = cache.transform(from: try encoding(gamma: Double(gamma) / 8), model: .rgb) }
        // Each takes 12 KB and its profile.
        #expect(cache.count == 3)
    }

    @Test func cachesUnusableProfiles() throws {
        let cache = ColorTransformCache()
        let useless = ColorEncoding.profile(try #require(ProfileBytes().profile()))
        #expect(cache.transform(from: useless, model: .rgb) == nil)
        #expect(cache.holds(useless))
    }

    @Test func distinguishesModels() throws {
        let cache = ColorTransformCache()
        let gray = ColorEncoding.profile(try #require(ProfileBytes.gray(curve: gammaCurve(1)).profile()))
        #expect(cache.transform(from: gray, model: .gray) != nil)
        #expect(cache.transform(from: gray, model: .rgb) == nil)
        #expect(cache.transform(from: gray, model: .cmyk) == nil)
    }

    @Test func servesManyThreads() throws {
        // Fewer entries than profiles, so that threads evict what others use.
        let cache = ColorTransformCache(countLimit: 2)
        let file = try Fixture("../color/scanner.png").data()
        let profile = try PNGHeader(reading: file.bytes).colors.profile(in: file.bytes)
        let scanner = try #require(profile)
        let encodings = try [.profile(scanner)] + (1...3).map { try encoding(gamma: Double($0)) }
        let expected = encodings.map { convertedNoise(by: $0, cache: ColorTransformCache()) }
        let wrongCount = LockBox(0)
        DispatchQueue.concurrentPerform(iterations: 64) { index in
            let choice = index % encodings.count
            if convertedNoise(by: encodings[choice], cache: cache) != expected[choice] {
                wrongCount.withLock { $0 += 1 }
            }
        }
        #expect(wrongCount.withLock { $0 } == 0)
        #expect(cache.count == 2)
    }

    private func convertedNoise(by encoding: ColorEncoding, cache: ColorTransformCache) -> [UInt8] {
        var colors = MatrixShaperTests.colors
        guard let transform = cache.transform(from: encoding, model: .rgb) else { return [] }
        colors.withUnsafeMutableBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            transform.convert(start, to: start, pixelCount: pixels.count / 4)
        }
        return colors
    }
}
