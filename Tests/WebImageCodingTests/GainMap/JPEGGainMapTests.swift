import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(2))) struct JPEGGainMapTests {
    private let registry = CodecRegistry()

    private func map(in data: Data) throws -> GainMap? {
        try registry.gainMap(of: data, registry.info(of: data), options: DecodingOptions())
    }

    private func options(_ map: GainMap, metadata: ImageMetadata? = nil) -> EncodingOptions {
        var options = EncodingOptions(quality: 0.9)
        (options.gainMap, options.metadata) = (map, metadata)
        return options
    }

    @Test(arguments: GainMapFiles.Description.allCases, GainMapFiles.Place.allCases)
    func finds(described: GainMapFiles.Description, place: GainMapFiles.Place) throws {
        let data = try GainMapFiles.ultraHDR(described: described, at: place)
        let map = try #require(try map(in: data))
        #expect(
            map.pixels.size == PixelSize(width: 16, height: 12) && map.imageSize == PixelSize(width: 64, height: 48))
        #expect(map.metadata.channels[0].maximum.value == 3 && map.metadata.alternateHeadroom.value == 3)
        let wanted = try GainMapFiles.picture(width: 16, height: 12, isGray: true).pixels
        #expect(map.isGray && largestDifference(map.pixels, wanted) < 8)
    }

    @Test func anOrdinaryFileHasNone() throws {
        let data = try GainMapFiles.jpegPicture(width: 64, height: 48)
        #expect(try map(in: data) == nil && !registry.info(of: data).hasGainMap)
    }

    /// EXIF of the image applies to both.
    @Test func theMapIsUprightLikeTheImage() throws {
        let exif = try #require(ImageMetadata(exif: CameraMetadata.exif(isBigEndian: true)).exif)
        let data = GainMapFiles.jpeg(
            try GainMapFiles.jpegPicture(width: 64, height: 48),
            try GainMapFiles.jpegPicture(width: 16, height: 12, isGray: true),
            prefix: GainMapFiles.segment(0xE1, "Exif\0\0", exif))
        let map = try #require(try map(in: data))
        #expect(
            map.imageSize == PixelSize(width: 48, height: 64) && map.pixels.size == PixelSize(width: 12, height: 16))
        let wanted = try GainMapFiles.picture(width: 16, height: 12, isGray: true).pixels.upright(from: .right)
        #expect(largestDifference(map.pixels, wanted) < 8)
    }

    @Test func writesWhatIsReadAgain() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        let image = try GainMapFiles.picture(width: 64, height: 48)
        let data = try registry.encode(image, as: .jpeg, options: options(original))
        let again = try #require(try map(in: data))
        #expect(again.metadata == original.metadata && again.imageSize == original.imageSize)
        #expect(largestDifference(again.pixels, original.pixels) < 8)
        let plain = try registry.encode(image, as: .jpeg, options: EncodingOptions(quality: 0.9))
        #expect(try largestDifference(registry.decode(data).pixels, registry.decode(plain).pixels) == 0)
    }

    /// With what is public alone.
    @Test func aProgramReadsMakesAndWritesThem() throws {
        let file = try GainMapFiles.ultraHDR()
        let original = try #require(try registry.gainMap(of: file))
        #expect(original.isoMetadata == Data(original.metadata.iso) && GainMap.formats == [.jpeg, .avif])
        let made = try #require(
            GainMap(
                pixels: original.pixels, isoMetadata: original.isoMetadata,
                imageSize: PixelSize(width: 64, height: 48)))
        let data = try registry.encode(registry.decode(file), as: .jpeg, options: options(made))
        let again = try #require(try registry.gainMap(of: data))
        #expect(again.isoMetadata == original.isoMetadata && again.imageSize == original.imageSize)
        #expect(largestDifference(again.pixels, original.pixels) < 8)
        #expect(try registry.gainMap(of: GainMapFiles.jpegPicture(width: 64, height: 48)) == nil)
        #expect(throws: WebImageError.self) { try registry.gainMap(of: Data("no image".utf8)) }
        for length in [0, 4, original.isoMetadata.count - 1] {
            let metadata = original.isoMetadata.prefix(length)
            #expect(GainMap(pixels: original.pixels, isoMetadata: metadata, imageSize: original.imageSize) == nil)
        }
    }

    /// The index is read here as the standard says, and not with the library's reader.
    @Test func theIndexTellsWhereBothImagesAre() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        let data = try registry.encode(
            GainMapFiles.picture(width: 64, height: 48), as: .jpeg,
            options: options(original, metadata: CameraMetadata.metadata()))
        let start = try #require(data.firstRange(of: Data("MPF\0MM\0*".utf8))).lowerBound + 4
        func number(_ offset: Int) -> Int { data[start + offset..<start + offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        #expect(number(50 + 4) == number(66 + 8) + start && number(50 + 8) == 0)
        let (offset, length) = (number(66 + 8) + start, number(66 + 4))
        #expect(offset + length == data.count && data[offset..<offset + 3].elementsEqual([0xFF, 0xD8, 0xFF]))
        #expect(data[offset - 2..<offset].elementsEqual([0xFF, 0xD9]))
        #expect(data.firstRange(of: Data("Item:Length=\"\(length)\"".utf8)) != nil)
        // A map of one channel is a gray image, without colors.
        #expect(try JPEGHeader(reading: data[offset...].bytes).componentCount == 1)
    }

    @Test func theImageKeepsItsMetadata() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        let data = try registry.encode(
            GainMapFiles.picture(width: 64, height: 48), as: .jpeg,
            options: options(original, metadata: CameraMetadata.metadata()))
        let metadata = try registry.metadata(of: data)
        let text = String(decoding: try #require(metadata.xmp), as: UTF8.self)
        #expect(text.contains("dc:title=\"Dunes\"") && text.contains("hdrgm:Version") && metadata.exif != nil)
        #expect(try registry.info(of: data).hasGainMap)
        // What is read is not written twice.
        let second = try registry.encode(
            registry.decode(data), as: .jpeg, options: options(original, metadata: metadata))
        let again = String(decoding: try #require(registry.metadata(of: second).xmp), as: UTF8.self)
        #expect(again.ranges(of: "hdrgm:Version=").count == 1 && again.contains("dc:title=\"Dunes\""))
    }

    /// The index and ISO 21496-1 are enough.
    @Test func aPacketThatFillsItsSegmentStaysAsItIs() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        let filler = String(repeating: "x", count: 65_000)
        let xmp = Data(
            """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description \
            dc:title="\(filler)"/></rdf:RDF></x:xmpmeta>
            """.utf8)
        let data = try registry.encode(
            GainMapFiles.picture(width: 64, height: 48), as: .jpeg,
            options: options(original, metadata: ImageMetadata(xmp: xmp)))
        #expect(try registry.metadata(of: data).xmp?.count == xmp.count)
        #expect(try map(in: data)?.metadata == original.metadata)
    }

    @Test func aMapIsScaledWithItsImage() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        var options = options(original)
        options.bounds = Thumbnail(.pixels(width: 32, height: 32))
        let data = try registry.encode(GainMapFiles.picture(width: 64, height: 48), as: .jpeg, options: options)
        #expect(try registry.info(of: data).size == PixelSize(width: 32, height: 24))
        #expect(try map(in: data)?.pixels.size == PixelSize(width: 8, height: 6))
    }

    @Test func theLimitOnBytesCountsTheMap() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        let image = try GainMapFiles.picture(width: 64, height: 48)
        var options = options(original)
        options.byteLimit = try registry.encode(image, as: .jpeg, options: options).count - 1
        let shorter = try registry.encode(image, as: .jpeg, options: options)
        #expect(shorter.count <= options.byteLimit ?? 0)
        #expect(try map(in: shorter) != nil)
        // Less than the metadata of a map take.
        options.byteLimit = 1_000
        let shortest = try registry.encode(image, as: .jpeg, options: options)
        #expect(shortest.count <= 1_000)
        #expect(try map(in: shortest) == nil)
    }

    @Test func onlyFormatsWithGainMapsGetOne() throws {
        let original = try #require(try map(in: GainMapFiles.ultraHDR()))
        let image = try GainMapFiles.picture(width: 64, height: 48)
        for format in [ImageFormat.png, .webp, .gif, .bmp] {
            let plain = try registry.encode(image, as: format, options: EncodingOptions(quality: 0.9))
            #expect(try registry.encode(image, as: format, options: options(original)) == plain, "\(format.name)")
        }
        var pixels = try image.pixels.copied()
        pixels.withUnsafeMutableBytes { bytes in for index in 0..<4 { bytes[index] = 0 } }
        let clear = Image(pixels: pixels.freeze(isOpaque: false))
        #expect(try map(in: registry.encode(clear, as: .jpeg, options: options(original))) == nil)
    }

    @Test func colorsOfThePrimariesAreKept() throws {
        let points = GainMapColors.codePoints(ColorCodePoints(primaries: 12, transfer: 16))
        let profile = try #require(points.profile)
        #expect(GainMapColors(bytes: points.bytes) == points && GainMapColors(bytes: [1, 2]) == nil)
        let channels = GainMapFiles.iso(flags: 0x80, channels: 3)
        let map = GainMap(
            pixels: try GainMapFiles.picture(width: 16, height: 12).pixels,
            metadata: try #require(GainMapMetadata(iso: channels)), colors: points,
            imageSize: PixelSize(width: 64, height: 48))
        let data = try registry.encode(GainMapFiles.picture(width: 64, height: 48), as: .jpeg, options: options(map))
        let again = try #require(try self.map(in: data))
        #expect(again.colors == .profile(profile) && !again.metadata.usesBaseColors && !again.isGray)
        #expect(largestDifference(again.pixels, map.pixels) < 16)
        #expect(try !registry.info(of: data).hasColorProfile)
    }

    @Test func limitsHoldForMaps() throws {
        let data = GainMapFiles.jpeg(
            try GainMapFiles.jpegPicture(width: 16, height: 16), try GainMapFiles.jpegPicture(width: 64, height: 48))
        var options = DecodingOptions()
        options.limits.pixelCount = 64 * 48 - 1
        let info = try registry.info(of: data)
        #expect(try registry.gainMap(of: data, info, options: options) == nil)
        options.limits.pixelCount += 1
        #expect(try registry.gainMap(of: data, info, options: options) != nil)
    }

    // MARK: Damage

    @Test(arguments: GainMapFiles.Place.allCases) func everyCutIsHarmless(place: GainMapFiles.Place) throws {
        let data = try GainMapFiles.ultraHDR(width: 16, height: 16, at: place)
        for length in 0..<data.count {
            guard let info = try? registry.info(of: data.prefix(length)) else { continue }
            #expect(
                try registry.gainMap(of: Data(data.prefix(length)), info, options: DecodingOptions()) == nil,
                "\(length) bytes")
        }
    }

    @Test func everyChangedByteIsHarmless() throws {
        let data = try GainMapFiles.ultraHDR(width: 16, height: 16)
        for offset in data.indices {
            for value in [UInt8(0), 0xFF, data[offset] ^ 0x80] {
                var changed = data
                changed[offset] = value
                guard let info = try? registry.info(of: changed) else { continue }
                _ = try? registry.gainMap(of: changed, info, options: DecodingOptions())
            }
        }
    }

    /// Offsets and lengths: outside, negative as signed numbers, the image itself, overlapping its end.
    @Test(arguments: [0, 1, 100, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF], [0, 1, 3, 100, 0x7FFF_FFFF, 0xFFFF_FFFF])
    func wrongPlacesAreHarmless(offset: Int, length: Int) throws {
        let data = try GainMapFiles.ultraHDR(described: .iso)
        let start = try #require(data.firstRange(of: Data("MPF\0II*\0".utf8))).lowerBound + 4
        var changed = data
        changed.replaceSubrange(start + 70..<start + 74, with: GainMapFiles.big(length, 4).reversed())
        changed.replaceSubrange(start + 74..<start + 78, with: GainMapFiles.big(offset, 4).reversed())
        #expect(try map(in: changed) == nil)
        #expect(try registry.decode(changed).pixels.size == PixelSize(width: 64, height: 48))
    }

    /// A map in whose file is another one is a map, and nothing more.
    @Test func mapsOfMapsAreNotFollowed() throws {
        let inner = try GainMapFiles.ultraHDR(width: 32, height: 32)
        let data = GainMapFiles.jpeg(try GainMapFiles.jpegPicture(width: 64, height: 48), inner)
        let map = try #require(try map(in: data))
        #expect(map.pixels.size == PixelSize(width: 32, height: 32))
    }

    private func largestDifference(_ first: PixelBuffer, _ second: PixelBuffer) -> Int {
        guard first.size == second.size else { return .max }
        var largest = 0
        for y in 0..<first.height {
            for x in 0..<first.width * 4 {
                largest = max(largest, abs(Int(first.row(y)[x]) - Int(second.row(y)[x])))
            }
        }
        return largest
    }
}
