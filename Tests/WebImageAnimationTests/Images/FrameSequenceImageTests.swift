import Foundation
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageAnimation

@Suite struct FrameSequenceImageTests {
    private func png(_ red: UInt8, width: Int = 6, height: Int = 4) throws -> Data {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in
            for place in bytes.indices { bytes[place] = place % 4 == 0 ? red : place % 4 == 3 ? 255 : 0 }
        }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }

    private func reds(_ image: FrameSequenceImage) throws -> [UInt8] {
        let reader = image.makeFrameReader()
        return try image.frames.indices.map { try reader.frame(at: $0, cancellation: nil)[0, 0][0] }
    }

    @Test func playsFiles() throws {
        let directory = try TemporaryDirectory()
        let paths = try (0..<3).map { index in
            try directory.write(png(UInt8(index * 50)), to: "\(index).png")
            return directory.url("\(index).png").path
        }
        let image = try FrameSequenceImage(files: paths, frameDuration: 0.25, loopCount: 3)
        #expect(image.frames.map(\.duration) == [0.25, 0.25, 0.25])
        #expect(image.frameSize == PixelSize(width: 6, height: 4))
        #expect(image.loopCount == 3)
        #expect(image.byteCount == 0)
        #expect(try reds(image) == [0, 50, 100])
        // One that becomes another while it plays.
        try directory.write(png(9, width: 5), to: "1.png")
        #expect(throws: WebImageError.self) { try reds(image) }
        try FileManager.default.removeItem(atPath: paths[2])
        #expect(throws: WebImageError.file(path: paths[2], errno: ENOENT)) {
            try image.makeFrameReader().frame(at: 2, cancellation: nil)
        }
    }

    @Test func playsDataOfAnyFormatAtTheSizeWanted() throws {
        let gif = try ReferenceAnimation(name: "gif-mixed.gif").data()
        let size = try CodecRegistry.shared.info(of: gif).size
        let data = [try png(1, width: size.width, height: size.height), gif]
        let image = try FrameSequenceImage(
            data: data, durations: [1, 2], thumbnail: Thumbnail(width: 4, height: 4))
        #expect(image.byteCount == data[0].count + data[1].count)
        #expect(max(image.frameSize.width, image.frameSize.height) == 4)
        #expect(try reds(image).count == 2)
        #expect(image.duration == 3)
    }

    @Test func refusesWhatMakesNoAnimation() throws {
        let first = try png(1)
        #expect(throws: WebImageError.invalidAnimation(reason: .noFrames)) {
            try FrameSequenceImage(files: [], frameDuration: 1)
        }
        #expect(throws: WebImageError.invalidAnimation(reason: .durationCount(1, frameCount: 2))) {
            try FrameSequenceImage(data: [first, first], durations: [1])
        }
        #expect(throws: WebImageError.invalidAnimation(reason: .duration(-0.5, frame: 0))) {
            try FrameSequenceImage(data: [first], frameDuration: -0.5)
        }
        let other = try png(1, width: 7)
        let fault = WebImageError.AnimationFault.frameSize(
            PixelSize(width: 7, height: 4), frame: 1, expected: PixelSize(width: 6, height: 4))
        #expect(throws: WebImageError.invalidAnimation(reason: fault)) {
            try FrameSequenceImage(data: [first, other], frameDuration: 1)
        }
        #expect(throws: WebImageError.file(path: "/nowhere", errno: ENOENT)) {
            try FrameSequenceImage(files: ["/nowhere"], frameDuration: 1)
        }
        #expect(throws: WebImageError.file(path: "/tmp", errno: EISDIR)) {
            try FrameSequenceImage(files: ["/tmp"], frameDuration: 1)
        }
        #expect(throws: WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: [1, 2, 3])) {
            try FrameSequenceImage(data: [Data([1, 2, 3])], frameDuration: 1)
        }
    }

    @Test func playsInAPlayer() throws {
        let image = try FrameSequenceImage(data: (0..<4).map { try png(UInt8($0)) }, frameDuration: 0.1)
        let fixture = try PlayerFixture(image)
        fixture.player.play()
        fixture.advance(9)
        #expect(fixture.frames() == (0...9).map { $0 % 4 })
        #expect(fixture.player.poolStatistics?.decodedFrameCount == 3)
    }
}
