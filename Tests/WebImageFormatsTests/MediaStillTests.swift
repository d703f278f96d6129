import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// What of an AVIF or HEIC the libraries get to see.
@Suite(.timeLimit(.minutes(3))) struct MediaStillTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry
    private static let cell = PixelSize(width: 64, height: 64)

    init() throws { files = try FormatFiles() }

    private func made(_ format: LibraryFormat, _ size: PixelSize = cell, hasAlpha: Bool = false) throws -> Data {
        try files.make(format, "image", from: files.png("source.png", size: size, hasAlpha: hasAlpha))
        return try files.data("image")
    }

    // MARK: Grids

    /// libavif before 1.0 finds three of the four cells, if two are the same.
    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func aCellMayBeUsedRepeatedly() throws {
        let single = try made(.avif)
        let file = try #require(ItemFile(single))
        let image = try registry.decode(file.grid(rows: 2, columns: 3, cell: Self.cell))
        let expected = try registry.decode(single).pixels
        #expect(image.pixels.size == PixelSize(width: 192, height: 128))
        for (x, y) in [(0, 0), (64, 0), (128, 64), (100, 100)] {
            let (pixel, other) = (image.pixels[x, y], expected[x % 64, y % 64])
            #expect((0..<4).allSatisfy { abs(Int(pixel[$0]) - Int(other[$0])) <= 2 })
        }
    }

    /// The decoders of libavif before 1.0 live as long as the file: 1,600 cells had 3,206 threads.
    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func cellsHaveNoMoreThreadsThanProcessors() throws
    {
        let grid = try #require(ItemFile(try made(.avif))).grid(rows: 10, columns: 10, cell: Self.cell)
        try grid.withBytes { (bytes) throws(WebImageError) in
            let file = try LibraryFile(.avif, bytes: bytes, limits: .default, threadCount: 4)
            let pixels = try file.pixels(allowsDamage: false, cancellation: nil).pixels
            #expect(pixels.size == PixelSize(width: 640, height: 640))
            #expect(Self.decoderThreadCount <= 4)
        }
    }

    private static var decoderThreadCount: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.count { task in
            let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
            return name?.hasPrefix("dav1d") == true || name?.hasPrefix("aom") == true
        }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif"), arguments: [(40, 40), (128, 128)])
    func aGridOfTooManyCellsIsRefused(rows: Int, columns: Int) throws {
        let data = try #require(ItemFile(try made(.avif))).grid(rows: rows, columns: columns, cell: Self.cell)
        for call in [{ _ = try registry.info(of: data) }, { _ = try registry.decode(data) }] {
            let error = #expect(throws: WebImageError.self) { try call() }
            guard case .decoding(_, .unsupported(let text), _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.contains("more than 1024"))
        }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func aGridOfItselfIsRefused() throws {
        var file = try #require(ItemFile(try made(.avif)))
        let payload = file.add([0, 0, 0, 1, 0, 128, 0, 64])
        let size = file.addSize(PixelSize(width: 128, height: 64))
        let data = file.write { writer in
            let grid = writer.addItem("grid", isHidden: false)
            writer.addProperty(size, isEssential: false, to: grid)
            _ = writer.setData([payload], of: grid)
            writer.addReference("dimg", from: grid, to: [grid, grid])
            return grid
        }
        #expect(throws: WebImageError.self) { try registry.decode(data) }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func itemsThatAreLargerThanTheFileAreRefused()
        throws
    {
        var file = try #require(ItemFile(try made(.avif)))
        let filler = file.add([UInt8](repeating: 7, count: 1 << 16))
        let data = file.write { writer in
            let image = file.copy(file.primary, to: &writer)
            let extents = (0..<40).map { filler.lowerBound + $0..<filler.upperBound }
            _ = writer.setData(extents, of: image)
            return image
        }
        // Such a file is large; one that repeats the same bytes is not.
        #expect(still(data, .avif) != nil)
        let place = try #require(data.firstRange(of: Data("iloc".utf8)))
        // Version 0: sizes, count, item, file, extents.
        let entry = Array(data[place.upperBound + 14..<place.upperBound + 22])
        let repeated = (0..<2000).flatMap { _ in entry }
        let location = [UInt8](data[place.upperBound..<place.upperBound + 12]) + [0x07, 0xD0] + repeated
        let meta = try #require(data.firstRange(of: Data("meta".utf8)))
        var hostile = data
        hostile.replaceSubrange(place.upperBound..<place.upperBound + 22, with: location)
        hostile.replaceSubrange(place.lowerBound - 4..<place.lowerBound, with: ItemFile.bytes(8 + location.count))
        let metaLength = data.count - meta.lowerBound + 4 + location.count - 22
        hostile.replaceSubrange(meta.lowerBound - 4..<meta.lowerBound, with: ItemFile.bytes(metaLength))
        let error = WebImageError.decoding(format: .avif, reason: .corrupt("items that are larger than the file"))
        #expect(throws: error) { try registry.decode(hostile) }
    }

    /// The stream tells more pixels than the boxes.
    @Test(.enabled(if: !FormatFiles.media.isEmpty, "needs libavif or libheif"), arguments: FormatFiles.media)
    func theSizeOfTheStreamCounts(format: LibraryFormat) throws {
        let data = try made(format, PixelSize(width: 400, height: 304))
        let small = data.replacing(ItemFile.bytes(64) + ItemFile.bytes(64), at: 4, behind: "ispe")
        var options = DecodingOptions()
        options.limits.pixelCount = 10_000
        #expect(throws: WebImageError.self) { try registry.decode(small, options: options) }
    }

    /// The product of the limit and of another number is too large for an integer.
    @Test(.enabled(if: !FormatFiles.media.isEmpty, "needs libavif or libheif"), arguments: FormatFiles.media)
    func theLimitCanBeAnyNumber(format: LibraryFormat) throws {
        let size = PixelSize(width: 400, height: 304)
        var options = DecodingOptions()
        options.limits.pixelCount = .max
        #expect(try registry.decode(made(format, size), options: options).pixels.size == size)
    }

    /// Damaged tables give an error, or a file that is not larger than allowed and is read the same when it is made anew.
    @Test(.enabled(if: !FormatFiles.media.isEmpty, "needs libavif or libheif"), arguments: FormatFiles.media)
    func damagedTablesAreSafe(format: LibraryFormat) throws {
        let whole = try made(format, hasAlpha: true)
        let table = try #require(whole.box("meta")).range
        var random = SplitMix64(seed: 11)
        var madeCount = 0
        for _ in 0..<2_000 {
            var data = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                data[Int.random(in: table, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let first = still(data, format) else { continue }
            madeCount += 1
            #expect(first.bytes.count <= 2 * data.count + (2 << 20))
            let second = still(Data(first.bytes), format)
            #expect(second?.isGrid == first.isGrid && second?.bytes.count == first.bytes.count)
        }
        #expect(madeCount > 100)
    }

    private func still(_ data: Data, _ format: LibraryFormat) -> MediaStill? {
        data.withUnsafeBytes {
            try? MediaStill($0, format: format.format, limits: .default, hasThumbnails: true, hasMetadata: true)
        }
    }

    // MARK: The image to show

    @Test(.enabled(if: FormatFiles.made.contains(.heic), "needs libheif with an encoder"))
    func aThumbnailIsNotTheImage() throws {
        let png = try files.png("source.png", size: PixelSize(width: 400, height: 300))
        try files.run("heif-enc", "-t", "100", png, "-o", files.path("image"))
        let data = try files.data("image")
        let file = try #require(ItemFile(data))
        let thumbnail = try #require(file.table.sources("thmb", to: file.primary).first)
        let expected = Pixels(try registry.decode(data).pixels)
        // The primary item is the thumbnail, is missing, and is no image.
        for item in [thumbnail, 999] {
            let changed = data.replacing([UInt8(item >> 8), UInt8(item & 255)], at: 4, behind: "pitm")
            #expect(Pixels(try registry.decode(changed).pixels) == expected)
            let info = try registry.info(of: changed)
            #expect(info.size == expected.size && info.pageCount == 1)
            #expect(try registry.probe(changed)?.size == expected.size)
            let small = Thumbnail(.pixels(width: 80, height: 80), mode: .aspectFit)
            let image = try registry.decode(changed, options: DecodingOptions(thumbnail: small))
            #expect(image.pixels.size == PixelSize(width: 80, height: 60))
        }
    }

    // MARK: Files that not every version reads

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func alphaNeedsNoSize() throws {
        let data = try made(.avif, hasAlpha: true)
        let file = try #require(ItemFile(data))
        let alpha = try #require(file.alpha)
        let changed = file.write { writer in
            let image = file.copy(file.primary, to: &writer)
            let mask = file.copy(alpha, to: &writer) { $0.box.type != "ispe" }
            writer.addReference("auxl", from: mask, to: [image])
            return image
        }
        let image = try registry.decode(changed)
        let expected = Pixels(try registry.decode(data).pixels)
        #expect(!image.pixels.isOpaque && Pixels(image.pixels) == expected)
    }

    /// libavif before 1.0 shows such a grid without alpha.
    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func theCellsOfAGridMayHaveAlpha() throws {
        let data = try made(.avif, hasAlpha: true)
        var file = try #require(ItemFile(data))
        let alpha = try #require(file.alpha)
        let payload = file.add([0, 0, 0, 1, 0, 128, 0, 64])
        let size = file.addSize(PixelSize(width: 128, height: 64))
        let changed = file.write { writer in
            let grid = writer.addItem("grid", isHidden: false)
            writer.addProperty(size, isEssential: false, to: grid)
            _ = writer.setData([payload], of: grid)
            let cell = file.copy(file.primary, to: &writer)
            let mask = file.copy(alpha, to: &writer)
            writer.addReference("dimg", from: grid, to: [cell, cell])
            writer.addReference("auxl", from: mask, to: [cell])
            return grid
        }
        let (image, expected) = (try registry.decode(changed).pixels, try registry.decode(data).pixels)
        #expect(image.size == PixelSize(width: 128, height: 64) && !image.isOpaque)
        for (x, y) in [(0, 0), (10, 10), (40, 20), (63, 63)] {
            #expect(abs(Int(image[x, y].w) - Int(expected[x, y].w)) <= 1)
            #expect(abs(Int(image[x + 64, y].w) - Int(expected[x, y].w)) <= 1)
        }
        #expect(try registry.info(of: changed).hasAlpha)
        #expect(try registry.probe(changed)?.hasAlpha == true)
    }

    /// A box without a length ends where the file does.
    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif"), arguments: [true, false])
    func dataMayBeBesideTheItems(hasLength: Bool) throws {
        let data = try made(.avif)
        let file = try #require(ItemFile(data))
        let extent = try #require(file.table.items[file.primary]?.extents.first)
        let meta = try #require(data.box("meta"))
        var content: [UInt8] = [0, 0, 0, 0]
        for box in data.boxes(in: meta.content.lowerBound + 4..<meta.content.upperBound)
        where box.type != "iloc" {
            content += data[box.range]
        }
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            ItemFile.bytes(content.count + 8) + Array(type.utf8) + content
        }
        let item = [UInt8(file.primary >> 8), UInt8(file.primary & 255)]
        // Version 1, in this box, without a base: of one extent all that is there.
        content += box(
            "iloc", [1, 0, 0, 0, 0x44, 0, 0, 1] + item + [0, 1, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 8))
        content += box("idat", Array(data[extent]))
        var whole = box("meta", content)
        if !hasLength { whole.replaceSubrange(0..<4, with: [0, 0, 0, 0]) }
        let changed = data[file.fileType] + Data(whole)
        #expect(Pixels(try registry.decode(changed).pixels) == Pixels(try registry.decode(data).pixels))
        #expect(try registry.info(of: changed).size == Self.cell)
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func anExtentWithoutLengthEndsWithTheFile() throws
    {
        let data = try made(.avif)
        let file = try #require(ItemFile(data))
        #expect(file.table.items[file.primary]?.extents.first?.upperBound == data.count)
        let changed = data.replacing([0, 0, 0, 0], at: 18, behind: "iloc")
        #expect(changed != data)
        #expect(Pixels(try registry.decode(changed).pixels) == Pixels(try registry.decode(data).pixels))
    }

    /// libavif before 1.1 refuses a track without a size.
    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func soundDoesNotMatter() throws {
        let frames = try (0..<3).map { try files.png("\($0).png", size: Self.cell) }
        try OtherProgram.run("/usr/bin/avifenc", ["-s", "9"] + frames + [files.path("sequence")])
        let data = try files.data("sequence")
        let movie = try #require(data.box("moov"))
        let track = try #require(data.box("trak", in: movie.content))
        var sound = Data(data[track.range]).replacing(Array("soun".utf8), at: 8, behind: "hdlr")
        let header = try #require(data.box("tkhd", in: track.content))
        let end = header.range.upperBound - track.range.lowerBound
        sound.replaceSubrange(end - 8..<end, with: [UInt8](repeating: 0, count: 8))
        sound = sound.replacing(Array("mp4a".utf8), at: 12, behind: "stsd")
        var changed = data
        changed.insert(contentsOf: sound, at: track.range.lowerBound)
        let length = movie.range.count + sound.count
        changed.replaceSubrange(movie.range.lowerBound..<movie.range.lowerBound + 4, with: ItemFile.bytes(length))
        // The places of the frames.
        var place = changed.startIndex
        while let found = changed[place...].firstRange(of: Data("stco".utf8)) {
            for index in 0..<Int(changed[found.upperBound + 7]) {
                let start = found.upperBound + 8 + 4 * index
                let offset = changed[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
                changed.replaceSubrange(start..<start + 4, with: ItemFile.bytes(offset + sound.count))
            }
            place = found.upperBound
        }
        let (image, expected) = (try registry.decode(changed), try registry.decode(data))
        #expect(image.frameCount == 3 && Pixels(image.pixels) == Pixels(expected.pixels))
    }
}
