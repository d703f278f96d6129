import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Reading valid and invalid profiles.
@Suite(.timeLimit(.minutes(3))) struct ColorProfileTests {
    private let sound = ProfileBytes.display(.displayP3, curve: sRGBCurve)

    @Test func readsHeaderAndTags() throws {
        let profile = try #require(sound.profile())
        #expect(profile.model == .rgb)
        #expect(profile.connectionSpace == .xyz)
        #expect(profile.hasTag(.redCurve))
        #expect(!profile.hasTag(.perceptualTable))
    }

    @Test(arguments: [[-0.1, 0.3], [0.7, 0.4], [0.64, 0], [0.64, -0.33], [.nan, 0.33]] as [SIMD2<Double>])
    func primariesOutsideOfAllColorsHaveNoMatrix(point: SIMD2<Double>) {
        var primaries = ColorPrimaries.adobeRGB
        #expect(primaries.matrixToConnectionSpace != nil)
        primaries = ColorPrimaries(
            red: point, green: primaries.green, blue: primaries.blue, white: primaries.white)
        #expect(primaries.matrixToConnectionSpace == nil)
    }

    /// Displays have an exponent of 2.2.
    @Test(arguments: [(0.45455, false), (0.44, false), (0.47, false), (0.4, true), (0.5, true), (1, true), (0, false)])
    func aGammaLikeThatOfDisplaysChangesNothing(gamma: Double, isConverted: Bool) {
        #expect((ToneMap(fileGamma: gamma) != nil) == isConverted)
    }

    @Test func ignoresBytesAfterItsEnd() throws {
        let profile = try #require(ColorProfile(sound.bytes + [1, 2, 3]))
        #expect(profile == sound.profile())
    }

    @Test func refusesInvalidProfiles() {
        #expect(ColorProfile([]) == nil)
        #expect(ColorProfile(Array("not a profile, only its place".utf8)) == nil)
        for length in 0..<sound.bytes.count { #expect(ColorProfile(Array(sound.bytes[..<length])) == nil) }
        #expect(ColorProfile(sound.bytes + [UInt8](repeating: 0, count: ColorProfile.byteLimit)) == nil)
    }

    @Test(arguments: [
        ("link", "RGB ", "XYZ "), ("abst", "RGB ", "XYZ "), ("nmcl", "RGB ", "XYZ "), ("mntr", "HSV ", "XYZ "),
        ("mntr", "RGB ", "RGB "),
    ])
    func refusesProfilesForOtherPurposes(kind: String, space: String, connection: String) {
        var bytes = sound
        bytes.kind = kind
        bytes.space = space
        bytes.connection = connection
        #expect(bytes.profile() == nil)
    }

    @Test func refusesTagsOutsideItself() {
        // The first tag's offset, then its size.
        for field in [136, 140] {
            var bytes = sound.bytes
            bytes.replaceSubrange(field..<field + 4, with: number(0xFFFF_FFF0, count: 4))
            #expect(ColorProfile(bytes) == nil)
        }
        var bytes = sound.bytes
        bytes.replaceSubrange(128..<132, with: number(0xFFFF_FFFF, count: 4))
        #expect(ColorProfile(bytes) == nil)
    }

    @Test func readsItsName() throws {
        var bytes = sound
        bytes.tags.append(("desc", Array("desc\0\0\0\0".utf8) + number(6, count: 4) + Array("Plain\0".utf8)))
        #expect(bytes.profile()?.name == "Plain")

        let names = [("de", "Anzeige"), ("en", "Displäy")]
        var records: [UInt8] = []
        var texts: [UInt8] = []
        for (language, name) in names {
            let text = name.utf16.flatMap { number(Int($0), count: 2) }
            records += Array((language + "XX").utf8) + number(text.count, count: 4)
            records += number(16 + 12 * names.count + texts.count, count: 4)
            texts += text
        }
        let header = Array("mluc\0\0\0\0".utf8) + number(names.count, count: 4) + number(12, count: 4)
        bytes.tags[bytes.tags.count - 1].content = header + records + texts
        #expect(bytes.profile()?.name == "Displäy")

        bytes.tags[bytes.tags.count - 1].content = header + records
        #expect(bytes.profile()?.name == nil)
        #expect(sound.profile()?.name == nil)
    }

    @Test(arguments: ["A\u{1B}[31m", "A\0B", "A\u{202E}B"])
    func cutsNamesAtControlCharacters(_ name: String) {
        var bytes = sound
        let name = Array(name.utf8)
        bytes.tags.append(("desc", Array("desc\0\0\0\0".utf8) + number(name.count, count: 4) + name))
        #expect(bytes.profile()?.name == "A")
    }

    @Test(arguments: [
        curve([1, 2, 3]).dropLast(2), curve([0]), formulaCurve(5, [1, 1, 1, 1, 1, 1, 1]), formulaCurve(1, [2, 0, 1]),
        formulaCurve(3, [2.4, 1]), Array("sf32\0\0\0\0\0\0\0\0".utf8), [],
    ])
    func refusesDamagedCurves(_ curve: [UInt8]) throws {
        let profile = try #require(ProfileBytes.display(.displayP3, curve: curve).profile())
        #expect(MatrixShaper(profile) == nil)
    }

    @Test(arguments: [
        // Infinite, negative and zero powers.
        formulaCurve(0, [30000]), formulaCurve(0, [-2]), formulaCurve(4, [-30000, -30000, 30000, 1, 0.5, -5, 9]),
        formulaCurve(1, [0.5, -1, 0.5]),
    ])
    func clampsLight(_ curve: [UInt8]) throws {
        let tone = ToneCurve(tag: curve.span.bytes)
        let light = try #require(tone).lightOfBytes
        #expect(light.allSatisfy { (0...1).contains($0) })
    }

    /// Values computed by hand from ICC.1:2022, table 68: below and above the breakpoint.
    @Test(arguments: [
        (formulaCurve(0, [2]), [0.25, 0.75], [0.0625, 0.5625]),
        (formulaCurve(1, [2, 2, -1]), [0.25, 0.75], [0, 0.25]),
        (formulaCurve(2, [2, 2, -1, 0.125]), [0.25, 0.75], [0.125, 0.375]),
        (formulaCurve(3, [2, 0.5, 0.5, 0.25, 0.5]), [0.25, 0.5], [0.0625, 0.5625]),
        (formulaCurve(4, [2, 0.5, 0.25, 0.25, 0.5, 0.125, 0.0625]), [0.25, 0.5], [0.125, 0.375]),
        (curve([]), [0.25, 1], [0.25, 1]), (curve([512]), [0.25, 0.5], [0.0625, 0.25]),
        (curve([0, 65535, 0]), [0.25, 0.875], [0.5, 0.25]),
    ])
    func evaluatesCurves(_ curve: [UInt8], components: [Double], lights: [Double]) throws {
        let read = ToneCurve(tag: curve.span.bytes)
        let tone = try #require(read)
        #expect(components.map(tone.light) == lights)
    }

    /// Color tables of all sizes in the three types.
    @Test(arguments: ["RGB ", "CMYK", "GRAY"])
    func refusesTablesLargerThanTheirTags(space: String) throws {
        let inputs = ["RGB ": 3, "CMYK": 4, "GRAY": 1][space] ?? 0
        let claims: [[UInt8]] = [
            Array("mft1\0\0\0\0".utf8) + [UInt8(inputs), 3, 255, 0],
            Array("mft1\0\0\0\0".utf8) + [15, 15, 255, 0],
            Array("mft2\0\0\0\0".utf8) + [UInt8(inputs), 3, 255, 0],
            Array("mft2\0\0\0\0".utf8) + [UInt8(inputs), 3, 0, 0],
            Array("mAB \0\0\0\0".utf8) + [UInt8(inputs), 3, 0, 0] + number(32, count: 4) + number(0, count: 8)
                + number(32, count: 4) + number(32, count: 4) + [UInt8](repeating: 255, count: 16) + [2, 0, 0, 0],
            Array("mAB \0\0\0\0".utf8) + [UInt8(inputs), 3, 0, 0] + [UInt8](repeating: 255, count: 40),
            Array("mpet\0\0\0\0".utf8) + [0, 3, 0, 3] + [UInt8](repeating: 255, count: 40),
        ]
        for claim in claims {
            let table = claim + [UInt8](repeating: 0, count: 300)
            let bytes = ProfileBytes(space: space, connection: "Lab ", tags: [("A2B0", table)])
            let profile = try #require(bytes.profile())
            #expect(!profile.hasPlausibleTables)
            #expect(LittleCMSTransform(profile) == nil)
        }
    }

    /// Curves and primaries apply if lcms2 cannot use the table.
    @Test func usesPrimariesIfTheTableIsDamaged() throws {
        var bytes = sound
        bytes.tags.append(("A2B0", Array("mft2\0\0\0\0".utf8)))
        let profile = try #require(bytes.profile())
        let transform = ColorEncoding.profile(profile).makeTransform(model: .rgb)
        #expect(transform is MatrixShaper)
    }

    @Test func disablesFloatingPointTables() throws {
        var bytes = sound
        bytes.tags.insert(("D2B0", Array("mpet\0\0\0\0".utf8) + [0, 3, 0, 3, 0, 0, 0, 0]), at: 0)
        let profile = try #require(bytes.profile())
        #expect(profile.bytesWithoutFloatTable[132..<136].elementsEqual("none".utf8))
        #expect(profile.bytesWithoutFloatTable.dropFirst(136).elementsEqual(profile.bytes.dropFirst(136)))
        #expect(LittleCMSTransform(profile) != nil)
    }

    /// Damaged profiles never prevent decoding.
    ///
    /// lcms2 takes tens of milliseconds to set up a table, so those are damaged less often.
    @Test(arguments: [("adobe.png", 80), ("scanner.png", 24), ("gray.png", 80), ("press.jpg", 12)])
    func survivesDamage(_ name: String, roundCount: Int) throws {
        let data = try Fixture("../color/" + name).data()
        let original: ColorProfile? =
            name.hasSuffix("jpg")
            ? try JPEGHeader(reading: data.bytes).colorProfile(in: data.bytes)
            : try PNGHeader(reading: data.bytes).colors.profile(in: data.bytes)
        let profile = try #require(original)
        var generator = SplitMix64(seed: 3)
        var usableCount = 0
        for round in 0..<roundCount {
            var bytes = profile.bytes
            // The first rounds damage the header and the tag table, where most can go wrong.
            let reach = round < roundCount / 2 ? min(bytes.count, 300) : bytes.count
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 0..<reach, using: &generator)
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
            guard let damaged = ColorProfile(bytes) else { continue }
            usableCount += 1
            for model in [ColorModel.gray, .rgb, .cmyk] {
                guard let transform = ColorEncoding.profile(damaged).makeTransform(model: model) else { continue }
                var pixels: [UInt8] = [1, 2, 3, 255, 20, 30, 40, 50, 0, 0, 0, 0]
                transform.convert(pixels, to: &pixels, pixelCount: 3)
                #expect(model == .cmyk || (pixels[3] == 255 && pixels[7] == 50 && pixels[11] == 0))
            }
        }
        #expect(usableCount > roundCount / 4)
    }
}

