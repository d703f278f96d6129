import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// What can't be written is refused, and work that nobody wants any more stops.
@Suite struct AnimationInputTests {
    private let registry = CodecRegistry()
    private static let formats = [ImageFormat.gif, .png, .webp]

    private func image(_ width: Int, _ height: Int) throws -> Image {
        Image(pixels: try Pixels(PixelSize(width: width, height: height), [1, 2, 3, 255]).buffer(isOpaque: true))
    }

    private func expect(
        _ reason: WebImageError.EncodingFailure, of animation: EncodableAnimation, as format: ImageFormat
    ) {
        #expect(throws: WebImageError.encoding(format: format, reason: reason)) {
            try registry.encode(animation, as: format)
        }
    }

    @Test(arguments: formats)
    func refusesNoFrames(_ format: ImageFormat) { expect(.noFrames, of: EncodableAnimation(), as: format) }

    @Test(arguments: formats, [-1, Double.infinity, -Double.infinity])
    func refusesDurationsThatAreNone(format: ImageFormat, duration: Double) throws {
        var animation = EncodableAnimation()
        animation.append(try image(2, 2), duration: 1)
        animation.append(try image(2, 2), duration: duration)
        expect(.duration(duration, frame: 1), of: animation, as: format)
        animation.frames[1].duration = .nan
        #expect(throws: WebImageError.self) { try registry.encode(animation, as: format) }
    }

    @Test(arguments: formats)
    func refusesFramesOfSeveralSizes(_ format: ImageFormat) throws {
        var animation = EncodableAnimation()
        animation.append(try image(2, 2), duration: 1)
        animation.append(try image(3, 2), duration: 1)
        let sizes = (PixelSize(width: 3, height: 2), PixelSize(width: 2, height: 2))
        expect(.frameSize(sizes.0, frame: 1, expected: sizes.1), of: animation, as: format)
    }

    @Test func refusesFramesLargerThanTheFormatHolds() throws {
        var animation = EncodableAnimation()
        for _ in 0..<2 { animation.append(try image(16_384, 1), duration: 1) }
        let size = PixelSize(width: 16_384, height: 1)
        expect(.tooLarge(size, maximumDimension: 16_383), of: animation, as: .webp)
        #expect(try registry.info(of: registry.encode(animation, as: .gif)).size == size)
    }

    @Test func refusesAnAnimationInAFormatThatHoldsNone() throws {
        var animation = EncodableAnimation()
        animation.append(try image(8, 8), duration: 1)
        // One frame is a still.
        #expect(try registry.info(of: registry.encode(animation, as: .jpeg)).format == .jpeg)
        animation.append(try image(8, 8), duration: 1)
        expect(.noAnimation, of: animation, as: .jpeg)
        expect(.noEncoder, of: animation, as: ImageFormat(name: "none", mimeType: "image/none", fileExtension: "none"))
        #expect(registry.canEncodeAnimation(as: .gif) && !registry.canEncodeAnimation(as: .jpeg))
        #expect(registry.canEncode(.jpeg))
    }

    @Test func writesTheFirstFrameOfAnAnimationInAFormatThatHoldsOne() throws {
        let moving = try registry.decode(Fixture("animated.gif").data())
        #expect(try registry.info(of: registry.encode(moving, as: .jpeg)).size == moving.pixels.size)
        var still = moving
        still.animation = nil
        #expect(try registry.info(of: registry.encode(still, as: .gif)).frameCount == 1)
    }

    @Test(arguments: formats)
    func passesOnWhyAFrameCanNotBeRead(_ format: ImageFormat) throws {
        var animation = EncodableAnimation()
        animation.append(try image(2, 2), duration: 1)
        animation.append(Data("no picture".utf8), duration: 1)
        #expect {
            try registry.encode(animation, as: format)
        } throws: {
            if case .unrecognizedFormat? = $0 as? WebImageError { true } else { false }
        }
        animation.frames.removeLast()
        animation.append(contentsOfFile: URL(filePath: "/nowhere/at/all.png"), duration: 1)
        #expect(throws: WebImageError.file(path: "/nowhere/at/all.png", errno: ENOENT)) {
            try registry.encode(animation, as: format)
        }
        animation.frames.removeLast()
        animation.append(contentsOfFile: URL(filePath: "/tmp"), duration: 1)
        #expect(throws: WebImageError.self) { try registry.encode(animation, as: format) }
    }

    @Test(arguments: formats)
    func stopsAtEachCheckpoint(_ format: ImageFormat) throws {
        let animation = try PixelAnimation(seed: 7, frameCount: 3).encodable()
        try Checkpoints.expectCancellationAtEach(atLeast: 9) { checkpoints in
            let options = EncodingOptions(gif: .init(palette: .global), cancellation: checkpoints.cancellation)
            _ = try registry.encode(animation, as: format, options: options)
        }
    }
}
