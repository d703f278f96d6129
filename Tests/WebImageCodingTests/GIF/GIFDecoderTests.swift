import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// GIFs that break the specification, decoded as browsers do.
@Suite(.timeLimit(.minutes(3))) struct GIFDecoderTests {
    private let registry = CodecRegistry()

    /// `offset.gif`: a screen of 30×20 with one frame of 21×17 at (5, 2). The frame starts at byte 25.
    private func offsetGIF(screen: (UInt8, UInt8) = (30, 20), left: UInt8 = 5) throws -> Data {
        var data = try Fixture("offset.gif").data()
        try #require(data[25] == 0x2C && data[26] == 5)
        (data[6], data[8], data[26]) = (screen.0, screen.1, left)
        return data
    }

    @Test(arguments: [
        ((UInt8(4), UInt8(4)), UInt8(5), PixelSize(width: 26, height: 19)),
        ((0, 0), 5, PixelSize(width: 26, height: 19)),
        ((40, 1), 5, PixelSize(width: 40, height: 19)),
        ((30, 20), 10, PixelSize(width: 31, height: 20)),
    ])
    func enlargesTheCanvasToTheFirstFrame(screen: (UInt8, UInt8), left: UInt8, size: PixelSize) throws {
        let data = try offsetGIF(screen: screen, left: left)
        #expect(try registry.info(of: data).size == size)
        let pixels = try registry.decode(data).pixels
        #expect(pixels.size == size)
        let original = try registry.decode(offsetGIF()).pixels
        for y in 2..<19 {
            for x in 0..<21 { #expect(pixels[x + Int(left), y] == original[x + 5, y]) }
        }
        #expect(pixels[0, 2] == .zero)
    }

    @Test func refusesACanvasEnlargedBeyondTheLimit() throws {
        var data = try offsetGIF()
        data.replaceSubrange(26..<28, with: [0xFF, 0xFF])
        let size = PixelSize(width: 65_535 + 21, height: 20)
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try registry.decode(data)
        }
    }

    @Test func refusesACanvasWithoutPixels() throws {
        var data = try offsetGIF(screen: (0, 0), left: 0)
        data.replaceSubrange(26..<34, with: [0, 0, 0, 0, 0, 0, 0, 0])
        #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("a canvas of 0×0 pixels"))) {
            try registry.info(of: data)
        }
        #expect(throws: WebImageError.decoding(format: .gif, reason: .truncated)) {
            try registry.info(of: data.prefix(20))
        }
    }

    @Test(arguments: [[], [0x00]])
    func decodesAStillWithoutItsTrailer(_ ending: [UInt8]) throws {
        let data = try Fixture("87a.gif").data()
        try #require(data.last == 0x3B)
        let image = try registry.decode(data.dropLast() + ending)
        #expect(Pixels(image.pixels) == Pixels(try registry.decode(data).pixels))
    }

    @Test func refusesAnAnimationWithoutItsTrailer() throws {
        let data = try Fixture("animated.gif").data()
        try #require(data.last == 0x3B)
        let options = DecodingOptions(allowsDamage: false)
        #expect(throws: WebImageError.decoding(format: .gif, reason: .truncated)) {
            try registry.decode(data.dropLast(), options: options)
        }
        #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("an unknown block"))) {
            try registry.decode(data.dropLast() + [0x00], options: options)
        }
    }

    @Test func damageBehindTheFirstFrameDoesNotMatterIfItAloneIsRequested() throws {
        let data = try Fixture("animated.gif").data()
        let whole = try registry.decode(data).pixels
        let options = DecodingOptions(firstFrameOnly: true, allowsDamage: false)
        let files: [Data] = [data.dropLast(), data.dropLast(40), data.dropLast() + [0x00]]
        for damaged in files {
            for image in try [
                registry.decode(damaged, options: options),
                GIFIncrementalDecoder(options: options).decode(damaged, inPiecesOf: 97),
            ] {
                #expect(Pixels(image.pixels) == Pixels(whole))
                #expect(image.isPartial && image.animation == nil)
            }
        }
        #expect(throws: WebImageError.self) { try registry.decode(data.prefix(40), options: options) }
    }

    /// 32×32 pixels of 256 colors, or gray levels.
    private func gif(minimumCodeSize: Int, hasPalette: Bool = true) throws -> Data {
        let indices = (0..<1024).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 32) }
        var data = Data("GIF89a".utf8) + [32, 0, 32, 0, hasPalette ? 0xF7 : 0x70, 0, 0]
        if hasPalette { for index in 0...UInt8.max { data += [index, 255 - index, index / 2] } }
        data += [0x2C, 0, 0, 0, 0, 32, 0, 32, 0, 0]
        return try data + LZWEncoder.packed(indices, minimumCodeSize: minimumCodeSize, cancellation: nil) + [0x3B]
    }

    @Test(arguments: [9, 10, 11]) func decodesCodesOfMoreBitsThanAnIndexHas(minimumCodeSize: Int) throws {
        let image = try registry.decode(
            gif(minimumCodeSize: minimumCodeSize), options: DecodingOptions(allowsDamage: false))
        #expect(try Pixels(image.pixels) == Pixels(registry.decode(gif(minimumCodeSize: 8)).pixels))
        #expect(image.pixels[1, 0] == SIMD4(7, 248, 3, 255))
        #expect(image.pixels.isOpaque)
    }

    @Test func showsIndicesWithoutAPaletteAsGrayLevels() throws {
        let data = try gif(minimumCodeSize: 8, hasPalette: false)
        let image = try registry.decode(data, options: DecodingOptions(allowsDamage: false))
        #expect(image.pixels[0, 0] == SIMD4(0, 0, 0, 255) && image.pixels[31, 31] == SIMD4(24, 24, 24, 255))
        #expect(image.pixels.isOpaque)
        #expect(try !registry.info(of: data).hasAlpha)
    }
}

