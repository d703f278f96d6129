import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Frames of valid and invalid animated WebPs.
@Suite(.timeLimit(.minutes(3))) struct WebPAnimationTests {
    private static let names = [
        "animated.webp", "animated-parts.webp", "animated-lossy.webp", "animated-small-first.webp",
    ]
    private let decoder = WebPDecoder()

    private func animation(_ data: Data, _ options: DecodingOptions = DecodingOptions()) throws -> any AnimationSource {
        try #require(try decoder.animation(of: data, options: options))
    }

    // Pillow blends straight colors, which rounds differently.
    @Test(arguments: names.dropFirst())
    func composesFramesLikePillow(_ name: String) throws {
        let source = try animation(Fixture(name).data())
        let frames = try Pixels(named: name + "-frames.rgba").frames(height: source.frameSize.height)
        #expect(frames.count == source.frameCount)
        let reader = source.makeFrameReader()
        for (index, frame) in frames.enumerated() {
            let pixels = try Pixels(reader.frame(at: index, cancellation: nil))
            #expect(try #require(pixels.difference(from: frame)) <= 3, "frame \(index)")
        }
    }

    @Test(arguments: names)
    func decodesFramesInAnyOrder(_ name: String) throws {
        let source = try animation(Fixture(name).data())
        let inOrder = source.makeFrameReader()
        let frames = try source.frames.indices.map { try Pixels(inOrder.frame(at: $0, cancellation: nil)) }
        let reader = source.makeFrameReader()
        for index in source.frames.indices.reversed() {
            #expect(try Pixels(reader.frame(at: index, cancellation: nil)) == frames[index])
        }
    }

    @Test func readsDurationsLoopsAndKeyframes() throws {
        let parts = try animation(Fixture("animated-parts.webp").data())
        #expect(
            parts.frames.map(\.duration) == [
                .milliseconds(80), .milliseconds(100), .milliseconds(120), .milliseconds(40), .milliseconds(300),
                .milliseconds(50),
            ])
        #expect(parts.loopCount == 6)
        #expect(parts.isComplete)
        #expect(parts.frames.map(\.isKeyframe) == [true, false, false, false, false, false])
        let lossy = try animation(Fixture("animated-lossy.webp").data())
        #expect(lossy.frames.map(\.isKeyframe) == [true, false, true, true])
    }

    @Test func decodesTheFirstFrameWithTheAnimation() throws {
        let data = try Fixture("animated-parts.webp").data()
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(image.frameCount == 6 && image.animation?.frameCount == 6 && !image.isPartial)
        let first = try decoder.decode(data, options: DecodingOptions(firstFrameOnly: true))
        #expect(first.animation == nil)
        #expect(Pixels(first.pixels) == Pixels(image.pixels))
        let still = try decoder.decode(Fixture("animated-one-frame.webp").data(), options: DecodingOptions())
        #expect(still.animation == nil && still.frameCount == 1)
        #expect(try decoder.animation(of: Fixture("lossy.webp").data(), options: DecodingOptions()) == nil)
    }

    @Test func makesThumbnailsOfEveryFrame() throws {
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 11, height: 11)))
        let source = try animation(Fixture("animated-parts.webp").data(), options)
        #expect(source.frameSize == PixelSize(width: 11, height: 9))
        let reader = source.makeFrameReader()
        for index in source.frames.indices {
            #expect(try reader.frame(at: index, cancellation: nil).size == source.frameSize)
        }
    }

    @Test func showsCompleteFrames() throws {
        let data = try Fixture("animated-parts.webp").data()
        let frames = data.webpChunks.filter { $0.name == "ANMF" }
        for (index, frame) in frames.enumerated() where index > 0 {
            let image = try decoder.decode(data.prefix(frame.range.upperBound - 3), options: DecodingOptions())
            #expect(image.isPartial && image.frameCount == index)
            #expect(image.animation?.isComplete == (index > 1 ? false : nil))
            let options = DecodingOptions(allowsDamage: false)
            #expect(throws: WebImageError.decoding(format: .webp, reason: .truncated)) {
                try decoder.decode(data.prefix(frame.range.upperBound - 3), options: options)
            }
        }
    }

    @Test func continuesAfterADamagedFrame() throws {
        var data = try Fixture("animated-parts.webp").data()
        let third = data.webpChunks.filter { $0.name == "ANMF" }[2].range
        for position in third.lowerBound + 35..<third.upperBound { data[position] = 0xAA }
        let reader = try animation(data, DecodingOptions(allowsDamage: false)).makeFrameReader()
        #expect(throws: WebImageError.self) { try reader.frame(at: 2, cancellation: nil) }
        #expect(throws: Never.self) { try reader.frame(at: 3, cancellation: nil) }
    }

    @Test func showsTheIntactRowsOfADamagedFrame() throws {
        var generator = SplitMix64(seed: 5)
        let noise = Pixels(
            size: PixelSize(width: 32, height: 160),
            bytes: generator.opaquePixels(count: 32 * 160))
        let still = try WebPEncoder().encode(Image(pixels: noise.buffer(isOpaque: true)), options: EncodingOptions())
        // 32 times 160 pixels, for 100 ms.
        let header: [UInt8] = [0, 0, 0, 0, 0, 0, 31, 0, 0, 159, 0, 0, 100, 0, 0, 0]
        func animation(firstImage: Data, secondImage: Data? = nil) -> Data {
            var data = Data("RIFF\0\0\0\0WEBP".utf8)
            data.appendWebPChunk("VP8X", Data([2, 0, 0, 0, 31, 0, 0, 159, 0, 0]))
            data.appendWebPChunk("ANIM", Data(count: 6))
            data.appendWebPChunk("ANMF", header + firstImage)
            data.appendWebPChunk("ANMF", header + (secondImage ?? still[12...]))
            data.setRIFFLength()
            return data
        }
        let whole = try decoder.decode(animation(firstImage: still[12...]), options: DecodingOptions())
        #expect(whole.animation?.frameCount == 2 && !whole.isPartial)

        var cut = Data()
        cut.appendWebPChunk("VP8 ", still[20..<still.count / 2])
        let data = animation(firstImage: cut)
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(image.isPartial && image.animation == nil && image.frameCount == 2)
        let rowCount = try #require(Pixels(image.pixels).goodRowCount(of: Pixels(whole.pixels)))
        #expect((16..<160).contains(rowCount))
        #expect(throws: WebImageError.self) { try decoder.decode(data, options: DecodingOptions(allowsDamage: false)) }

        // The damaged frame is a later one.
        let later = animation(firstImage: still[12...], secondImage: cut)
        let reader = try self.animation(later).makeFrameReader()
        let frame = Pixels(try reader.frame(at: 1, cancellation: nil))
        #expect(
            frame.bytes.prefix(32 * 4 * rowCount).elementsEqual(Pixels(whole.pixels).bytes.prefix(32 * 4 * rowCount)))
        let strict = try self.animation(later, DecodingOptions(allowsDamage: false)).makeFrameReader()
        #expect(throws: WebImageError.self) { try strict.frame(at: 1, cancellation: nil) }
        #expect(throws: Never.self) { try strict.frame(at: 0, cancellation: nil) }
    }

    /// Its length says so, the file's does not.
    @Test func truncatesAFrameThatExtendsBeyondTheEnd() throws {
        var data = try Fixture("animated-parts.webp").data()
        let last = try #require(data.webpChunks.last { $0.name == "ANMF" }).range
        data.removeSubrange((last.upperBound - 4)...)
        data.setRIFFLength()
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(image.isPartial && image.frameCount == 5)
        #expect(throws: WebImageError.decoding(format: .webp, reason: .truncated)) {
            try decoder.decode(data, options: DecodingOptions(allowsDamage: false))
        }
    }

    @Test func damageBehindTheFirstFrameDoesNotMatterIfItAloneIsRequested() throws {
        let data = try Fixture("animated-parts.webp").data()
        let options = DecodingOptions(firstFrameOnly: true, allowsDamage: false)
        let image = try decoder.decode(data.dropLast(4), options: options)
        #expect(Pixels(image.pixels) == Pixels(try decoder.decode(data, options: options).pixels))
        #expect(image.isPartial)
        #expect(throws: WebImageError.decoding(format: .webp, reason: .truncated)) {
            try decoder.decode(data.prefix(100), options: options)
        }
    }

    @Test func refusesFramesOutsideTheCanvas() throws {
        let original = try Fixture("animated-parts.webp").data()
        let second = original.webpChunks.filter { $0.name == "ANMF" }[1].range
        // After the chunk's name and length: x, y, width, height, 24 bits each.
        for (offset, value) in [(0, 7), (3, 6), (6, 18), (9, 16), (2, 0xFF), (11, 0xFF)] {
            var data = original
            data[second.lowerBound + 8 + offset] = UInt8(value)
            #expect(throws: WebImageError.decoding(format: .webp, reason: .corrupt("a frame outside its canvas"))) {
                try decoder.decode(data, options: DecodingOptions())
            }
        }
    }

    @Test func refusesAFrameOfTheWrongSize() throws {
        var data = try Fixture("animated-small-first.webp").data()
        let first = data.webpChunks.first { $0.name == "ANMF" }?.range.lowerBound
        data[try #require(first) + 8 + 6] -= 1
        #expect(throws: WebImageError.decoding(format: .webp, reason: .corrupt("two sizes for one frame"))) {
            try decoder.decode(data, options: DecodingOptions())
        }
    }

    @Test func refusesAnAnimationWithoutItsChunk() throws {
        var data = try Fixture("animated-parts.webp").data()
        let chunk = try #require(data.webpChunks.first { $0.name == "ANIM" }).range
        data.replaceSubrange(chunk.lowerBound..<chunk.lowerBound + 4, with: Data("NONE".utf8))
        #expect(throws: WebImageError.decoding(format: .webp, reason: .corrupt("a frame before the ANIM chunk"))) {
            try decoder.decode(data, options: DecodingOptions())
        }
    }

    /// The header's flags: 0x02 animation, 0x10 alpha.
    @Test func ignoresWrongFlags() throws {
        let parts = try Fixture("animated-parts.webp").data()
        let flags = try #require(parts.webpChunks.first { $0.name == "VP8X" }).range.lowerBound + 8
        var still = parts
        still[flags] = 0x10
        #expect(throws: WebImageError.self) { try decoder.decode(still, options: DecodingOptions()) }
        var opaque = parts
        opaque[flags] = 0x02
        let image = try decoder.decode(opaque, options: DecodingOptions())
        #expect(try Pixels(image.pixels) == Pixels(decoder.decode(parts, options: DecodingOptions()).pixels))
        #expect(!image.pixels.isOpaque)

        var lonely = try Fixture("orientation-6.webp").data()
        lonely[20] |= 0x02
        #expect(
            throws: WebImageError.decoding(format: .webp, reason: .corrupt("an animation without a complete frame"))
        ) { try decoder.decode(lonely, options: DecodingOptions()) }
    }

    /// A chunk of odd length has a padding byte; some writers omit the last one.
    @Test func skipsOddChunks() throws {
        var data = try Fixture("animated-small-first.webp").data()
        let whole = Pixels(try decoder.decode(data, options: DecodingOptions()).pixels)
        data.insert(contentsOf: Data("ODDX".utf8) + [3, 0, 0, 0, 1, 2, 3, 0], at: 30)
        data += Data("ODDY".utf8) + [1, 0, 0, 0, 9]
        data.setRIFFLength()
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(Pixels(image.pixels) == whole)
        #expect(image.frameCount == 2 && !image.isPartial)
    }

    @Test func ignoresDataAfterTheDeclaredEnd() throws {
        let data = try Fixture("animated-small-first.webp").data()
        let last = try #require(data.webpChunks.last).range
        #expect(try decoder.info(of: data + data[last]).frameCount == 2)
    }

    @Test func refusesAFrameWithoutAHeader() throws {
        var data = try Fixture("animated-small-first.webp").data()
        data += Data("ANMF".utf8) + [4, 0, 0, 0, 1, 2, 3, 4]
        data.setRIFFLength()
        #expect(throws: WebImageError.decoding(format: .webp, reason: .corrupt("a frame of 4 bytes"))) {
            try decoder.decode(data, options: DecodingOptions())
        }
    }
}

extension Pixels {
    /// Images stacked vertically.
    fileprivate func frames(height: Int) -> [Pixels] {
        let length = size.width * 4 * height
        return stride(from: 0, to: bytes.count, by: length).map { start in
            Pixels(
                size: PixelSize(width: size.width, height: height), bytes: Array(bytes[start..<start + length]))
        }
    }
}