/// Builds valid and invalid ICC profiles.
struct ProfileBytes {
    var kind = "mntr"
    var space = "RGB "
    var connection = "XYZ "
    var tags: [(name: String, content: [UInt8])] = []

    /// A display with one curve for all primaries.
    static func display(_ primaries: ColorPrimaries, curve: [UInt8]) -> ProfileBytes {
        let columns = primaries.matrixToConnectionSpace.map { [$0.columns.0, $0.columns.1, $0.columns.2] } ?? []
        let lights = zip(["rXYZ", "gXYZ", "bXYZ"], columns).map { (name: $0, content: xyz($1)) }
        return ProfileBytes(tags: lights + ["rTRC", "gTRC", "bTRC"].map { ($0, curve) })
    }

    static func gray(curve: [UInt8]) -> ProfileBytes {
        ProfileBytes(space: "GRAY", tags: [("kTRC", curve)])
    }

    var bytes: [UInt8] {
        var table = number(tags.count, count: 4)
        var contents: [UInt8] = []
        let start = 128 + 4 + tags.count * 12
        for tag in tags {
            table +=
                Array(tag.name.utf8) + number(start + contents.count, count: 4) + number(tag.content.count, count: 4)
            contents += tag.content + [UInt8](repeating: 0, count: (4 - tag.content.count % 4) % 4)
        }
        var header = number(start + contents.count, count: 4) + number(0, count: 4) + number(0x0240_0000, count: 4)
        header += Array((kind + space + connection).utf8) + [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
        header += [UInt8](repeating: 0, count: 28) + [0.9642, 1, 0.8249].flatMap(fixed)
        header += [UInt8](repeating: 0, count: 128 - header.count)
        return header + table + contents
    }

    func profile() -> ColorProfile? { ColorProfile(bytes) }
}

extension ColorPrimaries {
    static let adobeRGB = ColorPrimaries(red: [0.64, 0.33], green: [0.21, 0.71], blue: [0.15, 0.06], white: d65)
    static let proPhoto = ColorPrimaries(
        red: [0.734699, 0.265301], green: [0.159597, 0.840403], blue: [0.036598, 0.000105], white: [0.345704, 0.35854])
}

func number(_ value: Int, count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}

func fixed(_ value: Double) -> [UInt8] { number(Int((value * 65536).rounded()), count: 4) }

func xyz(_ color: SIMD3<Double>) -> [UInt8] { Array("XYZ \0\0\0\0".utf8) + [color.x, color.y, color.z].flatMap(fixed) }

func curve(_ points: [Int]) -> [UInt8] {
    Array("curv\0\0\0\0".utf8) + number(points.count, count: 4) + points.flatMap { number($0, count: 2) }
}

func gammaCurve(_ gamma: Double) -> [UInt8] { curve([Int((gamma * 256).rounded())]) }

func formulaCurve(_ type: Int, _ numbers: [Double]) -> [UInt8] {
    Array("para\0\0\0\0".utf8) + number(type, count: 2) + [0, 0] + numbers.flatMap(fixed)
}

let sRGBCurve = formulaCurve(3, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])

