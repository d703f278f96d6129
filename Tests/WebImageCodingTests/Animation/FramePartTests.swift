import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// What programs see of the parts of frames that a file stores.
@Suite(.timeLimit(.minutes(2))) struct FramePartTests {
    private let registry = CodecRegistry()

    private typealias Part = AnimationFrame.Part

    private func part(
        _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ blend: AnimationFrame.Blend,
        _ disposal: AnimationFrame.Disposal
    ) -> Part {
        Part(rect: PixelRect(x: x, y: y, width: width, height: height), blend: blend, disposal: disposal)
    }

    /// Those of the description of the file, which the decoded animation must have, too.
    private func parts(of data: Data) throws -> [Part?] {
        let info = try registry.info(of: data)
        let animation = try #require(try registry.decode(data).animation)
        #expect(animation.frames == info.frames && info.frames.count == info.frameCount)
        #expect(info.frameDurations == info.frames.map(\.duration) && info.duration == animation.duration)
        return info.frames.map(\.part)
    }

    /// As the program that made the file was told.
    @Test func ofWebP() throws {
        let expected = [
            part(0, 0, 22, 18, .source, .keep), part(4, 2, 9, 7, .over, .keep), part(12, 10, 9, 7, .source, .keep),
            part(0, 10, 10, 8, .over, .clear), part(2, 8, 9, 7, .source, .clear), part(12, 0, 10, 8, .source, .keep),
        ]
        #expect(try parts(of: Fixture("animated-parts.webp").data()) == expected)
    }

    @Test(arguments: [(0, .keep), (1, .keep), (2, .clear), (3, .restore)] as [(Int, AnimationFrame.Disposal)])
    func ofGIF(number: Int, disposal: AnimationFrame.Disposal) throws {
        let expected = [
            part(0, 0, 16, 12, .over, .keep), part(2, 1, 9, 7, .over, disposal), part(6, 4, 10, 8, .over, disposal),
            part(0, 0, 16, 12, .over, disposal), part(0, 0, 5, 5, .over, disposal), part(3, 3, 4, 4, .over, .keep),
        ]
        #expect(try parts(of: Fixture("gif-dispose-\(number).gif").data()) == expected)
    }

    @Test func ofAPNG() throws {
        var writer = APNGWriter(claimedCount: 3)
        writer.addHeader(disposal: 1)
        writer.addStill(gray: 10)
        let dot = PixelSize(width: 2, height: 1)
        writer.addHeader(dot, left: 1, top: 3, disposal: 2, blend: 1)
        writer.addData(gray: 20, dot)
        writer.addHeader()
        writer.addData(gray: 30)
        let expected = [
            part(0, 0, 4, 4, .source, .clear), part(1, 3, 2, 1, .over, .restore), part(0, 0, 4, 4, .source, .keep),
        ]
        #expect(try parts(of: writer.data) == expected)
    }

    /// They are those of the file, whatever the size of the result.
    @Test func areNotScaled() throws {
        let data = try Fixture("animated-parts.webp").data()
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 11, height: 9)))
        let animation = try #require(try registry.decode(data, options: options).animation)
        #expect(animation.frameSize == PixelSize(width: 11, height: 9))
        #expect(try animation.frames == registry.info(of: data).frames)
    }

    @Test func areThoseOfChangesWhereOnlyTheseAreWritten() throws {
        let size = PixelSize(width: 12, height: 10)
        let first = Pixels(size, [200, 0, 0, 255])
        var second = first
        for y in 4..<8 {
            for x in 6..<8 {
                second.bytes.replaceSubrange((y * 12 + x) * 4..<(y * 12 + x) * 4 + 4, with: [0, 0, 200, 255])
            }
        }
        let animation = PixelAnimation(frames: [first, second], durations: [0.1, 0.1])
        for format in [ImageFormat.gif, .png, .webp] {
            let data = try registry.encode(
                animation.encodable(), as: format, options: EncodingOptions(isLossless: true))
            let rects = try parts(of: data).map { $0?.rect }
            #expect(
                rects == [PixelRect(x: 0, y: 0, width: 12, height: 10), PixelRect(x: 6, y: 4, width: 2, height: 4)],
                "\(format.name)")
        }
    }

    @Test func aStillHasNone() throws {
        let info = try registry.info(of: Fixture("transparent.gif").data())
        #expect(info.frames.isEmpty && info.duration == .zero)
        let frame = AnimationFrame(duration: .seconds(1), isKeyframe: true)
        #expect(frame.part == nil)
    }
}
