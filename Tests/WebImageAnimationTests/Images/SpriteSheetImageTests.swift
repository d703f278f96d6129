import Testing
import WebImageCore

@testable import WebImageAnimation

@Suite struct SpriteSheetImageTests {
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

    private func corners(_ image: SpriteSheetImage) throws -> [[UInt8]] {
        let reader = image.makeFrameReader()
        return try image.frames.indices.map { index in
            let pixels = try reader.frame(at: index, cancellation: nil)
            #expect(pixels.size == image.frameSize)
            #expect(pixels.isOpaque)
            let last = pixels[pixels.width - 1, pixels.height - 1]
            return [pixels[0, 0][0], pixels[0, 0][1], last[0], last[1]]
        }
    }

    @Test func cutsItsFramesOut() throws {
        let rects = [
            PixelRect(x: 1, y: 2, width: 3, height: 2), PixelRect(x: 7, y: 4, width: 3, height: 2),
            PixelRect(x: 1, y: 2, width: 3, height: 2),
        ]
        let sheet = try sheet(10, 6)
        let image = try SpriteSheetImage(sheet: sheet, contentRects: rects, durations: [0.5, 0, 1], loopCount: -1)
        #expect(try corners(image) == [[1, 2, 3, 3], [7, 4, 9, 5], [1, 2, 3, 3]])
        #expect(image.frames.map(\.duration) == [0.5, 0.1, 1])
        #expect(image.frames.allSatisfy { $0.isKeyframe })
        #expect(image.loopCount == 0)
        #expect(image.byteCount == sheet.byteCount)
    }

    @Test func makesFramesOfAGrid() throws {
        let image = try SpriteSheetImage(sheet: sheet(11, 6), columns: 3, rows: 2, frameCount: 5, frameDuration: 0.2)
        #expect(image.frameSize == PixelSize(width: 3, height: 3))
        #expect(try corners(image).map { [$0[0], $0[1]] } == [[0, 0], [3, 0], [6, 0], [0, 3], [3, 3]])
        #expect(try SpriteSheetImage(sheet: sheet(11, 6), columns: 3, rows: 2, frameDuration: 1).frameCount == 6)
    }

    @Test func refusesWhatMakesNoAnimation() throws {
        let sheet = try sheet(10, 6)
        let good = PixelRect(x: 0, y: 0, width: 5, height: 3)
        func check(
            _ rects: [PixelRect], _ durations: [Double], _ fault: WebImageError.AnimationFault,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(throws: WebImageError.invalidAnimation(reason: fault), sourceLocation: sourceLocation) {
                try SpriteSheetImage(sheet: sheet, contentRects: rects, durations: durations)
            }
        }
        check([], [], .noFrames)
        check([good], [], .durationCount(0, frameCount: 1))
        check([good], [1, 2], .durationCount(2, frameCount: 1))
        check([good, good], [1, -1], .duration(-1, frame: 1))
        check([good], [.infinity], .duration(.infinity, frame: 0))
        #expect(throws: WebImageError.self) {
            try SpriteSheetImage(sheet: sheet, contentRects: [good], durations: [.nan])
        }
        let bad = [
            PixelRect(x: -1, y: 0, width: 5, height: 3), PixelRect(x: 6, y: 0, width: 5, height: 3),
            PixelRect(x: 0, y: 4, width: 5, height: 3), PixelRect(x: 0, y: 0, width: 0, height: 3),
            PixelRect(x: 0, y: 0, width: 5, height: -3), PixelRect(x: .max, y: 0, width: .max, height: 3),
        ]
        for rect in bad { check([good, rect], [1, 1], .outsideSheet(rect, frame: 1, sheet: sheet.size)) }
        let other = PixelRect(x: 0, y: 0, width: 4, height: 3)
        check([good, other], [1, 1], .frameSize(other.size, frame: 1, expected: good.size))
        for (columns, rows) in [(0, 1), (1, 0), (11, 1), (-1, 5), (.max, .max)] {
            #expect(throws: WebImageError.invalidAnimation(reason: .noFrames)) {
                try SpriteSheetImage(sheet: sheet, columns: columns, rows: rows, frameDuration: 1)
            }
        }
        #expect(throws: WebImageError.self) {
            try SpriteSheetImage(sheet: sheet, columns: 2, rows: 2, frameCount: 5, frameDuration: 1)
        }
    }
}
