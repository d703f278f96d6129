import CodingTestSupport
import Foundation
import Testing

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(3))) struct EXIFFieldsTests {
    /// A directory with entries of these tags.
    private func exif(_ main: [Int: Value], details: [Int: Value] = [:], gps: [Int: Value] = [:]) -> Data {
        // The directories are one behind the other, and each has its values behind it.
        func number(_ value: Int, _ count: Int) -> [UInt8] { value.littleEndianBytes(count) }
        func directory(_ values: [Int: Value], at start: Int) -> [UInt8] {
            var (entries, content) = (number(values.count, 2), [UInt8]())
            let contentStart = start + 2 + values.count * 12 + 4
            for tag in values.keys.sorted() {
                guard let value = values[tag] else { continue }
                entries += number(tag, 2) + number(value.type, 2) + number(value.count, 4)
                if value.bytes.count <= 4 {
                    entries += value.bytes + [UInt8](repeating: 0, count: 4 - value.bytes.count)
                } else {
                    entries += number(contentStart + content.count, 4)
                    content += value.bytes
                }
            }
            return entries + number(0, 4) + content
        }
        var main = main
        if !details.isEmpty { main[TIFFTag.exif] = .offset(0) }
        if !gps.isEmpty { main[TIFFTag.gps] = .offset(0) }
        let detailsStart = 8 + directory(main, at: 8).count
        let gpsStart = detailsStart + directory(details, at: detailsStart).count
        if !details.isEmpty { main[TIFFTag.exif] = .offset(detailsStart) }
        if !gps.isEmpty { main[TIFFTag.gps] = .offset(gpsStart) }
        return Data(
            Array("II*\0".utf8) + number(8, 4) + directory(main, at: 8) + directory(details, at: detailsStart)
                + directory(gps, at: gpsStart))
    }

    private struct Value {
        let type: Int
        let count: Int
        let bytes: [UInt8]

        static func text(_ text: String) -> Value { Value(type: 2, count: text.utf8.count + 1, bytes: text.utf8 + [0]) }
        static func short(_ value: Int) -> Value { Value(type: 3, count: 1, bytes: value.littleEndianBytes(2)) }
        static func offset(_ value: Int) -> Value { Value(type: 4, count: 1, bytes: value.littleEndianBytes(4)) }
        static func fraction(_ top: Int, _ bottom: Int) -> Value {
            fractions([(top, bottom)])
        }
        static func fractions(_ parts: [(Int, Int)], isSigned: Bool = false) -> Value {
            Value(
                type: isSigned ? 10 : 5, count: parts.count,
                bytes: parts.flatMap { $0.0.littleEndianBytes(4) + $0.1.littleEndianBytes(4) })
        }
    }

    @Test func aDirectoryThatContainsItselfHasAnEnd() throws {
        for tag in [TIFFTag.exif, TIFFTag.gps, TIFFTag.interoperability] {
            // Its only entry is the offset of its own.
            let data = exif([tag: .offset(8)])
            let header = TIFFLayout(data.bytes)
            let layout = try #require(header)
            let directory = TIFFDirectory(layout, at: layout.firstDirectory, in: data.bytes)
            #expect(!directory.isEmpty && directory.bytes(at: 8).count < 100)
        }
    }

    @Test func readsWhatACameraWrites() throws {
        let exif = exif(
            [0x010F: .text("FUJIFILM"), 0x0110: .text("X-T4"), 0x0112: .short(6), 0x0131: .text("darktable")],
            details: [
                0x829A: .fraction(1, 250), 0x829D: .fraction(28, 10), 0x8827: .short(400),
                0x9003: .text("2026:05:01 12:30:00"), 0x920A: .fraction(23, 1), 0xA405: .short(35),
                0xA434: .text("XF23mmF2"),
            ], gps: [1: .text("N"), 2: .fraction(48, 1), 3: .text("E"), 4: .fraction(11, 1)])
        let fields = try #require(EXIFFields(exif))
        #expect(fields.camera == "FUJIFILM X-T4")
        #expect(fields.lens == "XF23mmF2")
        #expect(fields.date == "2026:05:01 12:30:00")
        #expect(fields.exposureTime == 0.004 && fields.aperture == 2.8 && fields.sensitivity == 400)
        #expect(fields.focalLength == 23 && fields.focalLengthOnFilm == 35)
        #expect(fields.software == "darktable" && fields.orientation == 6)
        #expect(fields.hasLocation)
        #expect(fields.coordinates == EXIFFields.Coordinates(latitude: 48, longitude: 11))
    }

    @Test(arguments: [
        ("N", "E", 46.5583, 7.9808), ("S", "E", -46.5583, 7.9808), ("N", "W", 46.5583, -7.9808),
        ("s", "w", -46.5583, -7.9808),
    ]) func readsDegreesMinutesAndSeconds(north: String, east: String, latitude: Double, longitude: Double) throws {
        let exif = exif(
            [:],
            gps: [
                1: .text(north), 2: .fractions([(46, 1), (33, 1), (2_988, 100)]), 3: .text(east),
                4: .fractions([(7, 1), (58_848, 1_000)]),
            ])
        let coordinates = try #require(EXIFFields(exif)?.coordinates)
        #expect(abs(coordinates.latitude - latitude) < 1e-9 && abs(coordinates.longitude - longitude) < 1e-9)
    }

    /// As telephones of Nokia write them.
    @Test func readsPlacesInSignedFractions() throws {
        func place(_ degrees: Int) throws -> EXIFFields.Coordinates? {
            let gps: [Int: Value] = [
                1: .text("N"), 2: .fractions([(degrees, 1), (11, 1), (240, 10)], isSigned: true), 3: .text("E"),
                4: .fractions([(-16, -1), (22, 1), (0, 1)], isSigned: true),
            ]
            return try #require(EXIFFields(exif([:], gps: gps))).coordinates
        }
        let coordinates = try #require(try place(48))
        #expect(abs(coordinates.latitude - 48.19) < 1e-9 && abs(coordinates.longitude - (16 + 22.0 / 60)) < 1e-9)
        #expect(try place(-48) == nil)
    }

    @Test func zeroIsAnUnknownValue() throws {
        let fields = try #require(
            EXIFFields(
                exif(
                    [:],
                    details: [
                        0x829A: .fraction(0, 1), 0x829D: .fraction(0, 10), 0x8827: .short(0), 0x920A: .fraction(0, 1),
                        0xA405: .short(0),
                    ])))
        #expect(fields.exposureTime == nil && fields.aperture == nil && fields.sensitivity == nil)
        #expect(fields.focalLength == nil && fields.focalLengthOnFilm == nil)
    }

    @Test func aPlaceThatIsNotOnEarthIsMissing() throws {
        let valid: [Int: Value?] = [
            1: .text("N"), 2: .fractions([(46, 1), (33, 1), (30, 1)]), 3: .text("E"), 4: .fraction(180, 1),
        ]
        func fields(_ change: [Int: Value?]) throws -> EXIFFields {
            let gps = valid.merging(change) { $1 }.compactMapValues { $0 }
            return try #require(EXIFFields(exif([:], gps: gps)))
        }
        #expect(try fields([:]).coordinates != nil)
        let changes: [[Int: Value?]] = [
            [1: nil], [3: .text("N")], [1: .short(78)], [2: .fraction(46, 0)], [2: .fractions([(46, 1), (33, 0)])],
            [2: .fractions([(46, 1), (33, 1), (0, 0)])], [2: .fractions([(90, 1), (0, 1), (1, 1)])],
            [4: .fractions([(180, 1), (1, 60)])], [2: .short(46)], [2: .fractions([(1, 1), (1, 1), (1, 1), (1, 1)])],
        ]
        for change in changes {
            let changed = try fields(change)
            #expect(changed.hasLocation && changed.coordinates == nil, "\(change)")
        }
    }

    @Test func aMakeIsNotRepeated() throws {
        let fields = try #require(EXIFFields(exif([0x010F: .text("Canon"), 0x0110: .text("Canon EOS R5  ")])))
        #expect(fields.camera == "Canon EOS R5")
        #expect(!fields.hasLocation && fields.lens == nil)
    }

    @Test(arguments: [false, true]) func readsBothByteOrders(isBigEndian: Bool) throws {
        let fields = try #require(EXIFFields(CameraMetadata.exif(isBigEndian: isBigEndian)))
        #expect(fields.camera == "Leica" && fields.orientation == 6)
    }

    @Test func textsCannotControlALabel() throws {
        let fields = try #require(EXIFFields(exif([0x0110: .text("a\u{202E}b\nc")])))
        #expect(fields.camera == "abc")
    }

    @Test func invalidValuesAreMissing() throws {
        let fields = try #require(
            EXIFFields(
                exif(
                    [0x0110: .short(3), 0x0112: .short(9)],
                    details: [0x829A: .fraction(1, 0), 0x8827: .text("much")])))
        #expect(fields.camera == nil && fields.orientation == nil && fields.exposureTime == nil)
        #expect(EXIFFields(Data("not EXIF".utf8)) == nil && EXIFFields(Data()) == nil)
    }

    @Test func anyPrefixIsRead() {
        let whole = CameraMetadata.exif(isBigEndian: false)
        for count in 0..<whole.count { _ = EXIFFields(whole.prefix(count)) }
    }

    @Test func aDirectoryThatRefersToItselfEnds() throws {
        let fields = try #require(EXIFFields(exif([0x0110: .text("Loop"), TIFFTag.exif: .offset(8)])))
        #expect(fields.camera == "Loop")
    }
}
