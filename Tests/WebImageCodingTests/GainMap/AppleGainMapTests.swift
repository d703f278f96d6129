import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(1))) struct AppleGainMapTests {
    private let registry = CodecRegistry()

    private static func xmp(_ properties: String) -> String {
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
        xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/"><HDRGainMap:HDRGainMapVersion>65536\
        </HDRGainMap:HDRGainMapVersion>\(properties)</rdf:Description></rdf:RDF></x:xmpmeta>
        """
    }

    private static let headroom = xmp("<HDRGainMap:HDRGainMapHeadroom>4.0</HDRGainMap:HDRGainMapHeadroom>")

    /// EXIF whose maker's notes have two numbers, in thousandths.
    private static func exif(_ first: Int, _ second: Int) -> Data {
        func big(_ number: Int, _ count: Int) -> Data { Data(GainMapFiles.big(number, count)) }
        func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> Data {
            big(tag, 2) + big(type, 2) + big(count, 4) + big(value, 4)
        }
        var notes = Data("Apple iOS\0\0\u{1}MM".utf8) + big(2, 2)
        notes += entry(0x21, 10, 1, 44) + entry(0x30, 10, 1, 52) + big(0, 4)
        notes += big(first, 4) + big(1000, 4) + big(second, 4) + big(1000, 4)
        let main = Data("MM\0*".utf8) + big(8, 4) + big(1, 2) + entry(0x8769, 4, 1, 26) + big(0, 4)
        return main + big(1, 2) + entry(0x927C, 7, notes.count, 44) + big(0, 4) + notes
    }

    private func file(xmp: String, exif: Data? = nil) throws -> Data {
        let prefix = exif.map { GainMapFiles.segment(0xE1, "Exif\0\0", $0) } ?? Data()
        return GainMapFiles.jpeg(
            try GainMapFiles.jpegPicture(width: 64, height: 48),
            try GainMapFiles.jpegPicture(width: 16, height: 12, isGray: true), xmp: xmp, described: .xmp, prefix: prefix
        )
    }

    private func map(in data: Data) throws -> GainMap? {
        try registry.gainMap(of: data, registry.info(of: data), options: DecodingOptions())
    }

    /// A share of the largest gain becomes its logarithm.
    @Test func gainsAreTheSame() throws {
        let data = try file(xmp: Self.headroom)
        let map = try #require(try map(in: data))
        #expect(map.metadata.alternateHeadroom.value == 2 && map.metadata.channels[0].maximum.value == 2)
        let stored = try #require(try JPEGDecoder().gainMap(of: data))
        let original = try registry.decode(stored.file).pixels
        for x in 0..<16 {
            let (code, value) = (Double(original[x, 5].x) / 255, Double(map.pixels[x, 5].x) / 255)
            let linear = code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4)
            #expect(abs(1 + 3 * linear - exp2(2 * value)) < 0.02)
        }
    }

    @Test(arguments: [(500, 5, 1.7), (500, 500, 1.5505), (2000, 5, 2.65), (2000, 500, 2.1515)])
    func theMakersNotesTellTheHeadroom(first: Int, second: Int, stops: Double) throws {
        let data = try file(xmp: Self.xmp(""), exif: Self.exif(first, second))
        let map = try #require(try map(in: data))
        #expect(abs(map.metadata.alternateHeadroom.value - stops) < 1e-6)
    }

    @Test func withoutAHeadroomThereIsNoMap() throws {
        #expect(try map(in: file(xmp: Self.xmp(""))) == nil)
        #expect(try map(in: file(xmp: Self.xmp(""), exif: Self.exif(2000, 90_000))) == nil)
    }

    @Test(arguments: ["1.7976931348623157e308", "1e300", "inf", "nan", "-4", "1"])
    func aHeadroomOfNoDisplayIsNoMap(headroom: String) throws {
        let xmp = Self.xmp("<HDRGainMap:HDRGainMapHeadroom>\(headroom)</HDRGainMap:HDRGainMapHeadroom>")
        #expect(try map(in: file(xmp: xmp)) == nil)
    }

    /// A decoder process may return any.
    @Test(arguments: [(0, 1), (-1, 1), (Int(UInt32.max), 1), (65, 1)])
    func aLargestGainOfNoDisplayIsNoMap(numerator: Int, denominator: Int) throws {
        let (zero, one) = (try #require(Fraction(0, 1)), try #require(Fraction(1, 1)))
        let largest = try #require(Fraction(numerator, denominator))
        let channel = GainMapMetadata.Channel(
            minimum: try #require(Fraction(min(numerator, 0), 1)), maximum: largest, gamma: one, baseOffset: zero,
            alternateOffset: zero)
        let metadata = try #require(
            GainMapMetadata(baseHeadroom: zero, alternateHeadroom: one, channels: [channel], usesBaseColors: true))
        let decoder = MapDecoder(
            map: StoredGainMap(
                file: try GainMapFiles.jpegPicture(width: 16, height: 12, isGray: true), metadata: metadata,
                colors: nil,
                encoding: .linear))
        let (data, registry) = (try file(xmp: Self.headroom), CodecRegistry())
        let info = try registry.info(of: data)
        registry.register(decoder)
        #expect(try registry.gainMap(of: data, info, options: DecodingOptions()) == nil)
    }

    /// Decodes as the library does, and returns one map for all files.
    private struct MapDecoder: GainMapDecoder {
        let map: StoredGainMap
        let format = ImageFormat.jpeg

        func canDecode(_ data: Data) -> Bool { JPEGDecoder().canDecode(data) }
        func info(of data: Data) throws(WebImageError) -> ImageInfo { try JPEGDecoder().info(of: data) }
        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
            try JPEGDecoder().decode(data, options: options)
        }
        func gainMap(of data: Data) throws(WebImageError) -> StoredGainMap? { map }
    }

    @Test func everyCutOfTheNotesIsHarmless() {
        let exif = Self.exif(500, 5)
        for length in 0..<exif.count {
            _ = AppleGainMap.metadata(xmp: Data(Self.xmp("").utf8), exif: exif.prefix(length))
        }
        for offset in exif.indices {
            var changed = exif
            changed[offset] = 0xFF
            _ = AppleGainMap.metadata(xmp: Data(Self.xmp("").utf8), exif: changed)
        }
    }

    /// Only the map's own file tells of it.
    @Test func infoTellsOfTheMap() throws {
        let data = try file(xmp: Self.headroom)
        let name = Data("hdrgm:Version".utf8)
        var plain = data
        while let range = plain.firstRange(of: name) { plain.replaceSubrange(range, with: Data("other:Version".utf8)) }
        #expect(try registry.info(of: plain).hasGainMap)
        #expect(try map(in: plain) != nil)
    }
}
