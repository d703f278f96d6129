import Foundation
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

@Suite(.timeLimit(.minutes(3))) struct AnimatedImageTests {
    @Test func convertsALoadedImageAndBack() throws {
        let animation = ReferenceAnimation(name: "gif-mixed.gif")
        let data = try animation.data()
        let image = try AnimatedImage(data: data)
        #expect(image.isAnimated)
        #expect(image.format == .gif)
        #expect(image.posterIsFirstFrame)
        #expect(image.memoryCost == image.poster.byteCount + data.count)
        #expect(image.decodedByteCount == image.poster.byteCount * image.source.frameCount)
        #expect(image.image.animation?.identity == image.source.identity)
        #expect(image.image.frameCount == image.source.frameCount)
    }

    @Test func aStillIsAnAnimationOfOneFrame() throws {
        let pixels = try AnimatedImage(NumberedSource(1)).poster
        let image = AnimatedImage(Image(pixels: pixels, scale: 2))
        #expect(!image.isAnimated)
        #expect(image.source.frameCount == 1)
        #expect(image.memoryCost == pixels.byteCount)
        #expect(image.image.animation == nil)
        #expect(image.image.scale == 2)
        #expect(try image.source.makeFrameReader().frame(at: 0, cancellation: nil) === pixels)
    }

    @Test func anAnimationWithoutFramesIsAStill() throws {
        let poster = try AnimatedImage(NumberedSource(1)).poster
        let image = AnimatedImage(Image(pixels: poster, animation: NumberedSource(0)))
        #expect(image.source.frameCount == 1)
        #expect(image.posterIsFirstFrame)
    }

    @Test func aTransformedPosterIsNotUsedAsFrame() throws {
        let source = NumberedSource(3)
        let poster = try AnimatedImage(NumberedSource(1)).poster
        #expect(AnimatedImage(Image(pixels: poster, animation: source)).posterIsFirstFrame)
        #expect(!AnimatedImage(Image(pixels: poster, animation: source, isTransformed: true)).posterIsFirstFrame)
        #expect(!AnimatedImage(Image(pixels: poster, animation: source, isPartial: true)).posterIsFirstFrame)
        let large = NumberedSource(3, frameSize: PixelSize(width: 9, height: 9))
        #expect(!AnimatedImage(Image(pixels: poster, animation: large)).posterIsFirstFrame)
        let fixture = try PlayerFixture(source)
        let player = AnimationPlayer(
            AnimatedImage(Image(pixels: poster, animation: source, isTransformed: true)), clock: fixture.clock,
            pools: fixture.pools)
        player.play()
        fixture.advance(4)
        #expect(source.log.asked == [0, 0, 1, 2], "once for the poster of the fixture")
    }

    @Test func throwsForADamagedFirstFrameAndForNoFrames() {
        let error = WebImageError.decoding(format: .gif, reason: .truncated)
        #expect(throws: error) { try AnimatedImage(NumberedSource(2, damaged: [0: error])) }
        #expect(throws: WebImageError.invalidFrames(reason: .none)) { try AnimatedImage(NumberedSource(0)) }
    }
}

