import Foundation
import Testing
import WebImageCore
import WebImageProcessing
import WebImageTestSupport

@Suite struct BlurHashTests {
    private static let published = HashFixture.decoded.filter { $0.kind == "BlurHash" }

    @Test func hasAllPublishedHashes() {
        #expect(Self.published.count == 18)
        #expect(HashFixture.encoded.count == 17)
    }

    @Test(arguments: published)
    func decodesAsTheReference(_ fixture: HashFixture.Decoded) throws {
        let hash = try BlurHash(fixture.text)
        let image = try hash.image(width: fixture.size.width, height: fixture.size.height, punch: fixture.punch)
        #expect(image.pixels.size == fixture.size && image.pixels.isOpaque)
        let bytes = image.pixels.withUnsafeBytes { Array($0) }
        let differences = zip(bytes, fixture.straight).map { abs(Int($0) - Int($1)) }
        #expect(differences.count == fixture.size.pixelCount * 4 && differences.allSatisfy { $0 <= 1 })
    }

    @Test(arguments: HashFixture.encoded.filter { !$0.hasAlpha && $0.size.width <= 128 && $0.size.height <= 128 })
    func encodesAsTheReference(_ fixture: HashFixture.Encoded) throws {
        let image = try HashFixture.picture(fixture.size, hasAlpha: false)
        #expect(fixture.blurHashes.count == 4)
        for (name, text) in fixture.blurHashes {
            let hash = try BlurHash(of: image, components: components(name))
            #expect(hash.string == text)
            #expect(try BlurHash(text) == hash)
        }
    }

    @Test(arguments: HashFixture.encoded.filter { !$0.hasAlpha && $0.size.width > 128 })
    func encodesLargePicturesSoThatTheyLookLikeTheReference(_ fixture: HashFixture.Encoded) throws {
        let image = try HashFixture.picture(fixture.size, hasAlpha: false)
        for (name, text) in fixture.blurHashes {
            let ours = try BlurHash(of: image, components: components(name)).image(width: 24, height: 16)
            let theirs = try BlurHash(text).image(width: 24, height: 16)
            #expect(largestDifference(ours.pixels, theirs.pixels) <= 4, "\(name)")
        }
    }

