import Foundation
import Testing
import WebImageCore
import WebImageProcessing
import WebImageTestSupport

@Suite struct ThumbHashTests {
    private static let published = HashFixture.decoded.filter { $0.kind == "ThumbHash" }

    @Test func hasAllHashes() { #expect(Self.published.count == 8) }

    @Test(arguments: published)
    func decodesAsTheReference(_ fixture: HashFixture.Decoded) throws {
        let image = try ThumbHash(fixture.text).image()
        #expect(image.pixels.size == fixture.size)
        // The port rounds where the reference drops fractions: a level each of colour and alpha, multiplied.
        let bytes = image.pixels.withUnsafeBytes { Array($0) }
        for offset in stride(from: 0, to: bytes.count, by: 4) {
            let alpha = Int(fixture.straight[offset + 3])
            let colors = fixture.straight[offset..<offset + 3].map { (Int($0) * alpha + 127) / 255 }
            let isNear = zip(bytes[offset...], colors + [alpha]).allSatisfy {
                abs(Int($0) - $1) <= (alpha == 255 ? 1 : 2)
            }
            if !isNear { Issue.record("pixel \(offset / 4)") }
        }
    }

    @Test(arguments: HashFixture.encoded.filter { $0.thumbHash != nil })
    func encodesAsTheReference(_ fixture: HashFixture.Encoded) throws {
        let hash = try ThumbHash(of: HashFixture.picture(fixture.size, hasAlpha: fixture.hasAlpha))
        let expected = try ThumbHash(#require(fixture.thumbHash))
        #expect(hash.hasAlpha == expected.hasAlpha)
        if hash.hasAlpha {
            // Premultiplied colours are rounded, which can move a number that lies between two levels.
            let size = expected.bytes.count
            #expect(hash.bytes.count == size && hash.bytes[3] & 7 == expected.bytes[3] & 7)
            #expect(meanDifference(try hash.image().pixels, try expected.image().pixels) <= 2)
        } else {
            #expect(hash == expected)
        }
    }

    @Test func makesLargePicturesSmallerFirst() throws {
        let size = PixelSize(width: 640, height: 480)
        let large = try ThumbHash(of: smoothPicture(size))
        let small = try ThumbHash(of: smoothPicture(PixelSize(width: 100, height: 75)))
        let difference = meanDifference(try large.image().pixels, try small.image().pixels)
        // A wave that is not there has no level of its own: it is a little above or below 0, as rounding decides.
        #expect(difference <= 6)
    }

    @Test func looksLikeTheBlurredPicture() throws {
        let size = PixelSize(width: 32, height: 23)
        let image = try smoothPicture(size)
        let hash = try ThumbHash(of: image)
        #expect(meanDifference(try hash.image().pixels, image.pixels) <= 10)
    }

    @Test(
        arguments: [
            (100, 100, 1.0), (70, 10, 7.0), (10, 70, 1.0 / 7), (3, 300, 1.0 / 7), (40, 30, 1.4), (30, 40, 5.0 / 7),
        ] as [(Int, Int, Double)])
    func knowsTheProportions(_ width: Int, _ height: Int, ratio: Double) throws {
        let hash = try ThumbHash(of: smoothPicture(PixelSize(width: width, height: height)))
        #expect(abs(hash.aspectRatio - ratio) < 1e-9)
        let image = try hash.image(longestSide: 70)
        #expect(max(image.width, image.height) == 70)
        #expect((image.width > image.height) == (ratio > 1))
    }

    @Test func knowsTheAverageColor() throws {
        let hash = try ThumbHash(of: evenImage(SIMD4(255, 0, 0, 255), size: PixelSize(width: 9, height: 9)))
        let average = hash.averageColor
        #expect(average.red > 0.97 && average.green < 0.03 && average.blue < 0.03 && average.alpha == 1)

        let clear = try ThumbHash(of: evenImage(.zero, size: PixelSize(width: 9, height: 9)))
        #expect(clear.hasAlpha && clear.averageColor.alpha == 0)
        #expect(try clear.image().pixels[4, 4] == .zero)
    }

    @Test(arguments: [
        ("", WebImageError.PlaceholderHashFailure.wrongLength(byteCount: 0, expected: 5)),
        ("3OcR", .wrongLength(byteCount: 3, expected: 5)),
        ("3OcRJYB4d3h/iIeHeEh3eIhw", .wrongLength(byteCount: 18, expected: 21)),
        ("3OcRJYB4d3h/iIeHeEh3eIhw+j2wAA==", .wrongLength(byteCount: 22, expected: 21)),
        ("3OcR JYB4d3h/iIeHeEh3eIhw+j2w", .invalidCharacter(offset: 4)),
        ("3OcR=JYB", .invalidCharacter(offset: 4)), ("é", .invalidCharacter(offset: 0)),
        ("3OcRJYB4d", .invalidCharacter(offset: 9)), ("AAgCAAA=", .valueOutOfRange(offset: 3)),
    ])
    func refusesWhatIsNoHash(_ text: String, reason: WebImageError.PlaceholderHashFailure) {
        #expect(throws: WebImageError.invalidPlaceholderHash(text, reason: reason)) { try ThumbHash(text) }
    }

    @Test func takesBase64InAllItsForms() throws {
        let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
        #expect(try ThumbHash("3OcRJYB4d3h_iIeHeEh3eIhw-j2w") == hash)
        #expect(try ThumbHash(bytes: hash.bytes) == hash)
        let padded = try #require(HashFixture.encoded.compactMap(\.thumbHash).first { $0.hasSuffix("=") })
        let bare = padded.replacing("=", with: "")
        #expect(try ThumbHash(bare).base64 == padded)
    }

    @Test func noBytesCrash() throws {
        var random = SplitMix64(seed: 25)
        var validCount = 0
        for round in 0..<500 {
            let header = (0..<5).map { _ in UInt8.random(in: 0...255, using: &random) }
            for count in round % 3 == 0 ? [Int.random(in: 0..<40, using: &random)] : Array(15...30) {
                let bytes = (0..<count).map { $0 < 5 ? header[$0] : UInt8.random(in: 0...255, using: &random) }
                guard let hash = try? ThumbHash(bytes: bytes) else { continue }
                validCount += 1
                let image = try hash.image(longestSide: 3)
                #expect((0..<4).allSatisfy { image.pixels[0, 0][$0] <= image.pixels[0, 0].w })
            }
        }
        #expect(validCount > 20)
        #expect(throws: WebImageError.self) { try ThumbHash(String(repeating: "A", count: 10_000_000)) }
    }

    @Test func refusesSizesThatMakeNoSense() throws {
        let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
        for side in [0, -1, 65_536, 65_535] {
            #expect(throws: WebImageError.self) { try hash.image(longestSide: side) }
        }
    }

    @Test func isWrittenAsBase64() throws {
        let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
        let json = try JSONEncoder().encode([hash])
        #expect(try JSONDecoder().decode([String].self, from: json) == [hash.base64])
        #expect(try JSONDecoder().decode([ThumbHash].self, from: json) == [hash])
    }

    /// Waves that a hash can hold.
    private func smoothPicture(_ size: PixelSize) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let across = cos(.pi * (Double(x) + 0.5) / Double(size.width))
                    let down = cos(.pi * (Double(y) + 0.5) / Double(size.height))
                    let color = SIMD3(0.5 + 0.3 * across, 0.5 + 0.17 * down, 0.5 + 0.23 * across * down)
                    let offset = (y * size.width + x) * 4
                    for channel in 0..<3 { bytes[offset + channel] = UInt8((color[channel] * 255).rounded()) }
                    bytes[offset + 3] = 255
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }
}
