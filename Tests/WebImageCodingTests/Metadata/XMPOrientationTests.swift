import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Orientation in XMP only, which some programs write instead of EXIF.
@Suite(.timeLimit(.minutes(3))) struct XMPOrientationTests {
    private func packet(_ orientation: String) -> Data {
        Data(
            """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description \(orientation)></rdf:Description></rdf:RDF>\
            </x:xmpmeta>
            """.utf8)
    }

    private func segment(_ content: Data) -> Data {
        Data([0xFF, 0xE1, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)]) + content
    }

    private func xmp(_ orientation: Int) -> Data {
        segment(Data("http://ns.adobe.com/xap/1.0/\0".utf8) + packet("tiff:Orientation=\"\(orientation)\""))
    }

    @Test(arguments: [
        "tiff:Orientation=\"6\"", "tiff:Orientation = '6'", "><tiff:Orientation>6</tiff:Orientation",
        "tiff:Orientation>\n 6\n</tiff:Orientation", "tiff:OrientationNote=\"3\" tiff:Orientation=\"6\"",
    ])
    func readsAttributesAndElements(_ text: String) {
        #expect(ImageOrientation(xmp: packet(text).bytes) == .right)
    }

    @Test(arguments: [
        "", "tiff:Orientation", "tiff:Orientation=\"9\"", "tiff:Orientation=\"0\"", "tiff:Orientation=\"16\"",
        "tiff:Orientation=6", "tiff:Orientation=\"6",
    ])
    func ignoresOtherText(_ text: String) {
        #expect(ImageOrientation(xmp: Data(text.utf8).bytes) == nil)
    }

    /// Compared with the same image with EXIF only, as rotated by other programs.
    @Test(arguments: 1...8) func rotatesAJPEGWithoutEXIF(_ orientation: Int) throws {
        let turned = Fixture("orientation-\(orientation).jpg")
        var data = try turned.data()
        let exif = try #require(data.firstRange(of: Data("Exif\0\0".utf8)))
        let length = Int(data[exif.lowerBound - 2]) << 8 | Int(data[exif.lowerBound - 1])
        data.replaceSubrange(exif.lowerBound - 4..<exif.lowerBound - 2 + length, with: xmp(orientation))
        #expect(try JPEGDecoder().info(of: data).orientation.rawValue == orientation)
        #expect(try Pixels(JPEGDecoder().decode(data, options: DecodingOptions()).pixels) == Pixels(turned.decoded()))
    }

    @Test(arguments: [1, 3, 6]) func prefersEXIFToXMP(_ orientation: Int) throws {
        let fixture = Fixture("orientation-8.jpg")
        for data in try [fixture.data().inserting(xmp(orientation), at: 2), fixture.data().inserting(xmp(8), at: 2)] {
            #expect(try JPEGDecoder().info(of: data).orientation == .left)
            // Once, not twice.
            let pixels = try JPEGDecoder().decode(data, options: DecodingOptions()).pixels
            #expect(try Pixels(pixels) == Pixels(fixture.decoded()))
        }
    }

    @Test func readsTheTextOfAPNG() throws {
        let text = Data("XML:com.adobe.xmp\0\0\0\0\0".utf8) + packet("tiff:Orientation=\"6\"")
        let data = try Fixture("rgb-8.png").data().inserting(PNGWriter.chunk("iTXt", text), at: 33)
        #expect(try PNGDecoder().info(of: data).orientation == .right)
        #expect(
            try PNGDecoder().decode(data, options: DecodingOptions()).pixels.size == PixelSize(width: 13, height: 19))
        let both = try Fixture("orientation-6.png").data()
            .inserting(
                PNGWriter.chunk("iTXt", Data("XML:com.adobe.xmp\0\0\0\0\0".utf8) + packet("tiff:Orientation=\"3\"")),
                at: 33)
        #expect(try PNGDecoder().info(of: both).orientation == .right)
    }

    @Test func readsTheChunkOfAWebP() throws {
        var content = packet("tiff:Orientation=\"8\"")
        if content.count % 2 == 1 { content.append(0x20) }
        let length = Data(littleEndian: content.count, byteCount: 4)
        var data = try Fixture("lossless-alpha.webp").data()
        data += Data("XMP ".utf8) + length + content
        data.setRIFFLength()
        #expect(try WebPDecoder().info(of: data).orientation == .left)
    }
}

extension Data {
    fileprivate func inserting(_ other: Data, at offset: Int) -> Data { prefix(offset) + other + dropFirst(offset) }
}

extension Fixture {
    fileprivate func decoded() throws -> PixelBuffer {
        try JPEGDecoder().decode(data(), options: DecodingOptions()).pixels
    }
}
