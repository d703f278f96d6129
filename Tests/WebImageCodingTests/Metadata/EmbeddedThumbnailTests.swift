import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Thumbnails in the EXIF data of JPEG files.
@Suite(.timeLimit(.minutes(1))) struct EmbeddedThumbnailTests {
    /// The left half white, the right half black.
    private func jpeg(width: Int, height: Int) throws -> Data {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in
            for index in 0..<width * height {
                let value: UInt8 = index % width < width / 2 ? 255 : 0
                bytes.storeBytes(of: SIMD4(value, value, value, 255), toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
        return try CodecRegistry.builtIn.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .jpeg)
    }

    private func thumbnail(in file: Data) throws -> Image? {
        guard case .jpeg(let data) = EmbeddedThumbnail(startOf: file) else { return nil }
        return try CodecRegistry.builtIn.decode(data)
    }

    @Test(arguments: [false, true]) func hasTheImagesOrientation(isBigEndian: Bool) throws {
        let (image, small) = (try jpeg(width: 320, height: 240), try jpeg(width: 32, height: 24))
        for orientation in 1...8 {
            let file = PhotographFile.file(image, orientation: orientation, thumbnail: small, isBigEndian: isBigEndian)
            let whole = try CodecRegistry.builtIn.decode(file)
            let thumbnail = try #require(try thumbnail(in: file))
            #expect(thumbnail.pixels.size == PixelSize(width: whole.width / 10, height: whole.height / 10))
            for (x, y) in [(2, 2), (thumbnail.width - 3, 2), (2, thumbnail.height - 3)] {
                #expect(
                    thumbnail.pixels[x, y].x / 128 == whole.pixels[x * 10, y * 10].x / 128, "orientation \(orientation)"
                )
            }
        }
    }

    @Test func itsOwnOrientationDoesNotCount() throws {
        let small = PhotographFile.file(
            try jpeg(width: 32, height: 24), orientation: 6, thumbnail: try jpeg(width: 3, height: 2))
        let file = PhotographFile.file(try jpeg(width: 320, height: 240), thumbnail: small)
        #expect(try thumbnail(in: file)?.width == 32)
    }

    @Test(arguments: [
        // 3:2 with bars above and below, and at the sides.
        (width: 600, height: 400, smallWidth: 160, smallHeight: 120, isUsed: false),
        (400, 600, 160, 120, false), (600, 400, 160, 107, true), (601, 400, 160, 106, true), (400, 600, 107, 160, true),
        // Not smaller, or not much smaller than its limit.
        (160, 120, 160, 120, false), (2052, 2052, 513, 513, false), (2048, 2048, 512, 512, true),
    ])
    func onlySmallerOnesOfTheSameProportionsAreUsed(
        width: Int, height: Int, smallWidth: Int, smallHeight: Int, isUsed: Bool
    ) throws {
        let file = PhotographFile.file(
            try jpeg(width: width, height: height), thumbnail: try jpeg(width: smallWidth, height: smallHeight))
        #expect((try thumbnail(in: file) != nil) == isUsed)
    }

    @Test func isKnownOnceAllMarkersHaveArrived() throws {
        let file = PhotographFile.file(try jpeg(width: 320, height: 240), thumbnail: try jpeg(width: 32, height: 24))
        let scanStart = try JPEGHeader(reading: file.bytes).byteCount
        for count in 0..<scanStart {
            #expect(EmbeddedThumbnail(startOf: file.prefix(count)) == .undecided, "\(count) bytes")
        }
        let found = EmbeddedThumbnail(startOf: file)
        #expect(found != .none && found != .undecided)
        #expect(EmbeddedThumbnail(startOf: file.prefix(scanStart)) == found)
    }

    @Test func othersHaveNone() throws {
        let image = try jpeg(width: 320, height: 240)
        #expect(EmbeddedThumbnail(startOf: image) == .none)
        #expect(EmbeddedThumbnail(startOf: Data("GIF89a and more".utf8)) == .none)
        #expect(EmbeddedThumbnail(startOf: PhotographFile.file(image, thumbnail: Data("no image".utf8))) == .none)
        #expect(EmbeddedThumbnail(startOf: PhotographFile.file(image, thumbnail: Data())) == .none)
        #expect(
            EmbeddedThumbnail(
                startOf: PhotographFile.file(image, thumbnail: try jpeg(width: 32, height: 24).prefix(300))) == .none)
    }

    @Test func damagedOnesAreHarmless() throws {
        let file = PhotographFile.file(try jpeg(width: 320, height: 240), thumbnail: try jpeg(width: 32, height: 24))
        var random = SplitMix64(seed: 1)
        for _ in 0..<2000 {
            var damaged = file
            for _ in 0..<3 { damaged[Int(random.next() % 400)] = UInt8(truncatingIfNeeded: random.next()) }
            _ = EmbeddedThumbnail(startOf: damaged)
        }
    }
}