    @Test func knowsTheAverageColorAndTheComponents() throws {
        let hash = try BlurHash("LlMF%n00%#MwS|WCWEM{R*bbWBbH")
        #expect(hash.components == (4, 3))
        let average = hash.averageColor
        #expect(
            [average.red, average.green, average.blue].map { Int(($0 * 255).rounded()) }
                == [193, 154, 138])
        #expect(average.alpha == 1)
    }

    @Test func anEvenPictureStaysEven() throws {
        let image = try evenImage(SIMD4(10, 200, 77, 255), size: PixelSize(width: 300, height: 7))
        let decoded = try BlurHash(of: image, components: (9, 9)).image(width: 16, height: 16, punch: 0)
        #expect(decoded.pixels[3, 9] == SIMD4(10, 200, 77, 255))
    }

    @Test func laysTransparentPicturesOverTheBackground() throws {
        let image = try evenImage(.zero, size: PixelSize(width: 3, height: 3))
        #expect(try BlurHash(of: image).averageColor == .white)
        let blue = Color(red: 0, green: 0, blue: 1)
        #expect(try BlurHash(of: image, background: blue).averageColor == blue)
        let strange = Color(red: .nan, green: 7, blue: -.infinity)
        #expect(try BlurHash(of: image, background: strange).averageColor == Color(red: 0, green: 1, blue: 0))
    }

    @Test func whatIsDecodedEncodesToTheSamePicture() throws {
        for fixture in Self.published where fixture.punch == 1 {
            let hash = try BlurHash(fixture.text)
            let image = try hash.image(width: 64, height: 64)
            let again = try BlurHash(of: image, components: hash.components).image(width: 64, height: 64)
            // What is too bright to show is cut off before it is encoded again.
            #expect(meanDifference(image.pixels, again.pixels) <= 6, "\(fixture.text)")
        }
    }

    @Test(arguments: [
        ("", WebImageError.PlaceholderHashFailure.wrongLength(byteCount: 0, expected: 6)),
        ("LlMF%", .wrongLength(byteCount: 5, expected: 6)),
        ("LlMF%n00%#MwS|WCWEM{R*bbWBb", .wrongLength(byteCount: 27, expected: 28)),
        ("LlMF%n00%#MwS|WCWEM{R*bbWBbHH", .wrongLength(byteCount: 29, expected: 28)),
        ("LlMF%n00%#MwS WCWEM{R*bbWBbH", .invalidCharacter(offset: 13)),
        ("Ll\u{0}F%n00%#MwS|WCWEM{R*bbWBbH", .invalidCharacter(offset: 2)),
        ("試しLlMF%n00%#MwS|WCWEM{R*bb", .invalidCharacter(offset: 0)),
        ("~lMF%n00%#MwS|WCWEM{R*bbWBbH", .valueOutOfRange(offset: 0)),
        ("00~~~~", .valueOutOfRange(offset: 2)),
        ("L0MF%n~~%#MwS|WCWEM{R*bbWBbH", .valueOutOfRange(offset: 6)),
    ])
    func refusesWhatIsNoHash(_ text: String, reason: WebImageError.PlaceholderHashFailure) {
        #expect(throws: WebImageError.invalidPlaceholderHash(text, reason: reason)) { try BlurHash(text) }
        #expect(WebImageError.invalidPlaceholderHash(text, reason: reason).code == 321)
    }

    @Test func noStringCrashes() throws {
        var random = SplitMix64(seed: 83)
        let characters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~")
        var validCount = 0
        for round in 0..<2_000 {
            // Half of them have the length that their first digit asks for.
            let first = Int.random(in: 0..<83, using: &random)
            let length = 4 + 2 * (first % 9 + 1) * (first / 9 + 1)
            var text = String(characters[first])
            let count = round % 2 == 0 ? length : Int.random(in: 1..<200, using: &random)
            for _ in 1..<count { text.append(characters.randomElement(using: &random) ?? "0") }
            if round % 5 == 0 { text.append(Character(UnicodeScalar(UInt8.random(in: 0...255, using: &random)))) }
            guard let hash = try? BlurHash(text) else { continue }
            validCount += 1
            _ = try hash.image(width: 3, height: 2, punch: 1_000)
        }
        #expect(validCount > 0)
        #expect(throws: WebImageError.self) { try BlurHash(String(repeating: "0", count: 10_000_000)) }
    }

    @Test func refusesSizesAndNumbersThatMakeNoSense() throws {
        let hash = try BlurHash("00Q]$m")
        #expect(throws: WebImageError.invalidSize(width: 0, height: 5)) { try hash.image(width: 0, height: 5) }
        #expect(throws: WebImageError.self) { try hash.image(width: 65_535, height: 65_535) }
        for punch in [-1, .nan, .infinity] {
            #expect(throws: WebImageError.self) { try hash.image(width: 2, height: 2, punch: punch) }
        }
        let image = try evenImage(SIMD4(1, 2, 3, 255), size: PixelSize(width: 1, height: 1))
        for components in [(0, 1), (1, 10), (-1, 3)] {
            #expect(throws: WebImageError.self) { try BlurHash(of: image, components: components) }
        }
    }

    @Test func stopsWhenCancelled() throws {
        let image = try evenImage(SIMD4(1, 2, 3, 255), size: PixelSize(width: 4, height: 4))
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: WebImageError.cancelled) { try BlurHash(of: image, cancellation: cancellation) }
        let hash = try BlurHash(of: image)
        #expect(throws: WebImageError.cancelled) {
            try hash.image(width: 2, height: 2, cancellation: cancellation)
        }
    }

    @Test func isWrittenAsItsCharacters() throws {
        let hash = try BlurHash("KJG8_@Dgx]_4V?xuyE%NRj")
        let json = try JSONEncoder().encode([hash])
        #expect(String(decoding: json, as: UTF8.self) == #"["KJG8_@Dgx]_4V?xuyE%NRj"]"#)
        #expect(try JSONDecoder().decode([BlurHash].self, from: json) == [hash])
        #expect(throws: WebImageError.self) { try JSONDecoder().decode([BlurHash].self, from: Data(#"["x"]"#.utf8)) }
    }

    private func components(_ name: String) throws -> (x: Int, y: Int) {
        let parts = name.split(separator: "x").compactMap { Int($0) }
        return (x: try #require(parts.first), y: try #require(parts.last))
    }
}

/// A picture of one premultiplied colour.
func evenImage(_ pixel: SIMD4<UInt8>, size: PixelSize) throws -> Image {
    var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
    pixels.withUnsafeMutableBytes { bytes in
        for index in 0..<size.pixelCount { bytes.storeBytes(of: pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self) }
    }
    return Image(pixels: pixels.freeze(isOpaque: pixel.w == 255))
}

private func differences(_ first: PixelBuffer, _ second: PixelBuffer) -> [Int] {
    (0..<first.height).flatMap { y in
        (0..<first.width).flatMap { x in
            (0..<4).map { abs(Int(first[x, y][$0]) - Int(second[x, y][$0])) }
        }
    }
}

func largestDifference(_ first: PixelBuffer, _ second: PixelBuffer) -> Int {
    first.size == second.size ? differences(first, second).max() ?? 0 : 255
}

func meanDifference(_ first: PixelBuffer, _ second: PixelBuffer) -> Double {
    let differences = differences(first, second)
    return first.size == second.size ? Double(differences.reduce(0, +)) / Double(differences.count) : 255
}