@Suite(.timeLimit(.minutes(3))) struct FrameSequenceTests {
    private func png(_ red: UInt8, width: Int = 6, height: Int = 4) throws -> Data {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in
            for place in bytes.indices { bytes[place] = place % 4 == 0 ? red : place % 4 == 3 ? 255 : 0 }
        }
        return try CodecRegistry.builtIn.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }

    private func reds(_ image: any AnimationSource) throws -> [UInt8] {
        let reader = image.makeFrameReader()
        return try image.frames.indices.map { try reader.frame(at: $0, cancellation: nil)[0, 0][0] }
    }

    @Test func playsFiles() throws {
        let directory = try TemporaryDirectory()
        let paths = try (0..<3).map { index in
            try directory.write(png(UInt8(index * 50)), to: "\(index).png")
            return directory.url("\(index).png").path
        }
        let image = try AnimatedImage(files: paths, durations: [.milliseconds(250)], loopCount: 3).source
        #expect(image.frames.map(\.duration) == [.milliseconds(250), .milliseconds(250), .milliseconds(250)])
        #expect(image.frameSize == PixelSize(width: 6, height: 4))
        #expect(image.loopCount == 3)
        #expect(image.byteCount == 0)
        #expect(try reds(image) == [0, 50, 100])
        // A file that changes while it plays.
        try directory.write(png(9, width: 5), to: "1.png")
        #expect(throws: WebImageError.self) { try reds(image) }
        try FileManager.default.removeItem(atPath: paths[2])
        #expect(throws: WebImageError.file(path: paths[2], errno: ENOENT)) {
            try image.makeFrameReader().frame(at: 2, cancellation: nil)
        }
    }

    @Test func playsDataOfAnyFormatAtThumbnailSize() throws {
        let gif = try ReferenceAnimation(name: "gif-mixed.gif").data()
        let size = try CodecRegistry.builtIn.info(of: gif).size
        let data = [try png(1, width: size.width, height: size.height), gif]
        let image = try AnimatedImage(
            frames: data, durations: [.seconds(1), .seconds(2)], thumbnail: Thumbnail(.pixels(width: 4, height: 4))
        ).source
        #expect(image.byteCount == data[0].count + data[1].count)
        #expect(max(image.frameSize.width, image.frameSize.height) == 4)
        #expect(try reds(image).count == 2)
        #expect(image.duration == .seconds(3))
    }

    @Test func rejectsInvalidFrames() throws {
        let first = try png(1)
        #expect(throws: WebImageError.invalidFrames(reason: .none)) {
            try AnimatedImage(files: [], durations: [.seconds(1)]).source
        }
        #expect(throws: WebImageError.invalidFrames(reason: .durationCount(3, frameCount: 2))) {
            try AnimatedImage(frames: [first, first], durations: [.seconds(1), .seconds(1), .seconds(1)]).source
        }
        #expect(throws: WebImageError.invalidFrames(reason: .duration(.seconds(-0.5), frame: 0))) {
            try AnimatedImage(frames: [first], durations: [.seconds(-0.5)]).source
        }
        let other = try png(1, width: 7)
        let fault = WebImageError.FrameFailure.size(
            PixelSize(width: 7, height: 4), frame: 1, expected: PixelSize(width: 6, height: 4))
        #expect(throws: WebImageError.invalidFrames(reason: fault)) {
            try AnimatedImage(frames: [first, other], durations: [.seconds(1)]).source
        }
        #expect(throws: WebImageError.file(path: "/nowhere", errno: ENOENT)) {
            try AnimatedImage(files: ["/nowhere"], durations: [.seconds(1)]).source
        }
        #expect(throws: WebImageError.file(path: "/tmp", errno: EISDIR)) {
            try AnimatedImage(files: ["/tmp"], durations: [.seconds(1)]).source
        }
        #expect(throws: WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: [1, 2, 3])) {
            try AnimatedImage(frames: [Data([1, 2, 3])], durations: [.seconds(1)]).source
        }
    }

    @Test func playsInAPlayer() throws {
        let image = try AnimatedImage(frames: (0..<4).map { try png(UInt8($0)) }, durations: [.milliseconds(100)])
            .source
        let fixture = try PlayerFixture(image)
        fixture.player.play()
        fixture.advance(9)
        #expect(fixture.frames() == (0...9).map { $0 % 4 })
        #expect(fixture.player.poolStatistics?.decodedFrameCount == 3)
    }
}

