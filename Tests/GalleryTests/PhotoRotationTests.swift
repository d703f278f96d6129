import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImageCoding

/// Files that are rotated without loss.
final class PhotoRotationTests: XCTestCase {
    private static let registry = CodecRegistry.shared

    /// An image whose corners and edges differ, of colors that JPEG keeps well.
    private static func photograph(_ width: Int, _ height: Int) throws -> Image {
        try picture(width, height) { x, y in
            SIMD4(UInt8(40 + x * 170 / width), UInt8(60 + y * 150 / height), x < y ? 90 : 160, 255)
        }
    }

    private static func jpeg(
        _ width: Int, _ height: Int, orientation: Int = 1, isProgressive: Bool = false
    ) throws -> Data {
        var options = EncodingOptions(quality: 0.9, isProgressive: isProgressive)
        options.metadata = ImageMetadata()
        let file = try registry.encode(try photograph(width, height), as: .jpeg, options: options)
        var directory = TIFFDirectory()
        directory.set(0x010F, type: 2, Array("Camera\0".utf8))
        directory.setShort(0x0112, orientation)
        return try ImageMetadata(exif: Data(directory.structure())).replaced(inJPEG: file)
    }

    /// The largest difference of a channel.
    private static func difference(_ first: Image, _ second: Image) -> Int {
        guard first.pixels.size == second.pixels.size else { return .max }
        var largest = 0
        for y in 0..<first.height {
            for x in 0..<first.width {
                let (a, b) = (first.pixels[x, y], second.pixels[x, y])
                for channel in 0..<4 { largest = max(largest, abs(Int(a[channel]) - Int(b[channel]))) }
            }
        }
        return largest
    }

    private static func rotated(_ file: Data, _ quarters: Int) throws -> Image {
        try registry.decode(file).processed(by: [.rotate(degrees: Double(quarters * 90))])
    }

    func testTurnsAreTheOrientationsOfEXIF() {
        for orientation in ImageOrientation.allCases {
            let turn = Turn(orientation)
            XCTAssertEqual(turn.orientation, orientation)
            XCTAssertEqual(turn.rotated(by: 4), turn)
            XCTAssertEqual(turn.rotated(by: 1).rotated(by: -1), turn)
            XCTAssertEqual(turn.rotated(by: 2), turn.rotated(by: 1).rotated(by: 1))
        }
        XCTAssertEqual(Turn(.up).rotated(by: 1).orientation, .right)
        XCTAssertEqual(Turn(.up).rotated(by: 3).orientation, .left)
    }

    func testTheBlocksOfAJPEGMove() throws {
        for isProgressive in [false, true] {
            for orientation in 1...8 {
                let file = try Self.jpeg(96, 64, orientation: orientation, isProgressive: isProgressive)
                for quarters in 1...3 {
                    let result = try PhotoRotation.rotated(file, by: quarters)
                    let label = "orientation \(orientation), \(quarters) quarters, progressive: \(isProgressive)"
                    XCTAssertEqual(try Self.registry.info(of: result).orientation, .up, label)
                    let difference = Self.difference(
                        try Self.registry.decode(result), try Self.rotated(file, quarters))
                    // The inverse transform rounds rows before columns.
                    XCTAssertLessThanOrEqual(difference, 3, label)
                    let exif = try Self.registry.metadata(of: result).exif
                    XCTAssertEqual(exif.flatMap { EXIFFields($0) }?.camera, "Camera", label)
                }
            }
        }
    }

    func testFourRotationsGiveTheSameBytes() throws {
        // The first one optimizes the codes.
        let first = try PhotoRotation.rotated(try Self.jpeg(96, 64), by: 1)
        var file = first
        for _ in 0..<4 { file = try PhotoRotation.rotated(file, by: 1) }
        XCTAssertEqual(file, first)
    }

    func testAGrayJPEGIsRotated() throws {
        let gray = try picture(64, 40) { x, y in
            let level = UInt8(x * 2 + y)
            return SIMD4(level, level, level, 255)
        }
        let file = try Self.registry.encode(gray, as: .jpeg)
        let result = try PhotoRotation.rotated(file, by: 1)
        XCTAssertLessThanOrEqual(
            Self.difference(try Self.registry.decode(result), try Self.rotated(file, 1)), 3)
    }

    func testBlocksThatCannotMoveStayAndTheOrientationChanges() throws {
        // 50 × 37 pixels end within blocks at both edges.
        for orientation in ImageOrientation.allCases {
            let turn = Turn(orientation).rotated(by: 2)
            guard turn.mirrorsColumns || turn.mirrorsRows else { continue }
            let file = try Self.jpeg(50, 37, orientation: orientation.rawValue)
            let result = try PhotoRotation.rotated(file, by: 2)
            XCTAssertEqual(result.count, file.count)
            XCTAssertEqual(zip(result, file).count { $0 != $1 }, 1, "the orientation is one byte")
            XCTAssertEqual(
                Self.difference(try Self.registry.decode(result), try Self.rotated(file, 2)), 0)
        }
    }