/// All frames of a GIF, as ImageMagick and gif2webp compose them; see Tests/Fixtures/gif_animations.py.
@Suite(.timeLimit(.minutes(3))) struct AnimatedGIFTests {
    private let decoder = GIFDecoder()

    private static let fixtures = [
        "gif-dispose-0.gif", "gif-dispose-1.gif", "gif-dispose-2.gif", "gif-dispose-3.gif", "gif-mixed.gif",
        "gif-outside.gif",
    ].map(Fixture.init)

    private func animation(_ data: Data, options: DecodingOptions = DecodingOptions()) throws -> any AnimationSource {
        try #require(try decoder.animation(of: data, options: options))
    }

    /// Reference frames, stacked vertically in their file.
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
        #expect(animation.frames.allSatisfy { $0.duration == .milliseconds(100) })
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
        // The third leaves pixels of the second; the fourth covers everything, but with holes, and clears the canvas.
        #expect(animation.frames.map(\.isKeyframe) == [true, false, false, false, true, true])
    }

    @Test func omitsTheAnimationIfOnlyTheFirstFrameIsRequested() throws {
        let image = try decoder.decode(
            Fixture("gif-mixed.gif").data(), options: DecodingOptions(firstFrameOnly: true))
        #expect(image.animation == nil)
        #expect(image.frameCount == 16)
    }

    @Test func isAStillWithOneFrame() throws {
        let data = try Fixture("interlaced.gif").data()
        #expect(try decoder.animation(of: data, options: DecodingOptions()) == nil)
        #expect(try decoder.decode(data, options: DecodingOptions()).animation == nil)
    }

    @Test func makesThumbnailsOfEveryFrame() throws {
        let data = try Fixture("gif-mixed.gif").data()
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 8, height: 8)))
        let small = try animation(data, options: options)
        #expect(small.frameSize == PixelSize(width: 8, height: 6))
        let (reader, whole) = try (small.makeFrameReader(), animation(data).makeFrameReader())
        for index in 0..<16 {
            let expected = try whole.frame(at: index, cancellation: nil).resampled(to: small.frameSize)
            #expect(try Pixels(reader.frame(at: index, cancellation: nil)) == Pixels(expected))
        }
        #expect(try decoder.decode(data, options: options).isThumbnail)
    }

    /// The loop counts: missing, forever, and repetitions after the first play (as in Chrome and Firefox; SDWebImage
    /// also plays a missing one once).
    @Test(arguments: [(nil, 1), (0, 0), (1, 2), (5, 6), (65_535, 65_536)] as [(Int?, Int)])
    func readsTheLoopCount(repeatCount: Int?, playCount: Int) throws {
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

    /// A frame with an invalid code is left out of the following ones.
    @Test func continuesAfterADamagedFrame() throws {
        let fixture = Fixture("gif-dispose-1.gif")
        var data = try fixture.data()
        // The third frame: its first code after the clear code is undefined.
        let descriptors = data.indices.filter { data[$0...].starts(with: [0x2C, 6, 0, 4, 0, 10, 0, 8, 0, 0, 4]) }
        let start = try #require(descriptors.first) + 10
        #expect(data[start] == 4)
        data[start + 2] = 0xF0
        data[start + 3] |= 0x03
        let expected = try referenceFrames(fixture)
        for allowsDamage in [true, false] {
            let reader = try animation(data, options: DecodingOptions(allowsDamage: allowsDamage)).makeFrameReader()
            #expect(throws: WebImageError.self) { try reader.frame(at: 2, cancellation: nil) }
            #expect(try Pixels(reader.frame(at: 1, cancellation: nil)) == expected[1])
            let fourth = try Pixels(reader.frame(at: 3, cancellation: nil))
            let anew = try animation(data).makeFrameReader()
            #expect(try Pixels(anew.frame(at: 3, cancellation: nil)) == fourth)
        }
    }

    @Test func refusesAFrameLargerThanAllowedWhenItIsRequested() throws {
        var data = try Fixture("gif-dispose-1.gif").data()
        let second = try #require(data.indices.first { data[$0...].starts(with: [0x2C, 2, 0, 1, 0, 9, 0, 7, 0]) })
        data.replaceSubrange(second + 5..<second + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        let reader = try animation(data).makeFrameReader()
        let size = PixelSize(width: 65_535, height: 65_535)
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try reader.frame(at: 1, cancellation: nil)
        }
        #expect(throws: Never.self) { try reader.frame(at: 2, cancellation: nil) }
    }
}

