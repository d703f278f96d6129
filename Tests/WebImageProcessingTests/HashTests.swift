import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct BlurHashTests {
    private static let published = HashFixture.decoded.filter { $0.kind == "BlurHash" }

    @Test func hasAllPublishedHashes() {
        #expect(Self.published.count == 18)
        #expect(HashFixture.encoded.count == 17)
    }

    @Test(arguments: published)
    func decodesLikeTheReference(_ fixture: HashFixture.Decoded) throws {
        let hash = try BlurHash(fixture.text)
        let image = try hash.image(width: fixture.size.width, height: fixture.size.height, punch: fixture.punch)
        #expect(image.pixels.size == fixture.size && image.pixels.isOpaque)
        let bytes = image.pixels.withUnsafeBytes { Array($0) }
        let differences = zip(bytes, fixture.straight).map { abs(Int($0) - Int($1)) }
        #expect(differences.count == fixture.size.pixelCount * 4 && differences.allSatisfy { $0 <= 1 })
    }

    @Test(arguments: HashFixture.encoded.filter { !$0.hasAlpha && $0.size.width <= 128 && $0.size.height <= 128 })
    func encodesLikeTheReference(_ fixture: HashFixture.Encoded) throws {
        let image = try HashFixture.input(fixture.size, hasAlpha: false)
        #expect(fixture.blurHashes.count == 4)
        for (name, text) in fixture.blurHashes {
            let hash = try BlurHash(of: image, components: components(name))
            #expect(hash.string == text)
            #expect(try BlurHash(text) == hash)
        }
    }

    @Test(arguments: HashFixture.encoded.filter { !$0.hasAlpha && $0.size.width > 128 })
    func largeImagesLookLikeTheReference(_ fixture: HashFixture.Encoded) throws {
        let image = try HashFixture.input(fixture.size, hasAlpha: false)
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
        let channels: [Double] = [average.red, average.green, average.blue]
        #expect(channels.map { ($0 * 255).rounded() } == [193, 154, 138])
        #expect(average.alpha == 1)
    }

    @Test func aFlatImageStaysFlat() throws {
        let image = try evenImage(SIMD4(10, 200, 77, 255), size: PixelSize(width: 300, height: 7))
        let decoded = try BlurHash(of: image, components: (9, 9)).image(width: 16, height: 16, punch: 0)
        #expect(decoded.pixels[3, 9] == SIMD4(10, 200, 77, 255))
    }

    @Test func blendsTransparentImagesOverTheBackground() throws {
        let image = try evenImage(.zero, size: PixelSize(width: 3, height: 3))
        #expect(try BlurHash(of: image).averageColor == .white)
        let blue = Color(red: 0, green: 0, blue: 1)
        #expect(try BlurHash(of: image, background: blue).averageColor == blue)
        let strange = Color(red: .nan, green: 7, blue: -.infinity)
        #expect(try BlurHash(of: image, background: strange).averageColor == Color(red: 0, green: 1, blue: 0))
    }

    @Test func decodedImagesEncodeToTheSameImage() throws {
        for fixture in Self.published where fixture.punch == 1 {
            let hash = try BlurHash(fixture.text)
            let image = try hash.image(width: 64, height: 64)
            let again = try BlurHash(of: image, components: hash.components).image(width: 64, height: 64)
            // Light that is too bright is clamped before it is encoded again.
            #expect(meanDifference(image.pixels, again.pixels) <= 6, "\(fixture.text)")
        }
    }

    @Test(arguments: [
        ("", PlaceholderHashFailure.wrongLength(byteCount: 0, expected: 6)),
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
    func rejectsInvalidHashes(_ text: String, reason: PlaceholderHashFailure) {
        #expect(throws: reason.error(about: text, format: "BlurHash")) { try BlurHash(text) }
    }

    @Test func survivesAnyString() throws {
        var random = SplitMix64(seed: 83)
        let characters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~")
        var validCount = 0
        for round in 0..<1_000 {
            // Half of them have the length that their first digit requires.
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
        #expect(throws: WebImageError.self) { try BlurHash(String(repeating: "0", count: 1_000_000)) }
    }

    @Test func rejectsInvalidSizesAndNumbers() throws {
        let hash = try BlurHash("00Q]$m")
        #expect(throws: WebImageError.limitExceeded(reason: .side(width: 0, height: 5))) {
            try hash.image(width: 0, height: 5)
        }
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

    private func components(_ name: String) throws -> (x: Int, y: Int) {
        let parts = name.split(separator: "x").compactMap { Int($0) }
        return (x: try #require(parts.first), y: try #require(parts.last))
    }
}

/// An image of one premultiplied color.
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

@Suite(.timeLimit(.minutes(3))) struct ThumbHashTests {
    private static let published = HashFixture.decoded.filter { $0.kind == "ThumbHash" }

    @Test func hasAllHashes() { #expect(Self.published.count == 8) }

    @Test(arguments: published)
    func decodesLikeTheReference(_ fixture: HashFixture.Decoded) throws {
        let image = try ThumbHash(fixture.text).image()
        #expect(image.pixels.size == fixture.size)
        // The port rounds where the reference truncates: a level of color and of alpha, multiplied.
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
    func encodesLikeTheReference(_ fixture: HashFixture.Encoded) throws {
        let hash = try ThumbHash(of: HashFixture.input(fixture.size, hasAlpha: fixture.hasAlpha))
        let expected = try ThumbHash(#require(fixture.thumbHash))
        #expect(hash.hasAlpha == expected.hasAlpha)
        if hash.hasAlpha {
            // Premultiplied colors are rounded, which may change a number between two levels.
            let size = expected.bytes.count
            #expect(hash.bytes.count == size && hash.bytes[3] & 7 == expected.bytes[3] & 7)
            #expect(meanDifference(try hash.image().pixels, try expected.image().pixels) <= 2)
        } else {
            #expect(hash == expected)
        }
    }

    @Test func downscalesLargeImagesFirst() throws {
        let size = PixelSize(width: 640, height: 480)
        let large = try ThumbHash(of: smoothImage(size))
        let small = try ThumbHash(of: smoothImage(PixelSize(width: 100, height: 75)))
        let difference = meanDifference(try large.image().pixels, try small.image().pixels)
        // An absent wave is a little above or below 0, as rounding decides.
        #expect(difference <= 6)
    }

    @Test func looksLikeTheBlurredImage() throws {
        let size = PixelSize(width: 32, height: 23)
        let image = try smoothImage(size)
        let hash = try ThumbHash(of: image)
        #expect(meanDifference(try hash.image().pixels, image.pixels) <= 10)
    }

    @Test(
        arguments: [
            (100, 100, 1.0), (70, 10, 7.0), (10, 70, 1.0 / 7), (3, 300, 1.0 / 7), (40, 30, 1.4), (30, 40, 5.0 / 7),
        ] as [(Int, Int, Double)])
    func knowsTheProportions(_ width: Int, _ height: Int, ratio: Double) throws {
        let hash = try ThumbHash(of: smoothImage(PixelSize(width: width, height: height)))
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
        ("", PlaceholderHashFailure.wrongLength(byteCount: 0, expected: 5)),
        ("3OcR", .wrongLength(byteCount: 3, expected: 5)),
        ("3OcRJYB4d3h/iIeHeEh3eIhw", .wrongLength(byteCount: 18, expected: 21)),
        ("3OcRJYB4d3h/iIeHeEh3eIhw+j2wAA==", .wrongLength(byteCount: 22, expected: 21)),
        ("3OcR JYB4d3h/iIeHeEh3eIhw+j2w", .invalidCharacter(offset: 4)),
        ("3OcR=JYB", .invalidCharacter(offset: 4)), ("é", .invalidCharacter(offset: 0)),
        ("3OcRJYB4d", .invalidCharacter(offset: 9)), ("AAgCAAA=", .valueOutOfRange(offset: 3)),
    ])
    func rejectsInvalidHashes(_ text: String, reason: PlaceholderHashFailure) {
        #expect(throws: reason.error(about: text, format: "ThumbHash")) { try ThumbHash(text) }
    }

    @Test func parsesAllFormsOfBase64() throws {
        let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
        #expect(try ThumbHash("3OcRJYB4d3h_iIeHeEh3eIhw-j2w") == hash)
        #expect(try ThumbHash(bytes: hash.bytes) == hash)
        let padded = try #require(HashFixture.encoded.compactMap(\.thumbHash).first { $0.hasSuffix("=") })
        let bare = padded.replacing("=", with: "")
        #expect(try ThumbHash(bare).base64 == padded)
    }

    @Test func survivesAnyBytes() throws {
        var random = SplitMix64(seed: 25)
        var validCount = 0
        for round in 0..<250 {
            let header = random.bytes(count: 5)
            for count in round % 3 == 0 ? [Int.random(in: 0..<40, using: &random)] : Array(15...30) {
                let bytes = (0..<count).map { $0 < 5 ? header[$0] : UInt8.random(in: 0...255, using: &random) }
                guard let hash = try? ThumbHash(bytes: bytes) else { continue }
                validCount += 1
                let image = try hash.image(longestSide: 3)
                #expect((0..<4).allSatisfy { image.pixels[0, 0][$0] <= image.pixels[0, 0].w })
            }
        }
        #expect(validCount > 20)
        #expect(throws: WebImageError.self) { try ThumbHash(String(repeating: "A", count: 1_000_000)) }
    }

    @Test func rejectsInvalidSizes() throws {
        let hash = try ThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")
        for side in [0, -1, 65_536, 65_535] {
            #expect(throws: WebImageError.self) { try hash.image(longestSide: side) }
        }
    }

    /// Waves that a hash can contain.
    private func smoothImage(_ size: PixelSize) throws -> Image {
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

/// Hashes and images of other programs; see Tests/Fixtures/hash_fixtures.py for their sources.
enum HashFixture {
    struct Decoded: Sendable, CustomTestStringConvertible {
        let kind: String
        let text: String
        let size: PixelSize
        let punch: Double
        /// RGBA, not premultiplied.
        let straight: [UInt8]
        var testDescription: String { "\(kind) \(text) \(size) punch \(punch)" }
    }

    struct Encoded: Sendable, CustomTestStringConvertible {
        let size: PixelSize
        let hasAlpha: Bool
        /// By components, such as `4x3`.
        let blurHashes: [String: String]
        let thumbHash: String?
        var testDescription: String { "\(size) \(hasAlpha ? "with" : "without") alpha" }
    }

    static let decoded: [Decoded] = lines(of: "decoded.txt").compactMap { fields in
        guard fields.count == 6, let width = Int(fields[2]), let height = Int(fields[3]), let punch = Double(fields[4]),
            let straight = Data(base64Encoded: fields[5])
        else { return nil }
        return Decoded(
            kind: fields[0], text: fields[1], size: PixelSize(width: width, height: height), punch: punch,
            straight: Array(straight))
    }

    static let encoded: [Encoded] = lines(of: "encoded.txt").compactMap { fields in
        guard let width = Int(fields[0]), let height = Int(fields[1]) else { return nil }
        let hashes = fields.dropFirst(3).map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Encoded(
            size: PixelSize(width: width, height: height), hasAlpha: fields[2] == "alpha",
            blurHashes: Dictionary(
                uniqueKeysWithValues: hashes.filter { $0[0] != "thumb" }.map { ($0[0], $0[1]) }),
            thumbHash: hashes.first { $0[0] == "thumb" }?[1])
    }

    /// The image that `picture` in hash_fixtures.py makes.
    static func input(_ size: PixelSize, hasAlpha: Bool) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let alpha = hasAlpha && (x + y) % 3 != 0 ? x * 160 / size.width + 60 : 255
                    let color = [
                        x * 255 / max(1, size.width - 1), y * 255 / max(1, size.height - 1), (x * 7 + y * 11) % 256,
                    ]
                    let offset = (y * size.width + x) * 4
                    for (channel, value) in color.enumerated() {
                        bytes[offset + channel] = UInt8((value * alpha + 127) / 255)
                    }
                    bytes[offset + 3] = UInt8(alpha)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: !hasAlpha))
    }

    private static func lines(of name: String) -> [[String]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/hashes")
        let text = (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }
}
