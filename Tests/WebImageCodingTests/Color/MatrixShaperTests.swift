import CWebImageKernels
import Foundation
import Testing
import WebImageTestSupport

@testable import WebImageCoding

/// Our conversion to sRGB, compared with lcms2 and with the formulas.
@Suite(.timeLimit(.minutes(3))) struct MatrixShaperTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: ProfileBytes

        init(_ name: String, _ primaries: ColorPrimaries, _ curve: [UInt8]) {
            testDescription = name
            bytes = .display(primaries, curve: curve)
        }

        func shaper() throws -> MatrixShaper {
            let profile = try #require(bytes.profile())
            return try #require(MatrixShaper(profile))
        }
    }

    static let examples = [
        Example("Display P3", .displayP3, sRGBCurve),
        Example("Adobe RGB", .adobeRGB, gammaCurve(2.19921875)),
        Example("ProPhoto", .proPhoto, gammaCurve(1.8)),
        Example("straight line", .displayP3, curve([])),
        Example("formula of type 0", .sRGB, formulaCurve(0, [1.8])),
        Example("formula of type 1", .sRGB, formulaCurve(1, [2.2, 1.1, -0.1])),
        Example("formula of type 2", .sRGB, formulaCurve(2, [2.2, 1.1, -0.1, 0])),
        Example("formula of type 4", .adobeRGB, formulaCurve(4, [2.4, 0.9, 0.08, 0.2, 0.05, 0.01, 0])),
        Example("table", .adobeRGB, curve((0..<300).map { Int(pow(Double($0) / 299, 1.6) * 65535) })),
        Example("table of two", .adobeRGB, curve([0, 65535])),
    ]

    /// Such a profile is in OpenJPEG's collection of files; its colors are random with it.
    @Test func aProfileWithoutPrimariesIsIgnored() throws {
        var bytes = ProfileBytes.display(.sRGB, curve: gammaCurve(1.8))
        for index in 0..<3 { bytes.tags[index].content = xyz([0, index == 1 ? 128 : 0, 0]) }
        let profile = try #require(bytes.profile())
        #expect(ColorConversion(from: .profile(profile)).isIdentity)
        #expect(DeepColorConversion(from: .profile(profile)).isIdentity)
    }

    /// Every byte in every channel, and noise.
    static let colors: [UInt8] = {
        var generator = SplitMix64(seed: 11)
        var colors = (UInt8.min...UInt8.max).flatMap { level in
            [level, level, level, 255, level, 0, 0, 255, 0, level, 0, 255, 0, 0, level, 255] as [UInt8]
        }
        for _ in 0..<20_000 { colors += generator.bytes(count: 3) + [255] }
        return colors
    }()

    private func converted(_ colors: [UInt8], by transform: some ColorTransform) -> [UInt8] {
        var output = [UInt8](repeating: 1, count: colors.count)
        transform.convert(colors, to: &output, pixelCount: colors.count / 4)
        return output
    }

    private func largestDifference(_ first: [UInt8], _ second: [UInt8]) -> Int {
        zip(first, second).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Such pixels are invalid, and programs have them.
    @Test(arguments: [1, 2, 100, 254] as [UInt8]) func colorAboveItsAlphaCountsAsItsAlpha(alpha: UInt8) throws {
        let shaper = try Self.examples[1].shaper()
        let expected = converted([alpha, alpha / 2, alpha, alpha], by: shaper)
        #expect(converted([255, alpha / 2, alpha + 1, alpha], by: shaper) == expected)
    }

    @Test(arguments: examples)
    func agreesWithLittleCMSToALevel(_ example: Example) throws {
        let profile = try #require(example.bytes.profile())
        let ours = converted(Self.colors, by: try #require(MatrixShaper(profile)))
        let theirs = converted(Self.colors, by: try #require(LittleCMSTransform(profile, isExact: true)))
        #expect(largestDifference(ours, theirs) <= 1)
        #expect(largestDifference(ours, Self.colors) > 5)
    }

    @Test(arguments: [1.0, 1.8, 3.0])
    func agreesWithLittleCMSAboutGray(gamma: Double) throws {
        let profile = try #require(ProfileBytes.gray(curve: gammaCurve(gamma)).profile())
        let grays = (UInt8.min...UInt8.max).flatMap { [$0, $0, $0, 255] as [UInt8] }
        let ours = converted(grays, by: try #require(ToneMap(profile)))
        let theirs = converted(grays, by: try #require(LittleCMSTransform(profile)))
        #expect(largestDifference(ours, theirs) <= 1)
        #expect(largestDifference(ours, grays) > 5)
    }

    @Test func roundsToTheNearestLevelOfTheFormula() throws {
        let matrix = try #require(ColorPrimaries.displayP3.matrixToConnectionSpace)
        let back = try #require(ColorPrimaries.sRGB.matrixToConnectionSpace?.inverse)
        let shaper = try #require(MatrixShaper(curves: [.sRGB, .sRGB, .sRGB], matrix: matrix))
        let output = converted(Self.colors, by: shaper)
        var worst = 0.0
        for pixel in stride(from: 0, to: Self.colors.count, by: 4) {
            let light = (0..<3).map { ToneCurve.sRGB.light(of: Double(Self.colors[pixel + $0]) / 255) }
            let sum = back * (matrix * SIMD3(light[0], light[1], light[2]))
            for channel in 0..<3 {
                let exact = SRGB.encoded(min(max(sum[channel], 0), 1)) * 255
                worst = max(worst, abs(exact - Double(output[pixel + channel])))
            }
        }
        // Half a level of rounding, and a tenth for the steps of the table.
        #expect(worst <= 0.6)
    }

    @Test func dividesByAlphaBeforeAndMultipliesAfter() throws {
        let shaper = try Self.examples[1].shaper()
        var premultiplied: [UInt8] = []
        var expected: [UInt8] = []
        for alpha in [0, 1, 128, 254, 255] as [UInt8] {
            var straight: [UInt8] = [200, 30, 90, alpha]
            cwi_premultiply(&straight, 1)
            premultiplied += straight
            var opaque = straight
            cwi_unpremultiply(straight, &opaque, 1)
            opaque[3] = 255
            var color = converted(opaque, by: shaper)
            color[3] = alpha
            cwi_premultiply(&color, 1)
            expected += color
        }
        #expect(converted(premultiplied, by: shaper) == expected)
        // Also in place.
        premultiplied.withUnsafeMutableBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            shaper.convert(start, to: start, pixelCount: pixels.count / 4)
        }
        #expect(premultiplied == expected)
    }

    @Test func mapsTonesOfEveryAlpha() {
        let negative = ToneMap { 1 - $0 }
        for alpha in UInt8.min...UInt8.max {
            var premultiplied = (0...alpha).flatMap { [$0, alpha - $0, alpha, alpha] as [UInt8] }
            let count = premultiplied.count / 4
            var expected = premultiplied
            cwi_unpremultiply(premultiplied, &expected, count)
            for index in expected.indices where index % 4 != 3 { expected[index] = 255 - expected[index] }
            cwi_premultiply(&expected, count)
            #expect(converted(premultiplied, by: negative) == expected)
            premultiplied.withUnsafeMutableBufferPointer { pixels in
                guard let start = pixels.baseAddress else { return }
                negative.convert(start, to: start, pixelCount: count)
            }
            #expect(premultiplied == expected)
        }
    }

    @Test(arguments: [1, 2, 5, 37])
    func writesNoPixelBeyondTheEnd(count: Int) throws {
        let shaper = try Self.examples[0].shaper()
        var output = [UInt8](repeating: 7, count: count * 4 + 16)
        shaper.convert(Self.colors, to: &output, pixelCount: count)
        #expect(output[(count * 4)...].allSatisfy { $0 == 7 })
    }

    @Test(arguments: [
        formulaCurve(3, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]),
        // Hewlett-Packard's common profile has a table, others the same with fewer steps.
        curve((0..<1024).map { Int((ToneCurve.sRGB.light(of: Double($0) / 1023) * 65535).rounded()) }),
    ])
    func isNotUsedForSRGB(curve: [UInt8]) throws {
        let profile = try #require(ProfileBytes.display(.sRGB, curve: curve).profile())
        #expect(ColorEncoding.profile(profile).makeTransform(model: .rgb) == nil)
    }

    @Test func recognizesCommonGammas() throws {
        let profile = try #require(ProfileBytes.display(.sRGB, curve: gammaCurve(2.2)).profile())
        #expect(ColorEncoding.profile(profile).makeTransform(model: .rgb) != nil)
    }

    @Test func refusesPrimariesOutOfRange() throws {
        var bytes = Self.examples[0].bytes
        bytes.tags[0].content = xyz([30000, -30000, 30000])
        let profile = try #require(bytes.profile())
        #expect(MatrixShaper(profile) == nil)
    }
}
