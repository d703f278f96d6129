import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(3))) struct ImageMetadataTests {
    private let registry = CodecRegistry()
    private static let formats: [ImageFormat] = [.jpeg, .png, .webp]

    private func image(hasAlpha: Bool = false) throws -> Image {
        var pixels = PixelAnimation(seed: 1, frameCount: 1, alphas: hasAlpha ? [0, 255] : [255], colorCount: 9)
        pixels.loopCount = 0
        return Image(pixels: try pixels.frames[0].buffer())
    }

    private func options(_ metadata: ImageMetadata?) -> EncodingOptions {
        EncodingOptions(isLossless: true).with { $0.metadata = metadata }
    }

    @Test func readsThatOfFilesOnly() throws {
        let page = try #require(URL(string: "https://example.org/a.jpg"))
        #expect(throws: WebImageError.invalidURL(page.absoluteString)) { try registry.metadata(ofFileAt: page) }
        let missing = URL(filePath: "/nowhere/a.jpg")
        #expect(throws: WebImageError.file(path: "/nowhere/a.jpg", errno: ENOENT)) {
            try registry.metadata(ofFileAt: missing)
        }
    }

    @Test(arguments: formats) func writesNoneByDefault(format: ImageFormat) throws {
        let data = try registry.encode(try image(), as: format)
        #expect(try registry.metadata(of: data) == ImageMetadata())
        #expect(try registry.info(of: data).hasColorProfile == false)
    }

    @Test(arguments: formats, [false, true])
    func keepsAllAndDescribesThePixels(format: ImageFormat, isBigEndian: Bool) throws {
        for hasAlpha in [false, true] {
            let image = try image(hasAlpha: hasAlpha)
            let stored = CameraMetadata.metadata(isBigEndian: isBigEndian)
            let data = try registry.encode(image, as: format, options: options(stored))
            let metadata = try registry.metadata(of: data)
            let size = image.pixels.size
            #expect(
                CameraMetadata.numbers(of: metadata) == [
                    "orientation": 1, "colorSpace": 1, "width": size.width, "height": size.height,
                ])
            let exif = try #require(metadata.exif)
            #expect(exif.count == stored.exif?.count)
            #expect(exif.range(of: CameraMetadata.notes) == stored.exif?.range(of: CameraMetadata.notes))
            #expect(exif.range(of: CameraMetadata.thumbnail) == nil)
            let xmp = String(decoding: try #require(metadata.xmp), as: UTF8.self)
            #expect(xmp.contains(#"tiff:Orientation="1" dc:title="Dunes""#))
            let info = try registry.info(of: data)
            #expect(info.orientation == .up)
            #expect(info.size == size)
            #expect(!info.hasColorProfile)
            if format != .jpeg {
                #expect(try Pixels(registry.decode(data).pixels) == Pixels(image.pixels))
            }
        }
    }

    @Test(arguments: formats) func anEmptyOneWritesTheOrientation(format: ImageFormat) throws {
        let data = try registry.encode(try image(), as: format, options: options(ImageMetadata()))
        let metadata = try registry.metadata(of: data)
        #expect(CameraMetadata.numbers(of: metadata) == ["orientation": 1])
        #expect(metadata.xmp == nil)
        #expect(try !registry.info(of: data).hasColorProfile)
    }

    @Test(arguments: formats, [nil, CameraMetadata.metadata()])
    func aProfileIsWrittenIfItIsAskedFor(format: ImageFormat, metadata: ImageMetadata?) throws {
        let options = options(metadata).with { $0.writesColorProfile = true }
        let data = try registry.encode(try image(), as: format, options: options)
        // PNG has a chunk for that.
        #expect(try registry.info(of: data).colorProfileName?.contains("sRGB") == (format == .png ? nil : true))
        #expect(try (registry.metadata(of: data).exif == nil) == (metadata == nil))
    }

    @Test(arguments: [ImageFormat.png, .webp]) func animationsKeepIt(format: ImageFormat) throws {
        let animation = PixelAnimation(seed: 2, frameCount: 4, alphas: [0, 255], colorCount: 9)
        let plain = try registry.encode(animation.encodable(), as: format, options: options(nil))
        let data = try registry.encode(
            animation.encodable(), as: format, options: options(CameraMetadata.metadata()))
        #expect(CameraMetadata.numbers(of: try registry.metadata(of: data))["orientation"] == 1)
        #expect(try registry.metadata(of: data).xmp != nil)
        let (kept, original) = (try registry.info(of: data), try registry.info(of: plain))
        #expect(kept.frameDurations == original.frameDurations)
        #expect(kept.loopCount == original.loopCount)
        #expect(kept.hasAlpha == original.hasAlpha)
    }

    @Test(.enabled(if: OtherProgram.hasPillow, "needs Pillow"), arguments: formats)
    func pillowReadsIt(format: ImageFormat) throws {
        let directory = try TemporaryDirectory()
        let data = try registry.encode(try image(), as: format, options: options(CameraMetadata.metadata()))
        let script = """
            import sys
            from PIL import Image
            image = Image.open(sys.argv[1])
            exif = image.getexif()
            print(exif[0x10F], exif[0x112], exif.get_ifd(0x8769)[0xA001])
            print(b"Dunes" in repr(image.getxmp() if hasattr(image, "getxmp") else image.info).encode())
            """
        let output = try OtherProgram.run(
            OtherProgram.python, ["-c", script, directory.write(data, to: "a").path])
        #expect(String(decoding: output, as: UTF8.self).hasPrefix("Leica 1 1\n"))
    }

    @Test func jpegRefusesWhatDoesNotFitInASegment() throws {
        let metadata = ImageMetadata(exif: CameraMetadata.exif(isBigEndian: false) + Data(count: 65_500))
        let byteCount = try #require(metadata.exif?.count)
        #expect(
            throws: WebImageError.encoding(
                format: .jpeg, reason: .metadataTooLong(byteCount: byteCount, limit: 65_527))
        ) { try registry.encode(try image(), as: .jpeg, options: options(metadata)) }
        let data = try registry.encode(try image(), as: .png, options: options(metadata))
        #expect(try registry.metadata(of: data).exif?.count == byteCount)
    }

    @Test(arguments: formats) func refusesEXIFWithoutAHeader(format: ImageFormat) {
        #expect(throws: WebImageError.encoding(format: format, reason: .invalidMetadata)) {
            try registry.encode(try image(), as: format, options: options(ImageMetadata(exif: Data("nonsense".utf8))))
        }
    }

    @Test func onlyTheDescriptionOfAGainMapIsLeftOut() throws {
        let xmp = Data(
            #"""
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description hdrgm:Version="1.0" dc:title="Dunes"/>
            </rdf:RDF></x:xmpmeta>
            """#.utf8)
        let data = try registry.encode(try image(), as: .jpeg, options: options(ImageMetadata(xmp: xmp)))
        let written = try #require(registry.metadata(of: data).xmp)
        #expect(String(decoding: written, as: UTF8.self).contains(#"<rdf:Description dc:title="Dunes"/>"#))
        #expect(try registry.info(of: data).hasGainMap == false)
    }

    @Test func theSameImageGivesTheSameFile() throws {
        let files = try (0..<2).map { _ in
            try registry.encode(try image(), as: .jpeg, options: options(CameraMetadata.metadata()))
        }
        #expect(files[0] == files[1])
    }

    /// Every cut and every changed byte of EXIF is harmless.
    @Test(arguments: [false, true]) func damagedEXIFIsHarmless(isBigEndian: Bool) throws {
        let exif = CameraMetadata.exif(isBigEndian: isBigEndian)
        let size = PixelSize(width: 4, height: 4)
        for count in 8..<exif.count {
            _ = try ImageMetadata(exif: exif.prefix(count)).describing(size, as: .png)
        }
        for index in 4..<exif.count {
            for value in [0, 0x7F, 0xFF] as [UInt8] {
                var damaged = exif
                damaged[index] = value
                let described = try ImageMetadata(exif: damaged).describing(size, as: .png)
                #expect(described.exif?.count == exif.count)
                #expect(described.exif.map { ImageMetadata(storedEXIF: $0, xmp: nil).exif } == described.exif)
            }
        }
    }

    /// As some programs write them: EXIF's sizes are unsigned.
    @Test(arguments: [8, 9] as [UInt8]) func aSizeInSignedNumbersIsThatOfTheImage(type: UInt8) throws {
        var exif = CameraMetadata.exif(isBigEndian: false)
        for tag in [0x02, 0x03] as [UInt8] {
            let entry = try #require(exif.firstRange(of: Data([tag, 0xA0, 4, 0])))
            exif[entry.lowerBound + 2] = type
        }
        let described = try ImageMetadata(exif: exif).describing(PixelSize(width: 40, height: 30), as: .png)
        let numbers = CameraMetadata.numbers(of: described)
        #expect(numbers["width"] == 40 && numbers["height"] == 30)
    }

    @Test func metadataOfAFormatWithoutAnyIsEmpty() throws {
        let data = try registry.encode(try image(), as: .bmp)
        #expect(try registry.metadata(of: data) == ImageMetadata())
    }

    /// The segments of a JPEG before its first other one: JFIF's, or none.
    private func jpeg(behindMarker segments: [UInt8], hasJFIF: Bool = true) throws -> Data {
        let file = try registry.encode(try image(), as: .jpeg)
        let end = 4 + Int(file[4]) << 8 + Int(file[5])
        return file.prefix(hasJFIF ? end : 2) + Data(segments) + file.dropFirst(end)
    }

    @Test(arguments: [true, false]) func metadataOfAJPEGIsReplacedOrAddedInPlace(hasJFIF: Bool) throws {
        // Fill bytes may precede a marker.
        let plain = try jpeg(behindMarker: [0xFF, 0xFF, 0xFE, 0, 4, 1, 2], hasJFIF: hasJFIF)
        let first = CameraMetadata.metadata(isBigEndian: false)
        let added = try first.replaced(inJPEG: plain)
        #expect(try registry.metadata(of: added) == first)
        let second = ImageMetadata(exif: CameraMetadata.exif(isBigEndian: true), xmp: Data("<x/>".utf8))
        let replaced = try second.replaced(inJPEG: added)
        #expect(try registry.metadata(of: replaced) == second)
        // Nothing else changes, and what is not given stays.
        #expect(try first.replaced(inJPEG: replaced) == added)
        #expect(try ImageMetadata().replaced(inJPEG: added) == added)
    }

    @Test func aSegmentThatIsShorterThanItsSignatureIsNoMetadata() throws {
        let segment = [0xFF, 0xE1, 0, 4] + Array("http://ns.adobe.com/xap/1.0/\0".utf8)
        let file = try jpeg(behindMarker: segment, hasJFIF: false)
        #expect(try registry.metadata(of: file) == ImageMetadata())
        let metadata = ImageMetadata(xmp: Data("<x/>".utf8))
        #expect(try registry.metadata(of: metadata.replaced(inJPEG: file)).xmp == metadata.xmp)
    }
}