    func testADamagedJPEGKeepsItsBlocks() throws {
        let file = Data(try Self.jpeg(96, 64).dropLast(200))
        let result = try PhotoRotation.rotated(file, by: 1)
        XCTAssertEqual(try Self.registry.info(of: result).orientation, .right)
        XCTAssertEqual(zip(result, file).count { $0 != $1 }, 1, "the orientation is one byte")
        XCTAssertEqual(result.count, file.count)
        // EXIF data without a place for the orientation.
        var directory = TIFFDirectory()
        directory.set(0x010F, type: 2, Array("Camera\0".utf8))
        let other = try ImageMetadata(exif: Data(directory.structure())).replaced(inJPEG: file)
        XCTAssertThrowsError(try PhotoRotation.rotated(other, by: 1)) { error in
            XCTAssertTrue("\(error)".hasPrefix("The file is damaged"), "\(error)")
        }
    }

    func testAnOrientationThatCannotBeChangedDoesNotTurnTheImageOnceMore() throws {
        var directory = TIFFDirectory()
        directory.setShort(0x0112, 6)
        var exif = directory.structure()
        // Two numbers instead of one: the count is in the first entry, behind its tag and type. Readers take the first number.
        exif[14] = 2
        let file = try ImageMetadata(exif: Data(exif)).replaced(inJPEG: try Self.jpeg(96, 64))
        XCTAssertEqual(try Self.registry.info(of: file).orientation, .right)
        XCTAssertThrowsError(try PhotoRotation.rotated(file, by: 1)) { error in
            XCTAssertTrue("\(error)".contains("cannot be rotated without loss"), "\(error)")
        }
    }

    func testWhatFollowsTheImageStays() throws {
        let video = Data("ftypmp42 a video".utf8)
        let file = try Self.jpeg(96, 64) + video
        let result = try PhotoRotation.rotated(file, by: 1)
        XCTAssertEqual(result.suffix(video.count), video)
        XCTAssertEqual(try Self.registry.info(of: result).size, PixelSize(width: 64, height: 96))
    }

    func testAJPEGWithoutEXIFGetsAnOrientation() throws {
        let file = try Self.registry.encode(try Self.photograph(50, 37), as: .jpeg)
        let result = try PhotoRotation.rotated(file, by: 1)
        XCTAssertEqual(try Self.registry.info(of: result).orientation, .right)
        XCTAssertEqual(Self.difference(try Self.registry.decode(result), try Self.rotated(file, 1)), 0)
    }

    func testPixelsOfLosslessFormatsAreEncodedAgain() throws {
        let image = try Self.photograph(50, 37)
        for format in [ImageFormat.png, .bmp, .webp] {
            let file = try Self.registry.encode(image, as: format, options: EncodingOptions(isLossless: true))
            let result = try PhotoRotation.rotated(file, by: 3)
            XCTAssertEqual(try Self.registry.info(of: result).format, format)
            XCTAssertEqual(
                Self.difference(try Self.registry.decode(result), try Self.rotated(file, 3)), 0, format.name)
        }
    }

    func testAFileOfMoreThanAHundredMegapixelsIsRotated() throws {
        try XCTSkipUnless(ReleaseChecks.areRequested, "takes 10 s in a debug build: WEBIMAGE_RELEASE_CHECKS=1")
        let result = try PhotoRotation.rotated(LargePNG.data(), by: 1)
        XCTAssertEqual(try Self.registry.info(of: result).size, PixelSize(width: 10_400, height: 10_400))
    }

    func testWhatWouldLoseSomethingIsRefused() throws {
        let image = try Self.photograph(50, 37)
        var pixels = try MutablePixelBuffer(width: 8, height: 8)
        pixels.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 3) }
        let transparent = Image(pixels: pixels.freeze(isOpaque: false))
        var animation = EncodableAnimation()
        for _ in 0..<2 { animation.append(image, duration: .milliseconds(100)) }
        let files = [
            "WebP": try Self.registry.encode(image, as: .webp), "GIF": try Self.registry.encode(image, as: .gif),
            "Animations": try Self.registry.encode(animation, as: .png),
            "Some of its pixels": try Self.registry.encode(transparent, as: .png),
            "not an image": Data("text".utf8),
        ]
        for (reason, file) in files {
            XCTAssertThrowsError(try PhotoRotation.rotated(file, by: 1), reason) { error in
                XCTAssertTrue("\(error)".contains(reason), "\(error), not \(reason)")
            }
        }
    }
}
