import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Frames put together from parts, compared with a composer that knows no short cut.
@Suite struct ComposedAnimationTests {
    private func animation(
        _ file: RandomAnimationFile, options: DecodingOptions = DecodingOptions()
    ) throws -> ComposedAnimation {
        try ComposedAnimation(
            file,
            plan: DecodingPlan(storedSize: file.canvasSize, orientation: file.orientation, options: options))
    }

    /// A file whose parts all have the canvas's size and one colour each.
    private func fullParts(_ parts: [(FramePart.Blend, FramePart.Disposal, isOpaque: Bool)]) -> RandomAnimationFile {
        let size = PixelSize(width: 2, height: 2)
        return RandomAnimationFile(
            canvasSize: size,
            parts: parts.map { blend, disposal, isOpaque in
                FramePart(
                    left: 0, top: 0, size: size, duration: 0.1, blend: blend, disposal: disposal, isOpaque: isOpaque)
            },
            pieces: parts.indices.map { index in
                Pixels(size: size, bytes: [UInt8](repeating: parts[index].isOpaque ? 255 : UInt8(index), count: 16))
            })
    }

    @Test func composesLikeANaiveComposerInEveryOrder() throws {
        for seed in 1...400 as ClosedRange<UInt64> {
            let file = RandomAnimationFile(seed: seed, partCount: 12, damagedCount: seed.isMultiple(of: 2) ? 2 : 0)
            let expected = file.parts.indices.map(file.naiveFrame)
            let animation = try animation(file)
            var generator = SplitMix64(seed: seed)
            let order = Array(0..<12) + (0..<40).map { _ in Int.random(in: 0..<12, using: &generator) }
            let reader = animation.makeFrameReader()
            // Frames that are still in use must not change with those drawn later.
            var shown: [(index: Int, picture: PixelBuffer)] = []
            for index in order {
                if let expected = expected[index] {
                    let picture = try reader.frame(at: index, cancellation: nil)
                    #expect(Pixels(picture) == expected, "seed \(seed), frame \(index)")
                    #expect(!picture.isOpaque || expected.isOpaque, "seed \(seed), frame \(index)")
                    if Bool.random(using: &generator) { shown.append((index, picture)) }
                } else {
                    #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("part \(index)"))) {
                        try reader.frame(at: index, cancellation: nil)
                    }
                }
            }
            for (index, picture) in shown {
                #expect(Pixels(picture) == expected[index], "seed \(seed), frame \(index)")
            }
        }
    }

    @Test func composesAKeyframeWithoutThoseBefore() throws {
        for seed in 1...200 as ClosedRange<UInt64> {
            let file = RandomAnimationFile(seed: seed, partCount: 12)
            let animation = try animation(file)
            for index in animation.frames.indices where animation.frames[index].isKeyframe {
                let count = file.decoded.count
                let picture = try animation.makeFrameReader().frame(at: index, cancellation: nil)
                #expect(Pixels(picture) == file.naiveFrame(at: index), "seed \(seed), frame \(index)")
                #expect(file.decoded.dropFirst(count) == (file.parts[index].isEmpty ? [] : [index]))
            }
        }
    }

    @Test func playsForwardWithoutDecodingAPartTwice() throws {
        for seed in 1...50 as ClosedRange<UInt64> {
            let file = RandomAnimationFile(seed: seed, partCount: 12)
            let reader = try animation(file).makeFrameReader()
            for index in file.parts.indices { _ = try reader.frame(at: index, cancellation: nil) }
            #expect(file.decoded == file.parts.indices.filter { !file.parts[$0].isEmpty }, "seed \(seed)")
        }
    }

    @Test(
        arguments: [
            ([(.over, .keep, false), (.over, .keep, false)], [true, false]),
            ([(.over, .keep, false), (.over, .keep, true)], [true, true]),
            ([(.over, .keep, false), (.source, .keep, false)], [true, true]),
            ([(.over, .clear, false), (.over, .keep, false)], [true, true]),
            // What is restored is the canvas of the beginning, clear; then the first frame.
            ([(.over, .restore, true), (.over, .keep, false)], [true, true]),
            ([(.over, .keep, false), (.source, .restore, true), (.over, .keep, false)], [true, true, false]),
            ([(.over, .keep, false), (.source, .clear, true), (.over, .keep, false)], [true, true, true]),
        ] as [([(FramePart.Blend, FramePart.Disposal, isOpaque: Bool)], [Bool])])
    func knowsItsKeyframes(parts: [(FramePart.Blend, FramePart.Disposal, isOpaque: Bool)], keyframes: [Bool]) throws {
        #expect(try animation(fullParts(parts)).frames.map(\.isKeyframe) == keyframes)
    }

    @Test func seeksFromTheNearestKeyframe() throws {
        let file = fullParts([
            (.over, .keep, false), (.over, .keep, false), (.over, .keep, true), (.over, .keep, false),
            (.over, .restore, false), (.over, .clear, false), (.over, .keep, false),
        ])
        let reader = try animation(file).makeFrameReader()
        _ = try reader.frame(at: 5, cancellation: nil)
        // Not 4, which leaves no trace.
        #expect(file.decoded == [2, 3, 5])
        _ = try reader.frame(at: 5, cancellation: nil)
        #expect(file.decoded == [2, 3, 5])
        _ = try reader.frame(at: 6, cancellation: nil)
        #expect(file.decoded == [2, 3, 5, 6])
        _ = try reader.frame(at: 1, cancellation: nil)
        #expect(file.decoded == [2, 3, 5, 6, 0, 1])
    }

    @Test func drawsOnItsCanvasInPlaceUnlessAFrameIsStillInUse() throws {
        let file = fullParts([(.over, .keep, true), (.over, .keep, false), (.over, .keep, false)])
        let reader = try animation(file).makeFrameReader()
        func address(_ index: Int) throws -> UnsafeRawPointer {
            try reader.frame(at: index, cancellation: nil).baseAddress
        }
        let first = try address(0)
        #expect(try address(1) == first)
        let second = try reader.frame(at: 1, cancellation: nil)
        #expect(try reader.frame(at: 2, cancellation: nil).baseAddress != second.baseAddress)
    }

    @Test(arguments: ImageOrientation.allCases)
    func makesThumbnailsOfEveryFrame(_ orientation: ImageOrientation) throws {
        let file = RandomAnimationFile(
            seed: 3, partCount: 5, canvasSize: PixelSize(width: 8, height: 6), orientation: orientation)
        var options = DecodingOptions(thumbnail: Thumbnail(width: 3, height: 2, mode: .stretch))
        options.limits.pixelCount = file.canvasSize.pixelCount
        let animation = try animation(file, options: options)
        #expect(animation.frameSize == PixelSize(width: 3, height: 2))
        let reader = animation.makeFrameReader()
        for index in animation.frames.indices {
            let frame = try #require(file.naiveFrame(at: index))
            let stored = orientation.swapsSides ? PixelSize(width: 2, height: 3) : PixelSize(width: 3, height: 2)
            let expected = try frame.buffer().resampled(to: stored).upright(from: orientation)
            #expect(try Pixels(reader.frame(at: index, cancellation: nil)) == Pixels(expected))
        }
    }

    /// Whatever was half done then, the frames that follow are right.
    @Test func goesOnAfterBeingCancelledAtAnyCheckpoint() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let file = RandomAnimationFile(seed: seed, partCount: 8)
            let animation = try animation(file)
            let all = Checkpoints()
            _ = try animation.makeFrameReader().frame(at: 7, cancellation: all.cancellation)
            for number in 1..<max(2, all.count) {
                let reader = animation.makeFrameReader()
                _ = try reader.frame(at: Int(seed % 8), cancellation: nil)
                _ = try? reader.frame(at: 7, cancellation: Checkpoints(cancellingAt: number).cancellation)
                for index in [7, 3, 4, 5, 7] {
                    #expect(try Pixels(reader.frame(at: index, cancellation: nil)) == file.naiveFrame(at: index))
                }
            }
        }
    }

    @Test func ignoresTheCancellationOfTheLoadThatMadeIt() throws {
        let file = RandomAnimationFile(seed: 5, partCount: 3)
        let load = Cancellation()
        let animation = try animation(file, options: DecodingOptions(cancellation: load))
        load.cancel()
        #expect(throws: Never.self) { try animation.makeFrameReader().frame(at: 2, cancellation: nil) }
        #expect(throws: WebImageError.cancelled) { try animation.makeFrameReader().frame(at: 2, cancellation: load) }
    }

    @Test func comesWithTheFirstFrameUnlessThatIsEnough() throws {
        let file = RandomAnimationFile(seed: 6, partCount: 3)
        var plan = try DecodingPlan(storedSize: file.canvasSize, options: DecodingOptions())
        let image = try plan.image(of: file)
        #expect(Pixels(image.pixels) == file.naiveFrame(at: 0))
        #expect(image.frameCount == 3)
        #expect(image.animation?.frameCount == 3)
        plan.options.firstFrameOnly = true
        let first = try plan.image(of: file)
        #expect(first.frameCount == 3)
        #expect(first.animation == nil)
    }
}
