import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Animations that are written come back frame by frame.
@Suite struct AnimationEncodingTests {
    private let registry = CodecRegistry()
    private let lossless = EncodingOptions(webP: .init(isLossless: true, effort: 0))

    private func expectRoundTrip(
        _ animation: PixelAnimation, as format: ImageFormat, _ options: EncodingOptions, _ comment: Comment
    ) throws {
        let data = try registry.encode(animation.encodable(), as: format, options: options)
        let copy = try PixelAnimation(reading: data)
        #expect(copy.frames.count == animation.frames.count, comment)
        for (index, (frame, original)) in zip(copy.frames, animation.frames).enumerated() {
            #expect(frame == original, "frame \(index), \(comment)")
        }
        #expect(copy.durations == animation.durations, comment)
        #expect(copy.loopCount == animation.loopCount, comment)
    }

    @Test(arguments: [ImageFormat.png, .webp], [EncodingOptions.Framing.changes, .whole])
    func keepsEveryPixel(format: ImageFormat, framing: EncodingOptions.Framing) throws {
        var options = lossless
        options.framing = framing
        for seed in 1...25 as ClosedRange<UInt64> {
            let alphas: [UInt8] = seed % 3 == 0 ? [255] : seed % 3 == 1 ? [0, 255] : [0, 1, 90, 200, 255]
            var animation = PixelAnimation(seed: seed, frameCount: 2 + Int(seed % 7), alphas: alphas)
            animation.loopCount = Int(seed % 4)
            try expectRoundTrip(animation, as: format, options, "seed \(seed)")
        }
    }

    @Test(
        arguments: [EncodingOptions.Framing.changes, .whole], [EncodingOptions.GIF.Palette.perFrame, .global])
    func keepsEveryPixelOfFewColorsInGIF(
        framing: EncodingOptions.Framing, palette: EncodingOptions.GIF.Palette
    ) throws {
        let options = EncodingOptions(framing: framing, gif: .init(palette: palette))
        for seed in 1...25 as ClosedRange<UInt64> {
            let count = [1, 2, 3, 4, 5, 16, 100, 255][Int(seed % 8)]
            var animation = PixelAnimation(
                seed: seed, frameCount: 2 + Int(seed % 7), alphas: seed % 2 == 0 ? [0, 255] : [255], colorCount: count)
            animation.loopCount = Int(seed % 4)
            try expectRoundTrip(animation, as: .gif, options, "seed \(seed), \(count) colours")
        }
    }

    @Test func keeps256ColorsOfAFrameInGIF() throws {
        let size = PixelSize(width: 16, height: 16)
        func frame(_ shift: Int) -> Pixels {
            Pixels(size: size, bytes: (0..<256).flatMap { [UInt8(($0 + shift) & 0xFF), UInt8($0 / 2), 7, 255] })
        }
        var second = frame(0)
        second.bytes[0] = 200
        second.bytes[1] = 255
        let animation = PixelAnimation(frames: [frame(0), second, frame(3)], durations: [0.1, 0.2, 0.3])
        try expectRoundTrip(animation, as: .gif, EncodingOptions(), "256 colours")
        let still = try registry.decode(registry.encode(Image(pixels: frame(0).buffer(isOpaque: true)), as: .gif))
        #expect(Pixels(still.pixels) == frame(0))
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"], [ImageFormat.gif, .png, .webp])
    func keepsDurationsAndPlaysFromFormatToFormat(name: String, format: ImageFormat) throws {
        let original = try registry.decode(Fixture(name).data())
        let copy = try PixelAnimation(reading: registry.encode(original, as: format, options: lossless))
        let animation = try #require(original.animation)
        #expect(copy.loopCount == animation.loopCount)
        #expect(copy.frames.count == animation.frameCount)
        let reader = animation.makeFrameReader()
        for (index, frame) in animation.frames.enumerated() {
            #expect(abs(copy.durations[index] - frame.duration) < 0.0051)
            if format != .gif || name == "animated.gif" {
                #expect(copy.frames[index] == Pixels(try reader.frame(at: index, cancellation: nil)), "frame \(index)")
            }
        }
    }

    @Test func writesOnlyWhatChanges() throws {
        let size = PixelSize(width: 64, height: 48)
        let ground = Pixels(size, [10, 20, 30, 255])
        var changed = ground
        changed.bytes.replaceSubrange((9 * 64 + 21) * 4..<(9 * 64 + 21) * 4 + 4, with: [255, 0, 0, 255])
        let animation = try PixelAnimation(frames: [ground, changed, changed], durations: [1, 1, 1]).encodable()
        let gif = try GIFFile(whole: registry.encode(animation, as: .gif))
        #expect(
            gif.frames.map { [$0.left, $0.top, $0.size.width, $0.size.height] } == [
                [0, 0, 64, 48], [21, 9, 1, 1], [0, 0, 1, 1],
            ])
        let webp = try WebPFile(reading: registry.encode(animation, as: .webp, options: lossless).bytes)
        // From the even pixel before.
        #expect(webp.frames.map(\.part.size) == [size, PixelSize(width: 2, height: 2), PixelSize(width: 1, height: 1)])
        let whole = try registry.encode(animation, as: .gif, options: EncodingOptions(framing: .whole))
        #expect(try GIFFile(whole: whole).frames.allSatisfy { $0.size == size })
    }

