import CodingTestSupport
import Foundation
import SystemText
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// EXIF and XMP that we write, and that other programs write.
@Suite(.timeLimit(.minutes(3))) struct LibraryMetadataTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry
    private let image: Image

    init() throws {
        files = try FormatFiles()
        image = Image(pixels: try FormatFiles.painting(PixelSize(width: 64, height: 48)))
    }

    private func encoded(_ format: LibraryFormat, _ metadata: ImageMetadata?) throws -> Data {
        try registry.encode(
            image, as: format.format, options: EncodingOptions(isLossless: true).with { $0.metadata = metadata })
    }

    @Test(arguments: FormatFiles.written) func writesNoneByDefault(format: LibraryFormat) throws {
        let metadata = try registry.metadata(of: encoded(format, nil))
        #expect(metadata.xmp == nil)
        // A TIFF says how its pixels are turned and scaled.
        if format != .tiff { #expect(metadata.exif == nil) }
    }

    @Test(arguments: FormatFiles.written, [false, true])
    func keepsAllAndDescribesThePixels(format: LibraryFormat, isBigEndian: Bool) throws {
        let data = try encoded(format, CameraMetadata.metadata(isBigEndian: isBigEndian))
        let metadata = try registry.metadata(of: data)
        #expect(
            CameraMetadata.numbers(of: metadata) == ["orientation": 1, "colorSpace": 1, "width": 64, "height": 48])
        let exif = try #require(metadata.exif)
        #expect(exif.range(of: Data("Leica\0".utf8)) != nil)
        #expect(exif.range(of: CameraMetadata.notes) != nil)
        #expect(exif.range(of: CameraMetadata.thumbnail) == nil)
        let xmp = String(decoding: try #require(metadata.xmp), as: UTF8.self)
        #expect(xmp.contains(#"tiff:Orientation="1" dc:title="Dunes""#))
        #expect(try registry.info(of: data).orientation == .up)
        try files.directory.write(data, to: "image." + format.format.fileExtension)
        let other = try files.decodeElsewhere(format, "image." + format.format.fileExtension)
        let tolerance = format == .heic ? 3 : 0
        #expect((other.difference(from: Pixels(image.pixels)) ?? 255) <= tolerance)
        #expect((Pixels(try registry.decode(data).pixels).difference(from: other) ?? 255) <= tolerance)
    }

    @Test(arguments: FormatFiles.written.filter { $0 != .jpeg2000 })
    func keepsAProfileWithItsColors(format: LibraryFormat) throws {
        let p3 = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/p3.jpg"))
        let profile = try #require(try registry.keptProfile(of: p3))
        var decoding = DecodingOptions()
        decoding.keepsColors = true
        let kept = try registry.decode(p3, options: decoding)
        let options = EncodingOptions(quality: 1, isLossless: true).with { $0.colorProfile = profile }
        let file = try registry.encode(kept, as: format.format, options: options)
        #expect(try registry.keptProfile(of: file)?.bytes == profile.bytes)
        let (again, shown) = try (registry.decode(file, options: decoding), registry.decode(file))
        #expect(try #require(Pixels(again.pixels).psnr(against: Pixels(kept.pixels))) > 40)
        #expect(try #require(Pixels(shown.pixels).psnr(against: Pixels(registry.decode(p3).pixels))) > 40)
    }

    @Test(arguments: FormatFiles.written.filter { $0 == .heic || $0 == .jpegXL })
    func ignoresAProfileAboveTheLimit(format: LibraryFormat) throws {
        let p3 = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/p3.jpg"))
        let profile = try #require(try registry.keptProfile(of: p3))
        var decoding = DecodingOptions()
        decoding.keepsColors = true
        let options = EncodingOptions(quality: 1, isLossless: true).with { $0.colorProfile = profile }
        let file = try registry.encode(registry.decode(p3, options: decoding), as: format.format, options: options)
        let kept = Pixels(try registry.decode(file, options: decoding).pixels)
        decoding.keepsColors = false
        for (limit, isUsed) in [(profile.bytes.count, true), (profile.bytes.count - 1, false)] {
            decoding.limits.metadataByteCount = limit
            let shown = Pixels(try registry.decode(file, options: decoding).pixels)
            #expect((shown == kept) != isUsed, "\(limit)")
        }
    }

    @Test(arguments: FormatFiles.written) func anEmptyOneWritesTheOrientation(format: LibraryFormat) throws {
        let metadata = try registry.metadata(of: encoded(format, ImageMetadata()))
        #expect(CameraMetadata.numbers(of: metadata)["orientation"] == 1)
        #expect(metadata.xmp == nil)
    }

    /// Debian 12's vips gives no EXIF of JPEG XL, and none of JPEG 2000 at all.
    @Test(
        .enabled(if: OtherProgram.isInstalled("/usr/bin/vipsheader"), "needs vips"),
        arguments: FormatFiles.written.filter { $0 != .jpegXL && $0 != .jpeg2000 })
    func vipsReadsIt(format: LibraryFormat) throws {
        let name = "image." + format.format.fileExtension
        try files.directory.write(try encoded(format, CameraMetadata.metadata()), to: name)
        let text = String(decoding: try files.run("vipsheader", "-a", files.path(name)), as: UTF8.self)
        #expect(text.contains("xmp-data"))
        if format != .tiff { #expect(text.contains("exif-ifd0-Make: Leica")) }
    }

    @Test(.enabled(if: LibraryFormat.tiff.isBuilt, "needs libtiff")) func pillowReadsThatOfATIFF() throws {
        try files.directory.write(try encoded(.tiff, CameraMetadata.metadata(isBigEndian: true)), to: "a.tif")
        let script = """
            import sys
            from PIL import Image
            image = Image.open(sys.argv[1])
            exif = image.getexif()
            print(exif[0x10F], exif[0x112], exif.get_ifd(0x8769)[0xA001], image.size, image.info.get("icc_profile", b"none")[36:40])
            """
        let output = try OtherProgram.run(OtherProgram.python, ["-c", script, files.path("a.tif")])
        #expect(String(decoding: output, as: UTF8.self) == "Leica 1 1 (64, 48) b''\n")
        let options = EncodingOptions().with { $0.writesColorProfile = true }
        try files.directory.write(try registry.encode(image, as: .tiff, options: options), to: "b.tif")
        let named = try OtherProgram.run(
            OtherProgram.python,
            [
                "-c", "import sys; from PIL import Image; print(Image.open(sys.argv[1]).info['icc_profile'][36:40])",
                files.path("b.tif"),
            ])
        #expect(String(decoding: named, as: UTF8.self) == "b'acsp'\n")
    }

    @Test(arguments: FormatFiles.written.filter { $0 != .jpeg2000 }) func readsThatOfOtherPrograms(
        format: LibraryFormat
    ) throws {
        let metadata = CameraMetadata.metadata(isBigEndian: format == .avif)
        let exif = try files.directory.write(try #require(metadata.exif), to: "a.exif").path
        let xmp = try files.directory.write(CameraMetadata.xmp, to: "a.xmp").path
        let png = try files.png("a.png", image.pixels)
        // `cjxl` compresses the boxes.
        let jpeg = files.path("a.jpg")
        let save = """
            import sys; from PIL import Image
            Image.open(sys.argv[1]).save(sys.argv[2], exif=b"Exif\\0\\0" + open(sys.argv[3], "rb").read())
            """
        switch format {
        case .avif: try files.run("avifenc", "-s", "9", "--exif", exif, "--xmp", xmp, png, files.path("a.avif"))
        case .jpegXL:
            try OtherProgram.run(OtherProgram.python, ["-c", save, png, jpeg, exif])
            try files.run("cjxl", jpeg, files.path("a.jxl"))
        case .heic:
            try OtherProgram.run(OtherProgram.python, ["-c", save, png, jpeg, exif])
            try files.run("heif-enc", jpeg, "-o", files.path("a.heic"))
        case .tiff:
            try OtherProgram.run(OtherProgram.python, ["-c", save, png, files.path("a.tiff"), exif])
        case .jpeg2000, .svg: Issue.record("no program writes it")
        }
        let read = try registry.metadata(of: files.data("a." + format.format.fileExtension))
        #expect(read.exif?.range(of: Data("Leica".utf8)) != nil)
        if format == .avif { #expect(read == metadata) }
    }

    // MARK: A part of the file

    /// A photograph of a few megabytes, or the first kilobytes of one, of which no coded part is there.
    @Test(.enabled(if: !FormatFiles.media.isEmpty, "needs libavif or libheif"), arguments: FormatFiles.media)
    func metadataNeedsNoCodedImage(format: LibraryFormat) throws {
        let whole = try encoded(format, CameraMetadata.metadata())
        let expected = try registry.metadata(of: whole)
        #expect(expected.exif != nil && expected.xmp != nil)
        let file = try #require(ItemFile(whole))
        let metadata = file.table.metadata(of: file.primary, upTo: 1 << 20)
        let excerpt = file.write { writer in
            let image = writer.addItem(file.table.items[file.primary]?.type ?? "", isHidden: false)
            for item in metadata {
                let identifier = writer.addItem(item.type, contentType: item.contentType)
                _ = writer.setData(item.extents, of: identifier)
                writer.addReference("cdsc", from: identifier, to: [image])
            }
            return image
        }
        #expect(try registry.metadata(of: excerpt) == expected)
        #expect(throws: WebImageError.self) { try registry.decode(excerpt) }
    }

    @Test(
        .enabled(if: !FormatFiles.media.isEmpty, "needs libavif or libheif"), arguments: FormatFiles.media,
        [false, true])
    func anExcerptHasTheEXIFOfALongFile(format: LibraryFormat, startsWithTables: Bool) throws {
        let metadata = CameraMetadata.metadata()
        let file = try #require(ItemFile(try encoded(format, metadata)))
        // Like that of a telephone: the image is long, and EXIF anywhere.
        var longer = file
        let pixels = longer.add([UInt8](repeating: 7, count: 2 << 20))
        let long = longer.source.withUnsafeBytes { bytes in
            var writer = ItemFileWriter(bytes, fileType: longer.fileType)
            let image = writer.addItem(file.table.items[file.primary]?.type ?? "", isHidden: false)
            _ = writer.setData([pixels], of: image)
            for item in file.table.metadata(of: file.primary, upTo: 1 << 20) {
                let identifier = writer.addItem(item.type, contentType: item.contentType)
                _ = writer.setData(item.extents, of: identifier)
                writer.addReference("cdsc", from: identifier, to: [image])
            }
            return Data(writer.finish(primary: image, startsWithTables: startsWithTables))
        }
        let path = try files.directory.write(long, to: "long").path
        let excerpt = try EXIFExcerpt.read(SystemString(path))
        #expect(excerpt.count < 4_096)
        let expected = try #require(try registry.metadata(of: long).exif)
        #expect(try registry.metadata(of: excerpt).exif == expected)
    }

    /// A file may have boxes without end before its tables, each of which would be read or skipped.
    @Test func fewBoxesAreReadForAnExcerpt() throws {
        let fileType = box("ftyp", Array("avif\0\0\0\0avifmif1".utf8))
        let source = fileType + [UInt8](repeating: 7, count: 100) + [UInt8](repeating: 9, count: 1 << 20)
        let (exif, pixels) = (fileType.count..<fileType.count + 100, fileType.count + 100..<source.count)
        let file = source.withUnsafeBytes { bytes in
            var writer = ItemFileWriter(bytes, fileType: 0..<fileType.count)
            let (image, item) = (writer.addItem("av01", isHidden: false), writer.addItem("Exif"))
            _ = writer.setData([exif], of: item)
            _ = writer.setData([pixels], of: image)
            writer.addReference("cdsc", from: item, to: [image])
            return writer.finish(primary: image)
        }
        let tables = try #require(Data(file).range(of: Data("meta".utf8))).lowerBound - 4
        /// Whether the excerpt is more than the start of the file, with other boxes before the tables.
        func isFound(_ boxes: [UInt8]) throws -> Bool {
            let path = try files.directory.write(Data(file[..<tables] + boxes + file[tables...]), to: "boxes").path
            let count = try EXIFExcerpt.read(SystemString(path)).count
            return count < 4_096
        }
        #expect(try isFound([]))
        #expect(try isFound(Array(repeatElement(box("free"), count: 200).joined())))
        #expect(try !isFound(Array(repeatElement(box("free"), count: 256).joined())))
        #expect(try !isFound(fileType), "the file's type is first")

        let long = box("ftyp", Array(fileType[8...]) + [UInt8](repeating: 0, count: 4_096))
        let path = try files.directory.write(Data(long + file[fileType.count...]), to: "long").path
        #expect(try EXIFExcerpt.read(SystemString(path)).count == 256 << 10)
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: WebImageError.cancelled) { try EXIFExcerpt.read(SystemString(path), cancellation) }
    }

    private func box(_ type: String, _ content: [UInt8] = []) -> [UInt8] {
        let length = UInt32(8 + content.count)
        return withUnsafeBytes(of: length.bigEndian, Array.init) + Array(type.utf8) + content
    }

    @Test func anExcerptOfAWebPHasItsEXIF() throws {
        var random = SplitMix64(seed: 3)
        var buffer = try MutablePixelBuffer(width: 400, height: 300)
        buffer.withUnsafeMutableBytes { bytes in bytes.copyBytes(from: random.opaquePixels(count: bytes.count / 4)) }
        let noise = Image(pixels: buffer.freeze(isOpaque: true))
        let options = EncodingOptions(isLossless: true).with { $0.metadata = CameraMetadata.metadata() }
        let data = try registry.encode(noise, as: .webp, options: options)
        #expect(data.count > 256 << 10)
        let path = try files.directory.write(data, to: "a.webp").path
        let excerpt = try EXIFExcerpt.read(SystemString(path))
        #expect(excerpt.count < 4_096)
        #expect(try registry.metadata(of: excerpt).exif == registry.metadata(of: data).exif)
        #expect(try registry.metadata(ofFileAt: URL(filePath: path)).exif == registry.metadata(of: data).exif)
        #expect(try registry.metadata(of: excerpt).exif != nil)
        let plain = try files.directory.write(
            registry.encode(noise, as: .webp, options: EncodingOptions(isLossless: true)), to: "b.webp")
        #expect(try registry.metadata(of: EXIFExcerpt.read(SystemString(plain.path))).exif == nil)
    }
}
