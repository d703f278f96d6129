import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding
@testable import WebImageFormats

@Suite(.timeLimit(.minutes(3))) struct LibraryAnimationTests {
    private let registry = FormatFiles.registry
    static let formats = FormatFiles.made.filter { $0.canEncode(animation: true) }

    /// Frames of one color each.
    private func frames(_ count: Int) throws -> [PixelBuffer] {
        try (0..<count).map { index in
            let size = PixelSize(width: 40, height: 30)
            var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
            buffer.withUnsafeMutableBytes { bytes in
                for pixel in stride(from: 0, to: bytes.count, by: 4) {
                    bytes[pixel] = UInt8(index * 25)
                    bytes[pixel + 1] = 100
                    bytes[pixel + 2] = UInt8(255 - index * 25)
                    bytes[pixel + 3] = 255
                }
            }
            return buffer.freeze(isOpaque: true)
        }
    }

    private func file(_ format: LibraryFormat, frameCount: Int, loopCount: Int = 0) throws -> Data {
        var animation = EncodableAnimation(loopCount: loopCount)
        for (index, frame) in try frames(frameCount).enumerated() {
            animation.append(Image(pixels: frame), duration: .milliseconds(50 * (index + 1)))
        }
        var options = EncodingOptions()
        options.isLossless = true
        return try registry.encode(animation, as: format.format, options: options)
    }

    @Test(arguments: formats) func readsFramesInAnyOrder(format: LibraryFormat) throws {
        let data = try file(format, frameCount: 8)
        let image = try registry.decode(data)
        let animation = try #require(image.animation)
        #expect(image.frameCount == 8 && animation.frameCount == 8 && image.data == data)
        for (index, frame) in animation.frames.enumerated() {
            #expect(frame.duration == .milliseconds(50 * (index + 1)))
        }
        let expected = try frames(8).map { Pixels($0) }
        let reader = animation.makeFrameReader()
        for index in [0, 1, 2, 7, 3, 3, 0, 6] {
            let pixels = Pixels(try reader.frame(at: index, cancellation: nil))
            #expect((pixels.difference(from: expected[index]) ?? 255) <= 2, "frame \(index)")
        }
        let info = try registry.info(of: data)
        #expect(info.frameCount == 8 && info.frameDurations.count == 8 && info.loopCount == 0)
        #expect(try registry.probe(data)?.isAnimated == true)
    }

    @Test(arguments: formats) func twoReadersDoNotDisturbEachOther(format: LibraryFormat) throws {
        let animation = try #require(try registry.animation(of: file(format, frameCount: 6)))
        let expected = try frames(6).map { Pixels($0) }
        let (first, second) = (animation.makeFrameReader(), animation.makeFrameReader())
        for index in 0..<6 {
            let one = Pixels(try first.frame(at: index, cancellation: nil))
            let other = Pixels(try second.frame(at: 5 - index, cancellation: nil))
            #expect((one.difference(from: expected[index]) ?? 255) <= 2)
            #expect((other.difference(from: expected[5 - index]) ?? 255) <= 2)
        }
    }

    @Test(arguments: formats) func aStillOfTheFirstFrameOnly(format: LibraryFormat) throws {
        let data = try file(format, frameCount: 3)
        let options = DecodingOptions(firstFrameOnly: true)
        let image = try registry.decode(data, options: options)
        #expect(image.animation == nil && image.pixels.size == PixelSize(width: 40, height: 30))
        var limits = DecodingLimits.default
        limits.frameCount = 2
        #expect(throws: WebImageError.self) { try registry.decode(data, options: DecodingOptions(limits: limits)) }
    }

    @Test(arguments: formats) func frameThumbnailsHaveTheRequestedSize(format: LibraryFormat) throws {
        let thumbnail = Thumbnail(.pixels(width: 20, height: 20), mode: .aspectFit)
        let data = try file(format, frameCount: 3)
        let image = try registry.decode(data, options: DecodingOptions(thumbnail: thumbnail))
        #expect(image.isThumbnail && image.pixels.size == PixelSize(width: 20, height: 15))
        #expect(image.animation?.frameSize == PixelSize(width: 20, height: 15))
    }

    @Test(arguments: formats) func alphaIsStoredIfAFrameHasSome(format: LibraryFormat) throws {
        let opaque = try file(format, frameCount: 2)
        #expect(try registry.info(of: opaque).hasAlpha == false)
        var animation = EncodableAnimation()
        for frame in try frames(2) { animation.append(Image(pixels: frame), duration: .milliseconds(100)) }
        let still = try registry.encode(Image(pixels: frames(1)[0]), as: .png)
        animation.append(still, duration: .milliseconds(100), registry: registry)
        #expect(try !registry.info(of: registry.encode(animation, as: format.format)).hasAlpha)

        var buffer = try MutablePixelBuffer(width: 40, height: 30)
        buffer.clear()
        let clear = buffer.freeze(isOpaque: false)
        let clearFile = try registry.encode(Image(pixels: clear), as: .png)
        for isEncoded in [false, true] {
            var other = animation
            if isEncoded {
                other.append(clearFile, duration: .milliseconds(100), registry: registry)
            } else {
                other.append(Image(pixels: clear), duration: .milliseconds(100))
            }
            let data = try registry.encode(other, as: format.format)
            #expect(try registry.info(of: data).hasAlpha)
            let last = try #require(try registry.animation(of: data)).makeFrameReader().frame(at: 3, cancellation: nil)
            #expect(!last.isOpaque && last.row(0)[3] < 8)
        }
        // What an animation's frames contain is not known.
        let source = try #require(try registry.animation(of: opaque))
        var copy = EncodableAnimation(source)
        #expect(copy.mayHaveAlpha)
        copy.isOpaque = true
        #expect(try !registry.info(of: registry.encode(copy, as: format.format)).hasAlpha)
    }

    @Test(.enabled(if: LibraryFormat.jpegXL.isBuilt, "needs libjxl")) func jpegXLKeepsTheLoopCount() throws {
        #expect(try registry.decode(file(.jpegXL, frameCount: 2, loopCount: 3)).animation?.loopCount == 3)
    }

    /// libavif 0.11 neither reads nor writes it, so the boxes are written here.
    @Test(arguments: [(1, 1, 5, 1), (15, 1, 5, 3), (0xFFFF_FFFF, 1, 5, 0), (5, 0, 5, 1)])
    func readsHowOftenASequencePlays(total: Int, flags: Int, edit: Int, expected: Int) {
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            Array(UInt32(content.count + 8).bigEndianBytes) + Array(type.utf8) + content
        }
        func number(_ value: Int) -> [UInt8] { UInt32(value).bigEndianBytes }
        let header = box("tkhd", number(0) + number(0) + number(0) + number(1) + number(0) + number(total))
        let edits = box("edts", box("elst", number(flags) + number(1) + number(edit) + number(0) + number(1 << 16)))
        let handler = box("hdlr", number(0) + number(0) + Array("pict".utf8) + number(0))
        let size = [0, 40, 0, 30].map(UInt8.init)
        let entry = box("av01", Array(repeating: 0, count: 24) + size + Array(repeating: 0, count: 50))
        let table = box(
            "stbl", box("stsd", number(0) + number(1) + entry) + box("stsz", number(0) + number(0) + number(5)))
        let media = box("mdia", handler + box("minf", table))
        let brands = box("ftyp", Array("avis".utf8) + number(0) + Array("avis".utf8))
        let file = Data(brands + box("moov", box("trak", header + edits + media)))
        let boxes = MediaFile(file.bytes)
        #expect(boxes?.loopCount == expected && boxes?.frameCount == 5)
        #expect(boxes?.size == PixelSize(width: 40, height: 30))
    }
}

extension UInt32 {
    fileprivate var bigEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (24 - 8 * $0)) } }
}
