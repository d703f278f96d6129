import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

@Suite(.timeLimit(.minutes(3))) struct MediaGainMapTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry

    init() throws { files = try FormatFiles() }

    private static let size = PixelSize(width: 128, height: 96)
    private static let mapSize = PixelSize(width: 64, height: 48)

    /// Files of other programs: an image and a gray map.
    private func parts(_ format: LibraryFormat) throws -> (image: Data, map: Data) {
        try files.make(format, "image", from: files.png("image.png", size: Self.size))
        let map = try GainMapFiles.picture(width: Self.mapSize.width, height: Self.mapSize.height, isGray: true)
        try files.make(format, "map", from: files.png("map.png", map.pixels))
        return (try files.data("image"), try files.data("map"))
    }

    private func map(in data: Data) throws -> GainMap? {
        try registry.gainMap(of: data)
    }

    @Test(arguments: [LibraryFormat.avif, .heic].filter(\.isBuilt)) func finds(format: LibraryFormat) throws {
        let (image, mapFile) = try parts(format)
        let data = try #require(ToneMappedFile(image: image, map: mapFile)).data()
        #expect(try registry.info(of: data).hasGainMap && !registry.info(of: image).hasGainMap)
        #expect(try registry.info(of: data).size == Self.size)
        let map = try #require(try map(in: data))
        #expect(map.metadata.iso == GainMapFiles.iso() && map.imageSize == Self.size)
        #expect(map.colors == nil)
        let wanted = try GainMapFiles.picture(width: Self.mapSize.width, height: Self.mapSize.height, isGray: true)
        #expect(Pixels(map.pixels).psnr(against: Pixels(wanted.pixels)) ?? 0 > 35)
    }

    /// The map's file says that its pixels are PQ, which is not converted.
    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func aMapHasNoColors() throws {
        let (image, mapFile) = try parts(.avif)
        let plain = try #require(ToneMappedFile(image: image, map: mapFile))
        var strange = plain
        strange.mapColors = Array("nclx".utf8) + [0, 9, 0, 16, 0, 6, 0x80]
        let (first, second) = (try map(in: plain.data()), try map(in: strange.data()))
        #expect(first != nil && first.map { Pixels($0.pixels) } == second.map { Pixels($0.pixels) })
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func theColorsOfTheBrighterImageAreKept() throws {
        try files.make(.avif, "image", from: files.png("image.png", size: Self.size))
        try files.make(.avif, "map", from: files.png("map.png", size: Self.mapSize))
        var file = try #require(ToneMappedFile(image: files.data("image"), map: files.data("map")))
        file.iso = GainMapFiles.iso(flags: 0x80, channels: 3)
        file.brightColors = Array("nclx".utf8) + [0, 12, 0, 16, 0, 0, 0x80]
        let map = try #require(try map(in: file.data()))
        #expect(map.colors == .codePoints(ColorCodePoints(primaries: 12, transfer: 16)))
        #expect(!map.metadata.usesBaseColors && map.metadata.channels.count == 3)
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func writesWhatIsReadAgain() throws {
        let (image, mapFile) = try parts(.avif)
        let file = try #require(ToneMappedFile(image: image, map: mapFile))
        let map = try #require(try self.map(in: file.data()))
        let picture = Image(pixels: try FormatFiles.painting(Self.size, hasAlpha: true))
        var options = EncodingOptions(quality: 0.9)
        options.metadata = CameraMetadata.metadata()
        let plain = try registry.encode(picture, as: .avif, options: options)
        options.gainMap = map
        let data = try registry.encode(picture, as: .avif, options: options)
        let again = try #require(try self.map(in: data))
        #expect(again.metadata == map.metadata && again.imageSize == Self.size)
        #expect(Pixels(again.pixels).psnr(against: Pixels(map.pixels)) ?? 0 > 35)
        // The image, its alpha and its metadata are the same.
        #expect(try Pixels(registry.decode(data).pixels) == Pixels(registry.decode(plain).pixels))
        #expect(try registry.metadata(of: data) == registry.metadata(of: plain))
        #expect(try registry.info(of: data).hasAlpha)
        // Programs that know no gain maps show the image, and find its size in the beginning.
        try files.directory.write(data, to: "made.avif")
        try files.run("avifdec", files.path("made.avif"), files.path("made.png"))
        #expect(try registry.probe(data.prefix(1_500))?.size == Self.size)
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func theAlternativesAreInOrder() throws {
        let map = GainMap(
            pixels: try GainMapFiles.picture(width: 32, height: 24).pixels,
            metadata: try #require(GainMapMetadata(iso: GainMapFiles.iso())), imageSize: Self.size)
        var options = EncodingOptions()
        options.gainMap = map
        let data = try registry.encode(Image(pixels: FormatFiles.painting(Self.size)), as: .avif, options: options)
        let file = try #require(ItemFile(data))
        let bright = try #require(file.table.order.first { file.table.items[$0]?.type == "tmap" })
        #expect(file.table.primary == file.table.inputs(of: bright).first && file.table.inputs(of: bright).count == 2)
        let group = try #require(data.firstRange(of: Data("altr".utf8))).upperBound
        func number(_ index: Int) -> Int {
            data[group + index * 4..<group + index * 4 + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        #expect(number(2) == 2 && number(3) == bright && number(4) == file.table.primary)
        #expect(file.table.items[number(1)] == nil)
        #expect(data.firstRange(of: Data("tmap".utf8)).map { $0.upperBound <= 64 } == true, "the brand")
        // A file of the map alone has no such item, and libavif refuses the brand without one.
        let decoder = try #require(registry.decoder(of: .avif) as? any GainMapDecoder)
        let stored = try #require(try decoder.gainMap(of: data))
        #expect(stored.file.firstRange(of: Data("tmap".utf8)) == nil)
        #expect(try registry.info(of: stored.file).size == PixelSize(width: 32, height: 24))
    }

    @Test(.enabled(if: LibraryFormat.heic.isBuilt, "needs libheif")) func appleMapsAreFound() throws {
        let (image, mapFile) = try parts(.heic)
        var file = try #require(ToneMappedFile(image: image, map: mapFile))
        file.appleXMP = """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            <rdf:Description HDRGainMap:HDRGainMapVersion="65536" HDRGainMap:HDRGainMapHeadroom="4" \
            xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/"/></rdf:RDF></x:xmpmeta>
            """
        let data = file.data()
        #expect(try registry.info(of: data).hasGainMap && registry.info(of: data).size == Self.size)
        let map = try #require(try map(in: data))
        #expect(map.metadata.alternateHeadroom.value == 2 && map.pixels.size == Self.mapSize)
    }

    // MARK: Damage

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func whatIsNoMapIsNone() throws {
        let (image, mapFile) = try parts(.avif)
        let good = try #require(ToneMappedFile(image: image, map: mapFile))
        var broken: [ToneMappedFile] = []
        for inputs in [[], [1], [2, 1], [1, 1], [1, 3], [3, 2], [1, 99], [1, 2, 2]] {
            var file = good
            file.inputs = inputs
            broken.append(file)
        }
        for payload in [
            [], [1] + GainMapFiles.iso(), [0], [0] + GainMapFiles.iso() + [0], [UInt8](repeating: 0, count: 9_000),
        ] {
            var file = good
            file.payload = payload
            broken.append(file)
        }
        for (index, file) in broken.enumerated() {
            let data = file.data()
            #expect(try registry.decode(data).pixels.size == Self.size, "\(index)")
            #expect(try map(in: data) == nil, "\(index)")
        }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func everyCutIsHarmless() throws {
        let (image, mapFile) = try parts(.avif)
        let data = try #require(ToneMappedFile(image: image, map: mapFile)).data()
        let decoder = LibraryDecoder(.avif)
        for length in stride(from: 0, to: data.count, by: 7) {
            guard let stored = try? decoder.gainMap(of: Data(data.prefix(length))) else { continue }
            _ = try? registry.info(of: stored.file)
        }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func everyChangedByteOfTheTablesIsHarmless() throws
    {
        let (image, mapFile) = try parts(.avif)
        let data = try #require(ToneMappedFile(image: image, map: mapFile)).data()
        let meta = try #require(data.box("meta")).range
        let decoder = LibraryDecoder(.avif)
        for offset in meta {
            for value in [UInt8(0), 0xFF, data[offset] ^ 1] {
                var changed = data
                changed[offset] = value
                _ = try? decoder.gainMap(of: changed)
            }
        }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func damagedFilesOfAnEncoderGetNoMap() throws {
        let (image, mapFile) = try parts(.avif)
        let map = GainMap(
            pixels: try GainMapFiles.picture(width: 16, height: 12).pixels,
            metadata: try #require(GainMapMetadata(iso: GainMapFiles.iso())), imageSize: Self.size)
        #expect(try map.added(toAVIF: image, mapFile) != nil)
        for length in stride(from: 0, to: image.count, by: 5) {
            _ = try map.added(toAVIF: image.prefix(length), mapFile)
            _ = try map.added(toAVIF: image, Data(mapFile.prefix(min(length, mapFile.count))))
        }
    }
}

/// A file with an image, a map, and the image that is derived of both; or with a map as Apple has it.
private struct ToneMappedFile {
    private let image: ItemFile
    private let map: ItemFile
    private let mapOffset: Int
    var iso = GainMapFiles.iso()
    /// All that the derived image has.
    var payload: [UInt8]?
    /// 1 is the image, 2 the map, 3 the derived image; others are no items.
    var inputs = [1, 2]
    var mapColors = Array("nclx".utf8) + [0, 2, 0, 2, 0, 6, 0x80]
    var brightColors = Array("nclx".utf8) + [0, 1, 0, 16, 0, 0, 0x80]
    var appleXMP: String?

    init?(image: Data, map: Data) {
        guard let first = ItemFile(image), let second = ItemFile(map) else { return nil }
        (self.image, self.map, mapOffset) = (first, second, image.count)
    }

    func data() -> Data {
        var file = image
        _ = file.add(Array(map.source))
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            GainMapFiles.big(content.count + 8, 4) + Array(type.utf8) + content
        }
        let colors = file.add(box("colr", mapColors))
        let bright = file.add(box("colr", brightColors))
        let apple = file.add(box("auxC", [0, 0, 0, 0] + Array("urn:com:apple:photo:2020:aux:hdrgainmap\0".utf8)))
        let metadata = file.add(payload ?? [0] + iso)
        let xmp = file.add(Array((appleXMP ?? "").utf8))
        let size = file.table.properties(of: file.primary).first { $0.box.type == "ispe" }
        return file.write { writer in
            let primary = copy(file.primary, of: file, offset: 0, to: &writer)
            let mapItem = copy(map.primary, of: map, offset: mapOffset, colors: colors, to: &writer)
            guard appleXMP == nil else {
                writer.addProperty(apple, isEssential: false, to: mapItem)
                writer.addReference("auxl", from: mapItem, to: [primary])
                let text = writer.addItem("mime", contentType: "application/rdf+xml")
                _ = writer.setData([xmp], of: text)
                writer.addReference("cdsc", from: text, to: [mapItem])
                return primary
            }
            let derived = writer.addItem("tmap", isHidden: false)
            if let size { writer.addProperty(size.box.range, isEssential: false, to: derived) }
            writer.addProperty(bright, isEssential: false, to: derived)
            _ = writer.setData([metadata], of: derived)
            let identifiers = [1: primary, 2: mapItem, 3: derived]
            if !inputs.isEmpty {
                writer.addReference("dimg", from: derived, to: inputs.map { identifiers[$0] ?? $0 })
            }
            writer.addGroup("altr", of: [derived, primary])
            return primary
        }
    }

    /// Copies an image with the cells of a grid, as heif-enc writes it.
    private func copy(
        _ item: Int, of file: ItemFile, offset: Int, colors: Range<Int>? = nil, to writer: inout ItemFileWriter
    ) -> Int {
        func moved(_ range: Range<Int>) -> Range<Int> { range.lowerBound + offset..<range.upperBound + offset }
        let identifier = writer.addItem(file.table.items[item]?.type ?? "")
        for property in file.table.properties(of: item) where colors == nil || property.box.type != "colr" {
            writer.addProperty(moved(property.box.range), isEssential: property.isEssential, to: identifier)
        }
        if let colors { writer.addProperty(colors, isEssential: false, to: identifier) }
        _ = writer.setData((file.table.items[item]?.extents ?? []).map(moved), of: identifier)
        let cells = file.table.inputs(of: item).map { copy($0, of: file, offset: offset, colors: colors, to: &writer) }
        if !cells.isEmpty { writer.addReference("dimg", from: identifier, to: cells) }
        return identifier
    }
}
