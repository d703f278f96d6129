import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// All frames of a GIF, as ImageMagick and gif2webp compose them; see Tests/Fixtures/gif_animations.py.
@Suite struct AnimatedGIFTests {
    private let decoder = GIFDecoder()

    private static let fixtures = [
        "gif-dispose-0.gif", "gif-dispose-1.gif", "gif-dispose-2.gif", "gif-dispose-3.gif", "gif-mixed.gif",
        "gif-outside.gif",
    ].map(Fixture.init)

    private func animation(_ data: Data, options: DecodingOptions = DecodingOptions()) throws -> any AnimationSource {
        try #require(try decoder.animation(of: data, options: options))
    }

    /// Reference frames, which stand one below the other in their file.
    private func referenceFrames(_ fixture: Fixture) throws -> [Pixels] {
        let all = try Pixels(named: fixture.name + ".frames.rgba")
        let size = try #require(try decoder.probe(fixture.data())).size
        return stride(from: 0, to: all.bytes.count, by: size.pixelCount * 4).map { start in
            Pixels(size: size, bytes: Array(all.bytes[start..<start + size.pixelCount * 4]))
        }
    }

    @Test(arguments: fixtures)
    func composesFramesLikeOtherPrograms(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let expected = try referenceFrames(fixture)
        let animation = try animation(data)
        #expect(animation.frameCount == expected.count)
        #expect(animation.isComplete)
        #expect(animation.loopCount == 0)
        #expect(animation.frames.allSatisfy { $0.duration == 0.1 })
        #expect(animation.byteCount == data.count)
        let reader = animation.makeFrameReader()
        for index in Array(expected.indices) + expected.indices.reversed() {
            #expect(try Pixels(reader.frame(at: index, cancellation: nil)) == expected[index], "frame \(index)")
        }
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(Pixels(image.pixels) == expected[0])
        #expect(image.frameCount == expected.count)
        #expect(image.animation?.frames == animation.frames)
        #expect(!image.isPartial)
    }

    @Test(arguments: [(4, 3), (5, 1), (6, 1), (7, 1)] as [(UInt8, UInt8)])
    func treatsReservedDisposalsAsBrowsersDo(reserved: UInt8, meaning: UInt8) throws {
        let data = try Fixture("gif-dispose-\(meaning).gif").data()
        var other = data
        for index in data.indices.dropLast(3) where data[index...].starts(with: [0x21, 0xF9, 4]) {
            let flags = data[index + 3]
            if flags >> 2 & 7 == meaning { other[index + 3] = flags & 0xE3 | reserved << 2 }
        }
        #expect(other != data)
        let (first, second) = try (animation(data).makeFrameReader(), animation(other).makeFrameReader())
        for index in 0..<6 {
            let frame = try Pixels(first.frame(at: index, cancellation: nil))
            #expect(try Pixels(second.frame(at: index, cancellation: nil)) == frame, "frame \(index)")
        }
    }

    @Test func knowsTheKeyframes() throws {
        let animation = try animation(Fixture("gif-dispose-2.gif").data())
        // The third leaves pixels of the second; the fourth covers all, but with holes; it leaves the canvas clear.
        #expect(animation.frames.map(\.isKeyframe) == [true, false, false, false, true, true])
    }

    @Test func leavesTheAnimationOutIfTheFirstFrameIsEnough() throws {
        let image = try decoder.decode(
            Fixture("gif-mixed.gif").data(), options: DecodingOptions(firstFrameOnly: true))
        #expect(image.animation == nil)
        #expect(image.frameCount == 16)
    }

    @Test func isNoAnimationWithOneFrame() throws {
        let data = try Fixture("interlaced.gif").data()
        #expect(try decoder.animation(of: data, options: DecodingOptions()) == nil)
        #expect(try decoder.decode(data, options: DecodingOptions()).animation == nil)
    }

    @Test func makesThumbnailsOfEveryFrame() throws {
        let data = try Fixture("gif-mixed.gif").data()
        let options = DecodingOptions(thumbnail: Thumbnail(width: 8, height: 8))
        let small = try animation(data, options: options)
        #expect(small.frameSize == PixelSize(width: 8, height: 6))
        let (reader, whole) = try (small.makeFrameReader(), animation(data).makeFrameReader())
        for index in 0..<16 {
            let expected = try whole.frame(at: index, cancellation: nil).resampled(to: small.frameSize)
            #expect(try Pixels(reader.frame(at: index, cancellation: nil)) == Pixels(expected))
        }
        #expect(try decoder.decode(data, options: options).isThumbnail)
    }

    /// Each loop count: none asked for, for ever, and repetitions, which come after the first play (as in Chrome and
    /// Firefox; SDWebImage takes a missing one for 1, too).
    @Test(arguments: [(nil, 1), (0, 0), (1, 2), (5, 6), (65_535, 65_536)] as [(Int?, Int)])
    func playsAsOftenAsTheFileAsks(repeatCount: Int?, playCount: Int) throws {
        var data = try Fixture("gif-mixed.gif").data()
        let block = try #require(data.firstRange(of: Data("NETSCAPE2.0".utf8))).lowerBound
        if let repeatCount {
            data.replaceSubrange(block + 13..<block + 15, with: [UInt8(repeatCount & 255), UInt8(repeatCount >> 8)])
        } else {
            data[block] = 0x6E
        }
        #expect(try animation(data).loopCount == playCount)
        #expect(try decoder.info(of: data).loopCount == playCount)
    }

    /// One of the frames has a code that means nothing; those that follow are shown without it.
    @Test func goesOnBehindADamagedFrame() throws {
        let fixture = Fixture("gif-dispose-1.gif")
        var data = try fixture.data()
        // The third frame: its first code after the one that clears the table means nothing yet.
        let descriptors = data.indices.filter { data[$0...].starts(with: [0x2C, 6, 0, 4, 0, 10, 0, 8, 0, 0, 4]) }
        let start = try #require(descriptors.first) + 10
        #expect(data[start] == 4)
        data[start + 2] = 0xF0
        data[start + 3] |= 0x03
        let expected = try referenceFrames(fixture)
        for damage in [DecodingOptions.Damage.showGoodPart, .refuse] {
            let reader = try animation(data, options: DecodingOptions(damage: damage)).makeFrameReader()
            #expect(throws: WebImageError.self) { try reader.frame(at: 2, cancellation: nil) }
            #expect(try Pixels(reader.frame(at: 1, cancellation: nil)) == expected[1])
            let fourth = try Pixels(reader.frame(at: 3, cancellation: nil))
            let anew = try animation(data).makeFrameReader()
            #expect(try Pixels(anew.frame(at: 3, cancellation: nil)) == fourth)
        }
    }

    @Test func refusesAFrameLargerThanAllowedWhenItIsAskedFor() throws {
        var data = try Fixture("gif-dispose-1.gif").data()
        let second = try #require(data.indices.first { data[$0...].starts(with: [0x2C, 2, 0, 1, 0, 9, 0, 7, 0]) })
        data.replaceSubrange(second + 5..<second + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        let reader = try animation(data).makeFrameReader()
        let size = PixelSize(width: 65_535, height: 65_535)
        #expect(throws: WebImageError.imageTooLarge(size: size, pixelLimit: 100_000_000)) {
            try reader.frame(at: 1, cancellation: nil)
        }
        #expect(throws: Never.self) { try reader.frame(at: 2, cancellation: nil) }
    }
}
