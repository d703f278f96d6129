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
        #expect(fields.cameraMake == "FUJIFILM" && fields.cameraModel == "X-T4" && fields.lensModel == "XF23mmF2")
        #expect(fields.date?.description == "2026:05:01 12:30:00" && fields.lensMake == nil)
        #expect(fields.exposureTime == .milliseconds(4) && fields.aperture == 2.8 && fields.isoSensitivity == 400)
        #expect(fields.focalLengthInMillimeters == 23 && fields.focalLengthOnFilmInMillimeters == 35)
        #expect(fields.software == "darktable" && fields.orientation == .right)
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
        #expect(fields.exposureTime == nil && fields.aperture == nil && fields.isoSensitivity == nil)
        #expect(fields.focalLengthInMillimeters == nil && fields.focalLengthOnFilmInMillimeters == nil)
    }

    // MARK: Times

    private func date(_ details: [Int: Value], _ main: [Int: Value] = [:]) throws -> EXIFFields.DateTime? {
        try #require(EXIFFields(exif(main, details: details))).date
    }

    @Test func aDateWithAZoneIsAMoment() throws {
        let date = try #require(
            try date([
                0x9003: .text("2024:02:29 23:59:58"), 0x9011: .text("+05:30"), 0x9291: .text("25 "),
                // Of another date.
                0x9010: .text("-01:00"), 0x9290: .text("99"),
            ]))
        #expect((date.year, date.month, date.day) == (2024, 2, 29))
        #expect((date.hour, date.minute, date.second) == (23, 59, 58))
        #expect(date.fraction == .milliseconds(250) && date.utcOffset == .seconds(19_800))
        let moment = try Date("2024-02-29T18:29:58Z", strategy: .iso8601)
        #expect(date.moment == moment.addingTimeInterval(0.25))
        #expect(date.description == "2024:02:29 23:59:58")
    }

    @Test func withoutAZoneTheMomentIsUnknown() throws {
        let date = try #require(try date([0x9003: .text("0987:01:02 03:04:05")]))
        #expect(date.moment == nil && date.utcOffset == nil && date.fraction == .zero)
        #expect(date.description == "0987:01:02 03:04:05")
    }

    @Test func theDateOfTheFileStandsInForThatOfThePhotograph() throws {
        let zone: [Int: Value] = [0x9010: .text("-03:00"), 0x9011: .text("+09:00")]
        let main: [Int: Value] = [0x0132: .text("2020:12:31 10:00:00")]
        for text in [nil, "0000:00:00 00:00:00", "    :  :     :  :  "] {
            let details = text.map { zone.merging([0x9003: .text($0)]) { $1 } } ?? zone
            let date = try #require(try date(details, main))
            #expect(date.year == 2020 && date.utcOffset == .seconds(-10_800), "\(text ?? "none")")
        }
        #expect(try #require(EXIFFields(exif(main))).date?.description == "2020:12:31 10:00:00")
    }

    @Test(arguments: [
        "2024:13:01 12:00:00", "2024:00:01 12:00:00", "2023:02:29 12:00:00", "1900:02:29 12:00:00",
        "2024:04:31 12:00:00", "2024:05:00 12:00:00", "2024:05:01 24:00:00", "2024:05:01 12:60:00",
        "2024:05:01 12:00:60", "0000:05:01 12:00:00", "24:05:01 12:00:00", "2024:05:01", "yesterday", "2024:5:1 1:2:3",
    ]) func aTimeThatThereIsNotIsMissing(text: String) throws {
        #expect(try date([0x9003: .text(text)]) == nil)
    }

    @Test(arguments: ["2024-05-01T12:00:00", "2024/05/01 12:00:00", "2024:05:01 12:00:00+02:00"])
    func otherSeparatorsAreRead(text: String) throws {
        #expect(try date([0x9003: .text(text)])?.description == "2024:05:01 12:00:00")
        #expect(try date([0x9003: .text("2000:02:29 12:00:00")]) != nil)
    }

    @Test(arguments: ["Z", "02:00", "+2:00", "+02", "+16:00", "+02:60", "+02:00:00", "  :  ", "+-1:00"])
    func aZoneThatThereIsNotIsMissing(text: String) throws {
        let date = try #require(try date([0x9003: .text("2024:05:01 12:00:00"), 0x9011: .text(text)]))
        #expect(date.utcOffset == nil)
    }

    @Test func exposureTimesAreExact() throws {
        func time(_ top: Int, _ bottom: Int) throws -> Duration? {
            try #require(EXIFFields(exif([:], details: [0x829A: .fraction(top, bottom)]))).exposureTime
        }
        #expect(
            try time(1, 8_000) == .microseconds(125) && time(30, 1) == .seconds(30) && time(1, 3) == .seconds(1) / 3)
        #expect(try time(4_294_967_295, 1) == .seconds(4_294_967_295) && time(1, 0) == nil)
    }

    // MARK: Places

    @Test(arguments: [(nil, 1_234.5), (0, 1_234.5), (1, -1_234.5), (2, 1_234.5), (3, -1_234.5)] as [(Int?, Double)])
    func readsTheHeight(reference: Int?, height: Double) throws {
        var gps: [Int: Value] = [1: .text("N"), 2: .fraction(46, 1), 3: .text("E"), 4: .fraction(7, 1)]
        #expect(try #require(EXIFFields(exif([:], gps: gps))?.coordinates).altitudeInMeters == nil)
        gps[6] = .fraction(2_469, 2)
        if let reference { gps[5] = Value(type: 1, count: 1, bytes: [UInt8(reference)]) }
        #expect(try #require(EXIFFields(exif([:], gps: gps))?.coordinates).altitudeInMeters == height)
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
        #expect(fields.camera == "Canon EOS R5" && fields.cameraMake == "Canon")
        #expect(!fields.hasLocation && fields.lens == nil)
    }

    @Test(arguments: [false, true]) func readsBothByteOrders(isBigEndian: Bool) throws {
        let fields = try #require(EXIFFields(CameraMetadata.exif(isBigEndian: isBigEndian)))
        #expect(fields.camera == "Leica" && fields.orientation == .right)
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
