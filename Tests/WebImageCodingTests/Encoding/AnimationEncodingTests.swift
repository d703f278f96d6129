import CodingTestSupport
import CWebImageKernels
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Round trips of encoded animations.
@Suite(.timeLimit(.minutes(3))) struct AnimationEncodingTests {
    private let registry = CodecRegistry()
    private let lossless = EncodingOptions(isLossless: true).with { $0.webPEffort = 0 }

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
        arguments: [EncodingOptions.Framing.changes, .whole], [EncodingOptions.Palette.perFrame, .global])
    func keepsEveryPixelOfFewColorsInGIF(
        framing: EncodingOptions.Framing, palette: EncodingOptions.Palette
    ) throws {
        let options = EncodingOptions().with {
            $0.framing = framing
            $0.palette = palette
        }
        for seed in 1...25 as ClosedRange<UInt64> {
            let count = [1, 2, 3, 4, 5, 16, 100, 255][Int(seed % 8)]
            var animation = PixelAnimation(
                seed: seed, frameCount: 2 + Int(seed % 7), alphas: seed % 2 == 0 ? [0, 255] : [255], colorCount: count)
            animation.loopCount = Int(seed % 4)
            try expectRoundTrip(animation, as: .gif, options, "seed \(seed), \(count) colors")
        }
    }

    @Test func keeps256ColorsOfAFrameInGIF() throws {
        let size = PixelSize(width: 16, height: 16)
        func frame(_ shift: Int) -> Pixels {
            Pixels(
                size: size,
                bytes: (0..<256).flatMap { (place: Int) -> [UInt8] in
                    [UInt8(truncatingIfNeeded: place + shift), UInt8(place / 2), 7, 255]
                })
        }
        var second = frame(0)
        second.bytes[0] = 200
        second.bytes[1] = 255
        let animation = PixelAnimation(frames: [frame(0), second, frame(3)], durations: [0.1, 0.2, 0.3])
        try expectRoundTrip(animation, as: .gif, EncodingOptions(), "256 colors")
        let still = try registry.decode(registry.encode(Image(pixels: frame(0).buffer(isOpaque: true)), as: .gif))
        #expect(Pixels(still.pixels) == frame(0))
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"], [ImageFormat.gif, .png, .webp])
    func keepsDurationsAndPlaysBetweenFormats(name: String, format: ImageFormat) throws {
        let original = try registry.decode(Fixture(name).data())
        let copy = try PixelAnimation(reading: registry.encode(original, as: format, options: lossless))
        let animation = try #require(original.animation)
        #expect(copy.loopCount == animation.loopCount)
        #expect(copy.frames.count == animation.frameCount)
        let reader = animation.makeFrameReader()
        for (index, frame) in animation.frames.enumerated() {
            #expect(abs(copy.durations[index] - frame.duration / .seconds(1)) < 0.0051)
            if format != .gif || name == "animated.gif" {
                #expect(copy.frames[index] == Pixels(try reader.frame(at: index, cancellation: nil)), "frame \(index)")
            }
        }
    }

    @Test func writesOnlyChangedPixels() throws {
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
        // From the previous even pixel.
        #expect(webp.frames.map(\.part.size) == [size, PixelSize(width: 2, height: 2), PixelSize(width: 1, height: 1)])
        let whole = try registry.encode(animation, as: .gif, options: EncodingOptions().with { $0.framing = .whole })
        #expect(try GIFFile(whole: whole).frames.allSatisfy { $0.size == size })
    }

    @Test func clearsPixelsThatBecomeTransparent() throws {
        let size = PixelSize(width: 32, height: 8)
        // A square of 4 by 4 that moves right by 6.
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

    @Test func writesAlphaOnlyIfAFrameHasIt() throws {
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
        for index in 0..<2_000 { animation.append(images[index % 2], duration: .milliseconds(20)) }
        let info = try registry.info(of: registry.encode(animation, as: format))
        #expect(info.frameCount == 2_000)
        #expect(info.loopCount == 5)
    }

    @Test(arguments: [
        (ImageFormat.gif, 70_000, 65_536), (.webp, 70_000, 65_535), (.png, .max, 2_147_483_647), (.gif, -3, 0),
        (.webp, -3, 0), (.png, -3, 0), (.gif, 1, 1), (.gif, 2, 2),
    ])
    func clampsPlaysToTheFormatsLimit(format: ImageFormat, asked: Int, written: Int) throws {
        var animation = PixelAnimation(seed: 2, frameCount: 2, alphas: [255])
        animation.loopCount = asked
        #expect(try PixelAnimation(reading: registry.encode(animation.encodable(), as: format)).loopCount == written)
    }

    @Test func takesFramesFromImagesDataAndAnimations() throws {
        let source = PixelAnimation(seed: 12, frameCount: 4)
        let images = try source.frames.map { Image(pixels: try $0.buffer()) }
        let moving = try registry.decode(registry.encode(source.encodable(), as: .png))
        var animation = EncodableAnimation()
        animation.append(images[0], duration: .milliseconds(500))
        animation.append(try registry.encode(images[1], as: .png), duration: .milliseconds(250), registry: registry)
        animation.append(contentsOf: try moving.animation.orThrow())
        animation.frames.swapAt(0, 1)
        let copy = try PixelAnimation(reading: registry.encode(animation, as: .png))
        let order = [1, 0, 0, 1, 2, 3]
        #expect(copy.frames == order.map { source.frames[$0] })
        #expect(copy.durations == [0.25, 0.5] + source.durations)
    }
}

extension GIFFile {
    init(whole data: Data) throws {
        self.init(frameLimit: 100_000)
        try append(data)
        finish()
    }
}

/// Invalid input and cancellation.
@Suite(.timeLimit(.minutes(3))) struct AnimationInputTests {
    private let registry = CodecRegistry()
    private static let formats = [ImageFormat.gif, .png, .webp]

    private func image(_ width: Int, _ height: Int) throws -> Image {
        Image(pixels: try Pixels(PixelSize(width: width, height: height), [1, 2, 3, 255]).buffer(isOpaque: true))
    }

    private func expect(
        _ error: WebImageError, of animation: EncodableAnimation, as format: ImageFormat
    ) {
        #expect(throws: error) { try registry.encode(animation, as: format) }
    }

    @Test(arguments: formats)
    func refusesNoFrames(_ format: ImageFormat) {
        expect(.invalidFrames(reason: .none), of: EncodableAnimation(), as: format)
    }

    @Test(arguments: formats, [.nanoseconds(-1), .seconds(-1), .seconds(Int64.min)] as [Duration])
    func refusesNegativeDurations(format: ImageFormat, duration: Duration) throws {
        var animation = EncodableAnimation()
        animation.append(try image(2, 2), duration: .seconds(1))
        animation.append(try image(2, 2), duration: duration)
        expect(.invalidFrames(reason: .duration(duration, frame: 1)), of: animation, as: format)
    }

    @Test(arguments: formats)
    func refusesFramesOfDifferentSizes(_ format: ImageFormat) throws {
        var animation = EncodableAnimation()
        animation.append(try image(2, 2), duration: .seconds(1))
        animation.append(try image(3, 2), duration: .seconds(1))
        let sizes = (PixelSize(width: 3, height: 2), PixelSize(width: 2, height: 2))
        expect(.invalidFrames(reason: .size(sizes.0, frame: 1, expected: sizes.1)), of: animation, as: format)
    }

    @Test func refusesFramesTooLargeForTheFormat() throws {
        var animation = EncodableAnimation()
        for _ in 0..<2 { animation.append(try image(16_384, 1), duration: .seconds(1)) }
        let size = PixelSize(width: 16_384, height: 1)
        expect(.encoding(format: .webp, reason: .tooLarge(size, maximumDimension: 16_383)), of: animation, as: .webp)
        #expect(try registry.info(of: registry.encode(animation, as: .gif)).size == size)
    }

    @Test func refusesAnAnimationInAStillFormat() throws {
        var animation = EncodableAnimation()
        animation.append(try image(8, 8), duration: .seconds(1))
        // One frame is a still image.
        #expect(try registry.info(of: registry.encode(animation, as: .jpeg)).format == .jpeg)
        animation.append(try image(8, 8), duration: .seconds(1))
        expect(.encoding(format: .jpeg, reason: .noAnimation), of: animation, as: .jpeg)
        expect(
            .encoding(
                format: ImageFormat(name: "none", mimeType: "image/none", fileExtension: "none"), reason: .noEncoder),
            of: animation, as: ImageFormat(name: "none", mimeType: "image/none", fileExtension: "none"))
        #expect(registry.canEncodeAnimation(as: .gif) && !registry.canEncodeAnimation(as: .jpeg))
        #expect(registry.canEncode(.jpeg))
    }

    @Test func writesTheFirstFrameOfAnAnimationInAStillFormat() throws {
        let moving = try registry.decode(Fixture("animated.gif").data())
        #expect(try registry.info(of: registry.encode(moving, as: .jpeg)).size == moving.pixels.size)
        var still = moving
        still.animation = nil
        #expect(try registry.info(of: registry.encode(still, as: .gif)).frameCount == 1)
    }

    @Test(arguments: formats)
    func passesOnTheErrorOfAFrame(_ format: ImageFormat) throws {
        var animation = EncodableAnimation()
        animation.append(try image(2, 2), duration: .seconds(1))
        animation.append(Data("not an image".utf8), duration: .seconds(1), registry: registry)
        #expect {
            try registry.encode(animation, as: format)
        } throws: {
            if case .unrecognizedFormat? = $0 as? WebImageError { true } else { false }
        }
    }

    @Test(arguments: formats)
    func stopsAtEachCheckpoint(_ format: ImageFormat) throws {
        let animation = try PixelAnimation(seed: 7, frameCount: 3).encodable()
        try Checkpoints.expectCancellationAtEach(atLeast: 9) { checkpoints in
            let options = EncodingOptions(cancellation: checkpoints.cancellation).with { $0.palette = .global }
            _ = try registry.encode(animation, as: format, options: options)
        }
    }
}