    @Test func clearsWhatVanishes() throws {
        let size = PixelSize(width: 32, height: 8)
        // A square of 4 by 4 that moves by 6 to the right.
        let frames = (0..<4).map { step in
            var frame = Pixels(size, [0, 0, 0, 0])
            for y in 2..<6 {
                for x in step * 6..<step * 6 + 4 {
                    frame.bytes.replaceSubrange((y * 32 + x) * 4..<(y * 32 + x) * 4 + 4, with: [9, 99, 199, 255])
                }
            }
            return frame
        }
        let animation = PixelAnimation(frames: frames, durations: [0.1, 0.1, 0.1, 0.1])
        let data = try registry.encode(animation.encodable(), as: .gif)
        let parts = try GIFFile(whole: data).frames
        #expect(parts.dropLast().allSatisfy { $0.disposal == .clear })
        #expect(parts.dropFirst().allSatisfy { $0.size == PixelSize(width: 4, height: 4) })
        for format in [ImageFormat.gif, .png, .webp] {
            try expectRoundTrip(animation, as: format, lossless, "\(format)")
        }
    }

    @Test func writesAnOpaqueAnimationWithoutAlphaUntilSomeTurnsUp() throws {
        let size = PixelSize(width: 8, height: 8)
        let opaque = [Pixels(size, [1, 2, 3, 255]), Pixels(size, [4, 5, 6, 255]), Pixels(size, [7, 8, 9, 255])]
        var file = PNGFile()
        var data = try registry.encode(
            PixelAnimation(frames: opaque, durations: [1, 1, 1]).encodable(), as: .png)
        file.read(data.bytes)
        #expect(file.still?.layout.colorType == .rgb)
        let animation = PixelAnimation(frames: opaque + [Pixels(size, [0, 0, 0, 0])], durations: [1, 1, 1, 1])
        data = try registry.encode(animation.encodable(), as: .png)
        file = PNGFile()
        file.read(data.bytes)
        #expect(file.still?.layout.colorType == .rgba)
        try expectRoundTrip(animation, as: .png, EncodingOptions(), "a clear frame")
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func writesOneFrameAsAStill(_ format: ImageFormat) throws {
        let one = PixelAnimation(seed: 4, frameCount: 1, colorCount: 9)
        let data = try registry.encode(one.encodable(), as: format, options: lossless)
        #expect(try registry.info(of: data).frameCount == 1)
        #expect(try registry.animation(of: data) == nil)
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func writesManyFrames(_ format: ImageFormat) throws {
        var animation = EncodableAnimation(loopCount: 5)
        let size = PixelSize(width: 2, height: 1)
        let images = try [[UInt8](repeating: 255, count: 8), [0, 0, 0, 255, 9, 9, 9, 255]].map {
            Image(pixels: try Pixels(size: size, bytes: $0).buffer(isOpaque: true))
        }
        for index in 0..<5_000 { animation.append(images[index % 2], duration: 0.02) }
        let info = try registry.info(of: registry.encode(animation, as: format))
        #expect(info.frameCount == 5_000)
        #expect(info.loopCount == 5)
    }

    @Test(arguments: [
        (ImageFormat.gif, 70_000, 65_536), (.webp, 70_000, 65_535), (.png, .max, 2_147_483_647), (.gif, -3, 0),
        (.webp, -3, 0), (.png, -3, 0), (.gif, 1, 1), (.gif, 2, 2),
    ])
    func cutsPlaysToWhatTheFormatHolds(format: ImageFormat, asked: Int, written: Int) throws {
        var animation = PixelAnimation(seed: 2, frameCount: 2, alphas: [255])
        animation.loopCount = asked
        #expect(try PixelAnimation(reading: registry.encode(animation.encodable(), as: format)).loopCount == written)
    }

    @Test func takesFramesFromImagesDataFilesAndAnimations() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let source = PixelAnimation(seed: 12, frameCount: 4)
        let images = try source.frames.map { Image(pixels: try $0.buffer()) }
        let file = directory.appending(path: "frame.png")
        try registry.encode(images[2], as: .png).write(to: file)
        let moving = try registry.decode(registry.encode(source.encodable(), as: .png))
        var animation = EncodableAnimation()
        animation.append(images[0], duration: 0.5)
        animation.append(try registry.encode(images[1], as: .png), duration: 0.25)
        animation.append(contentsOfFile: file, duration: 0.2)
        animation.append(contentsOf: try moving.animation.orThrow())
        animation.frames.swapAt(0, 1)
        let copy = try PixelAnimation(reading: registry.encode(animation, as: .png))
        let order = [1, 0, 2, 0, 1, 2, 3]
        #expect(copy.frames == order.map { source.frames[$0] })
        #expect(copy.durations == [0.25, 0.5, 0.2] + source.durations)
    }
}

extension GIFFile {
    init(whole data: Data) throws {
        self.init(frameLimit: 100_000)
        try append(data)
        finish()
    }
}