/// Truncated or modified color profiles in images.
@Suite(.timeLimit(.minutes(3))) struct ProfileCorruptionTests {
    /// Profiles of printers, scanners, displays and gray, in images.
    private static let sources = ["p3.jpg", "press.jpg", "gray.jpg", "scanner.png", "table.png", "prophoto.webp"]

    private func profile(in name: String) throws -> Data {
        let data = try Data(contentsOf: Fixture.directory.appending(path: "../color/" + name))
        let profile =
            switch ImageFormat(signatureOf: data) {
            case .jpeg: try JPEGHeader(reading: data.bytes).colorProfile(in: data.bytes)
            case .png: try PNGHeader(reading: data.bytes).colors.profile(in: data.bytes)
            default: try WebPFile(reading: data.bytes).colorProfile(in: data.bytes)
            }
        return Data(try #require(profile).bytes)
    }

    private func exercise() throws -> ProfileExercise {
        ProfileExercise(
            images: try ["grey.jpg", "baseline-444.jpg", "cmyk-adobe.jpg"].map { [UInt8](try Fixture($0).data()) })
    }

    @Test(arguments: sources) func survivesTruncationAndFlippedBits(_ name: String) throws {
        let (exercise, profile) = (try exercise(), try profile(in: name))
        #expect(exercise.faults(of: profile) == [])
        for tenth in 0..<10 { #expect(exercise.faults(of: profile.prefix(profile.count * tenth / 10)) == []) }
        var random = SplitMix64(seed: 7)
        for _ in 0..<30 {
            var changed = profile
            // Mostly in the tag table.
            let limit = Bool.random(using: &random) ? min(400, profile.count) : profile.count
            for _ in 0..<3 {
                changed[Int.random(in: 0..<limit, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
            #expect(exercise.faults(of: changed) == [])
        }
    }

    /// Regressions found by fuzzing.
    @Test func passesRegressions() throws {
        let directory = Fixture.directory.appending(path: "../regressions/profiles")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        for name in names {
            #expect(try exercise().faults(of: Data(contentsOf: directory.appending(path: name))) == [], "\(name)")
        }
    }
}