/// The kernels that compare frames, compared with their definitions.
@Suite(.timeLimit(.minutes(3))) struct FrameChangesTests {
    private static let rows: [(before: [UInt32], after: [UInt32])] = {
        var generator = SplitMix64(seed: 11)
        let words: [UInt32] = [0, 0xFF00_0000, 0xFF12_3456, 0x8040_4040, 0x0100_0000]
        return (0..<300).map { index in
            let before = (0..<1 + index % 37).map { _ in words.randomElement(using: &generator) ?? 0 }
            let after = before.map { word in
                Int.random(in: 0..<3, using: &generator) == 0 ? words.randomElement(using: &generator) ?? 0 : word
            }
            return (before, index % 9 == 0 ? before : after)
        }
    }()

    private func columns(
        _ row: (before: [UInt32], after: [UInt32]),
        _ kernel: (
            UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?
        )
            -> Bool
    ) -> Range<Int>? {
        var (first, end) = (0, 0)
        let isFound = row.before.withUnsafeBytes { before in
            row.after.withUnsafeBytes { after in
                kernel(
                    before.bindMemory(to: UInt8.self).baseAddress, after.bindMemory(to: UInt8.self).baseAddress,
                    row.before.count, &first, &end)
            }
        }
        return isFound ? first..<end : nil
    }

    private func range(_ row: (before: [UInt32], after: [UInt32]), _ isOne: (UInt32, UInt32) -> Bool) -> Range<Int>? {
        let places = row.before.indices.filter { isOne(row.before[$0], row.after[$0]) }
        return places.first.map { $0..<(places.last ?? $0) + 1 }
    }

    @Test func findsChangedAndClearedColumns() {
        for row in Self.rows {
            #expect(columns(row, cwi_changed_columns) == range(row) { $0 != $1 })
            #expect(columns(row, cwi_cleared_columns) == range(row) { $0 != 0 && $1 == 0 })
        }
    }

    @Test func copiesChangedPixels() {
        for row in Self.rows {
            let count = row.before.count
            var changes = [UInt32](repeating: 7, count: count)
            var unchangedCount = 0
            let gives = changes.withUnsafeMutableBytes { changes in
                row.before.withUnsafeBytes { before in
                    row.after.withUnsafeBytes { after in
                        cwi_copy_changes(
                            before.bindMemory(to: UInt8.self).baseAddress, after.bindMemory(to: UInt8.self).baseAddress,
                            changes.bindMemory(to: UInt8.self).baseAddress, count, &unchangedCount)
                    }
                }
            }
            let pairs = Array(zip(row.before, row.after))
            #expect(changes == pairs.map { $0 == $1 ? 0 : $1 })
            #expect(unchangedCount == pairs.filter { $0 == $1 }.count)
            #expect(gives == pairs.allSatisfy { $0 == $1 || $1 >> 24 == 255 || $0 == 0 })
        }
    }

    @Test func reducesAlphaToTwoLevels() {
        let source = (0..<256).flatMap { alpha -> [UInt8] in [0, 0, 0, UInt8(alpha)] }
        var pixels = [UInt8](repeating: 5, count: 1024)
        #expect(!cwi_cut_alpha(source, &pixels, 256))
        for alpha in 0..<256 {
            #expect(Array(pixels[alpha * 4..<alpha * 4 + 4]) == (alpha < 128 ? [0, 0, 0, 0] : [5, 5, 5, 255]))
        }
        var opaque = [UInt8](repeating: 5, count: 512)
        #expect(cwi_cut_alpha(Array(source.suffix(512)), &opaque, 128))
    }
}
