import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What describes the pixels of a PNG or a BMP that is rotated.
final class PNGRotationTests: XCTestCase {
    private static let registry = CodecRegistry.shared

    private static func image() throws -> Image {
        try picture(5, 3) { x, y in SIMD4(UInt8(x * 40), UInt8(y * 60), 9, 255) }
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> Data {
        let named = Array(name.utf8) + content
        var checksum = UInt32.max
        for byte in named {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum & 1 == 0 ? checksum >> 1 : checksum >> 1 ^ 0xEDB8_8320 }
        }
        return bytes(of: UInt32(content.count)) + Data(named) + bytes(of: ~checksum)
    }

    /// Big-endian.
    private static func bytes(of number: UInt32) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
    }

    /// A file with chunks before and behind its pixels.
    private static func file(_ leading: [Data], _ trailing: [Data] = []) throws -> Data {
        let file = try registry.encode(try image(), as: .png)
        var result = Data(file.prefix(33))
        for chunk in leading { result += chunk }
        result += file.dropFirst(33).dropLast(12)
        for chunk in trailing { result += chunk }
        return result + file.suffix(12)
    }

    /// A file of one pixel with 16 bits for each color, as an encoder without compression writes it.
    private static func deepFile() -> Data {
        let row: [UInt8] = [0, 1, 2, 3, 4, 5, 6]
        var (sum, sumOfSums): (UInt32, UInt32) = (1, 0)
        for byte in row {
            sum += UInt32(byte)
            sumOfSums += sum
        }
        let pixels: [UInt8] = [0x78, 1, 1, 7, 0, 0xF8, 0xFF] + row + Array(bytes(of: sumOfSums << 16 | sum))
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let header: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 1, 16, 2, 0, 0, 0]
        return Data(signature) + chunk("IHDR", header) + chunk("IDAT", pixels) + chunk("IEND", [])
    }

    /// The contents of the chunks with a name.
    private static func contents(of name: String, in file: Data) -> [[UInt8]] {
        let file = [UInt8](file)
        var (offset, contents): (Int, [[UInt8]]) = (8, [])
        while offset + 12 <= file.count {
            let length = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            if file[offset + 4..<offset + 8].elementsEqual(name.utf8) {
                contents.append(Array(file[offset + 8..<offset + 8 + length]))
            }
            offset += 12 + length
        }
        return contents
    }

    func testTextsTimeAndResolutionStay() throws {
        let text = Array("Comment\0a lake".utf8)
        let (compressed, time): ([UInt8], [UInt8]) = (Array("Author\0\0xyz".utf8), [7, 0xE8, 1, 2, 3, 4, 5])
        let file = try Self.file(
            [
                Self.chunk("tEXt", text), Self.chunk("pHYs", [0, 0, 0, 1, 0, 0, 0, 2, 1]),
                Self.chunk("sBIT", [5, 6, 5]), Self.chunk("prVt", [1, 2]),
            ], [Self.chunk("zTXt", compressed), Self.chunk("tIME", time)])
        for quarters in [1, 2, -1] {
            let result = try PhotoRotation.rotated(file, by: quarters)
            XCTAssertEqual(Self.contents(of: "tEXt", in: result), [text])
            XCTAssertEqual(Self.contents(of: "zTXt", in: result), [compressed])
            XCTAssertEqual(Self.contents(of: "tIME", in: result), [time])
            XCTAssertEqual(Self.contents(of: "sBIT", in: result), [[5, 6, 5]])
            XCTAssertEqual(Self.contents(of: "prVt", in: result), [[1, 2]], "a chunk that holds for other pixels")
            let resolution: [UInt8] = quarters == 2 ? [0, 0, 0, 1, 0, 0, 0, 2, 1] : [0, 0, 0, 2, 0, 0, 0, 1, 1]
            XCTAssertEqual(Self.contents(of: "pHYs", in: result), [resolution])
            let rotated = try Self.image().processed(by: [.rotate(degrees: Double(quarters * 90))])
            let pixels = try Self.registry.decode(result).pixels
            XCTAssertEqual(pixels.size, rotated.pixels.size)
            XCTAssertEqual(pixels[0, 0], rotated.pixels[0, 0])
        }
    }

    func testXMPIsWrittenOnce() throws {
        var options = EncodingOptions()
        options.metadata = ImageMetadata(xmp: Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8))
        let file = try Self.registry.encode(try Self.image(), as: .png, options: options)
        let result = try PhotoRotation.rotated(file, by: 1)
        XCTAssertEqual(Self.contents(of: "iTXt", in: file).count, 1)
        XCTAssertEqual(Self.contents(of: "iTXt", in: result).count, 1)
        XCTAssertEqual(Self.contents(of: "eXIf", in: result).count, 1)
    }

    func testContentsThatWouldNotHoldAreRefused() throws {
        let files: [(reason: String, file: Data)] = [
            ("“prVT”", try Self.file([Self.chunk("prVT", [1])])),
            ("follows the image", try Self.file([]) + Data([1])),
            ("precision", try Self.file([Self.chunk("cICP", [9, 16, 0, 1])])), ("precision", Self.deepFile()),
        ]
        for (reason, file) in files {
            XCTAssertThrowsError(try PhotoRotation.rotated(file, by: 1), reason) { error in
                XCTAssertTrue("\(error)".contains(reason), "\(error), not \(reason)")
            }
        }
    }

    func testAChunkThatIsLongerThanTheFileIsDamage() throws {
        let file = try Self.file([]).dropLast(12) + Data([0x7F, 0, 0, 0]) + Data("tEXt".utf8) + Data(count: 4)
        XCTAssertThrowsError(try PNGChunks(of: file, swapsSides: false, hasXMP: false)) { error in
            XCTAssertEqual("\(error)", "The file is damaged.")
        }
    }

    func testTheResolutionOfABMPStays() throws {
        var file = try Self.registry.encode(try Self.image(), as: .bmp)
        file.replaceSubrange(38..<46, with: [1, 0, 0, 0, 2, 0, 0, 0])
        XCTAssertEqual(Array(try PhotoRotation.rotated(file, by: 1)[38..<46]), [2, 0, 0, 0, 1, 0, 0, 0])
        XCTAssertEqual(Array(try PhotoRotation.rotated(file, by: 2)[38..<46]), [1, 0, 0, 0, 2, 0, 0, 0])
    }
}