@Suite(.timeLimit(.minutes(3))) struct SpriteSheetTests {
    /// Each pixel has its column in red and its row in green.
    private func sheet(_ width: Int, _ height: Int) throws -> PixelBuffer {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in
            for place in 0..<width * height {
                bytes[place * 4] = UInt8(place % width)
                bytes[place * 4 + 1] = UInt8(place / width)
                bytes[place * 4 + 2] = 0
                bytes[place * 4 + 3] = 255
            }
        }
        return pixels.freeze(isOpaque: true)
    }

    private func corners(_ image: SpriteSheet) throws -> [[UInt8]] {
        let reader = image.makeFrameReader()
        return try image.frames.indices.map { index in
            let pixels = try reader.frame(at: index, cancellation: nil)
            #expect(pixels.size == image.frameSize)
            #expect(pixels.isOpaque)
            let last = pixels[pixels.width - 1, pixels.height - 1]
            return [pixels[0, 0][0], pixels[0, 0][1], last[0], last[1]]
        }
    }

    @Test func cutsOutFrames() throws {
        let rects = [
            PixelRect(x: 1, y: 2, width: 3, height: 2), PixelRect(x: 7, y: 4, width: 3, height: 2),
            PixelRect(x: 1, y: 2, width: 3, height: 2),
        ]
        let sheet = try sheet(10, 6)
        let image = try SpriteSheet(
            sheet: sheet, contentRects: rects, durations: [.milliseconds(500), .zero, .seconds(1)], loopCount: -1)
        #expect(try corners(image) == [[1, 2, 3, 3], [7, 4, 9, 5], [1, 2, 3, 3]])
        #expect(image.frames.map(\.duration) == [.milliseconds(500), .milliseconds(100), .seconds(1)])
        #expect(image.frames.allSatisfy { $0.isKeyframe })
        #expect(image.loopCount == 0)
        #expect(image.byteCount == sheet.byteCount)
    }

    @Test func makesFramesOfAGrid() throws {
        let image = try SpriteSheet(
            sheet: sheet(11, 6), columns: 3, rows: 2, frameCount: 5, frameDuration: .milliseconds(200))
        #expect(image.frameSize == PixelSize(width: 3, height: 3))
        #expect(try corners(image).map { [$0[0], $0[1]] } == [[0, 0], [3, 0], [6, 0], [0, 3], [3, 3]])
        #expect(try SpriteSheet(sheet: sheet(11, 6), columns: 3, rows: 2, frameDuration: .seconds(1)).frameCount == 6)
    }

    @Test func rejectsInvalidParts() throws {
        let sheet = try sheet(10, 6)
        let good = PixelRect(x: 0, y: 0, width: 5, height: 3)
        func check(
            _ rects: [PixelRect], _ seconds: [Int64], _ fault: WebImageError.FrameFailure,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(throws: WebImageError.invalidFrames(reason: fault), sourceLocation: sourceLocation) {
                try SpriteSheet(sheet: sheet, contentRects: rects, durations: seconds.map { .seconds($0) })
            }
        }
        check([], [], .none)
        check([good], [], .durationCount(0, frameCount: 1))
        check([good], [1, 2], .durationCount(2, frameCount: 1))
        check([good, good], [1, -1], .duration(.seconds(-1), frame: 1))
        check([good], [.min], .duration(.seconds(Int64.min), frame: 0))
        let bad = [
            PixelRect(x: -1, y: 0, width: 5, height: 3), PixelRect(x: 6, y: 0, width: 5, height: 3),
            PixelRect(x: 0, y: 4, width: 5, height: 3), PixelRect(x: 0, y: 0, width: 0, height: 3),
            PixelRect(x: 0, y: 0, width: 5, height: -3), PixelRect(x: .max, y: 0, width: .max, height: 3),
        ]
        for rect in bad { check([good, rect], [1, 1], .outsideSheet(rect, frame: 1, sheet: sheet.size)) }
        let other = PixelRect(x: 0, y: 0, width: 4, height: 3)
        check([good, other], [1, 1], .size(other.size, frame: 1, expected: good.size))
        for (columns, rows) in [(0, 1), (1, 0), (11, 1), (-1, 5), (.max, .max)] {
            #expect(throws: WebImageError.invalidFrames(reason: .none)) {
                try SpriteSheet(sheet: sheet, columns: columns, rows: rows, frameDuration: .seconds(1))
            }
        }
        #expect(throws: WebImageError.self) {
            try SpriteSheet(sheet: sheet, columns: 2, rows: 2, frameCount: 5, frameDuration: .seconds(1))
        }
    }
}