/// Damaged GIFs, at once and in pieces.
@Suite(.timeLimit(.minutes(3))) struct DamagedGIFTests {
    private let decoder = GIFDecoder()

    private func options(allowsDamage: Bool = true) -> DecodingOptions {
        var options = DecodingOptions(allowsDamage: allowsDamage)
        options.limits.pixelCount = 10_000
        return options
    }

    /// Decodes `data` in random pieces with previews.
    private func decodeInPieces(
        _ data: Data, options: DecodingOptions, using generator: inout SplitMix64
    ) throws(WebImageError) -> Image {
        let decoder = GIFIncrementalDecoder(options: options)
        var rest = data
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...300, using: &generator))
            try decoder.append(piece)
            rest = rest.dropFirst(piece.count)
            _ = try decoder.preview()
            if let animation = decoder.animation {
                _ = try? animation.makeFrameReader().frame(at: animation.frameCount - 1, cancellation: nil)
            }
        }
        return try decoder.finish()
    }

    /// Every bit pattern terminates, with the same result however it arrives.
    @Test(
        arguments: ["gif-mixed.gif", "gif-outside.gif", "animated.gif", "interlaced.gif"],
        [true, false])
    func survivesFlippedBitsInEveryFrame(_ name: String, allowsDamage: Bool) throws {
        let options = options(allowsDamage: allowsDamage)
        let data = try Fixture(name).data()
        var generator = SplitMix64(seed: 77)
        for position in stride(from: !allowsDamage ? 6 : 7, to: data.count, by: 8) {
            var damaged = data
            damaged[position] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            let atOnce = Result { () throws(WebImageError) in try decoder.decode(damaged, options: options) }
            let inPieces = Result { () throws(WebImageError) in
                try decodeInPieces(damaged, options: options, using: &generator)
            }
            switch (atOnce, inPieces) {
            case (.success(let image), .success(let other)):
                #expect(Pixels(image.pixels) == Pixels(other.pixels), "byte \(position)")
                #expect(image.isPartial == other.isPartial, "byte \(position)")
                #expect(image.animation?.frames == other.animation?.frames, "byte \(position)")
            case (.failure(let error), .failure(let other)):
                // In pieces, another error may be found first.
                #expect(error == other || !allowsDamage, "byte \(position)")
            default: Issue.record("byte \(position): \(atOnce) at once, \(inPieces) in pieces")
            }
            guard let animation = try? decoder.animation(of: damaged, options: options) else { continue }
            let reader = animation.makeFrameReader()
            for index in animation.frames.indices.reversed() {
                if let frame = try? reader.frame(at: index, cancellation: nil) {
                    #expect(frame.size == animation.frameSize)
                }
            }
        }
    }

    /// The first frame's codes are invalid from somewhere on: the rows before are shown, and the other frames.
    @Test func showsTheIntactRowsOfADamagedFirstFrame() throws {
        let data = try Fixture("gif-dispose-1.gif").data()
        let whole = try decoder.decode(data, options: DecodingOptions())
        let codes =
            try #require(data.indices.first { data[$0...].starts(with: [0x2C, 0, 0, 0, 0, 16, 0, 12, 0]) }) + 10
        // About 8 of its rows come before this byte. Codes of all ones are undefined.
        var damaged = data
        damaged.replaceSubrange(codes + 80..<codes + 90, with: Array(repeating: 0xFF, count: 10))
        let image = try decoder.decode(damaged, options: DecodingOptions())
        #expect(image.isPartial)
        #expect(image.animation?.frameCount == 6)
        #expect(image.animation?.isComplete == true)
        for column in 0..<16 {
            #expect(image.pixels[column, 0] == whole.pixels[column, 0])
            #expect(image.pixels[column, 11] == .zero)
        }
        #expect(throws: WebImageError.self) {
            try decoder.decode(damaged, options: DecodingOptions(allowsDamage: false))
        }
    }

    /// Codes that only clear the table produce no pixels.
    @Test func refusesCodesThatProduceNoPixels() throws {
        var data = Data("GIF89a".utf8) + [100, 0, 100, 0, 0x80, 0, 0, 1, 2, 3, 4, 5, 6]
        data += [0x2C, 0, 0, 0, 0, 100, 0, 100, 0, 0, 2]
        // Codes of 3 bits: 4, repeatedly.
        for _ in 0..<4000 { data += [255] + (0..<85).flatMap { _ in [0x24, 0x49, 0x92] as [UInt8] } }
        data += [0, 0x3B]
        let reason = WebImageError.DecodingFailure.corrupt("10000 pixels short")
        #expect(throws: WebImageError.decoding(format: .gif, reason: reason)) {
            try decoder.decode(data, options: DecodingOptions())
        }
        let checkpoints = Checkpoints(cancellingAt: 4)
        #expect(throws: WebImageError.cancelled) {
            try decoder.decode(data, options: DecodingOptions(cancellation: checkpoints.cancellation))
        }
    }

    @Test func probesOnceTheFirstFrameIsDescribed() throws {
        let data = try Fixture("gif-dispose-1.gif").data()
        let descriptor = try #require(data.indices.first { data[$0...].starts(with: [0x2C, 0, 0, 0, 0, 16, 0]) })
        #expect(try decoder.probe(data.prefix(descriptor + 9)) == nil)
        let expected = ImageProbe(
            format: .gif, size: PixelSize(width: 16, height: 12), isAnimated: nil, hasAlpha: false)
        #expect(try decoder.probe(data.prefix(descriptor + 10)) == expected)
        #expect(try decoder.probe(data) == expected)
        #expect(try decoder.probe(Fixture("offset.gif").data())?.hasAlpha == true)
        #expect(throws: WebImageError.self) { try decoder.probe(Data(repeating: 0x47, count: 20)) }
    }
}
