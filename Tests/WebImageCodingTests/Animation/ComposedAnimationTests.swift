import CodingTestSupport
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Composed frames, compared with a simple composer.
@Suite(.timeLimit(.minutes(3))) struct ComposedAnimationTests {
    private func animation(
        _ file: RandomAnimationFile, options: DecodingOptions = DecodingOptions()
    ) throws -> ComposedAnimation {
        try ComposedAnimation(
            file,
            plan: DecodingPlan(storedSize: file.canvasSize, orientation: file.orientation, options: options))
    }

    /// A file whose parts all cover the canvas with one color.
    private func fullParts(_ parts: [(FramePart.Blend, FramePart.Disposal, isOpaque: Bool)]) -> RandomAnimationFile {
        let size = PixelSize(width: 2, height: 2)
        return RandomAnimationFile(
            canvasSize: size,
            parts: parts.map { blend, disposal, isOpaque in
                FramePart(
                    left: 0, top: 0, size: size, duration: .milliseconds(100), blend: blend, disposal: disposal,
                    isOpaque: isOpaque)
            },
            pieces: parts.indices.map { index in
                Pixels(size: size, bytes: [UInt8](repeating: parts[index].isOpaque ? 255 : UInt8(index), count: 16))
            })
    }

    @Test func composesLikeASimpleComposerInEveryOrder() throws {
        for seed in 1...400 as ClosedRange<UInt64> {
            let file = RandomAnimationFile(seed: seed, partCount: 12, damagedCount: seed.isMultiple(of: 2) ? 2 : 0)
            let expected = file.parts.indices.map(file.naiveFrame)
            let animation = try animation(file)
            var generator = SplitMix64(seed: seed)
            let order = Array(0..<12) + (0..<40).map { _ in Int.random(in: 0..<12, using: &generator) }
            let reader = animation.makeFrameReader()
            // Frames that are still in use must not change when later ones are drawn.
            var shown: [(index: Int, pixels: PixelBuffer)] = []
            for index in order {
                if let expected = expected[index] {
                    let pixels = try reader.frame(at: index, cancellation: nil)
                    #expect(Pixels(pixels) == expected, "seed \(seed), frame \(index)")
                    #expect(!pixels.isOpaque || expected.isOpaque, "seed \(seed), frame \(index)")
                    if Bool.random(using: &generator) { shown.append((index, pixels)) }
                } else {
                    #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("part \(index)"))) {
                        try reader.frame(at: index, cancellation: nil)
                    }
                }
            }
            for (index, pixels) in shown {
                #expect(Pixels(pixels) == expected[index], "seed \(seed), frame \(index)")
            }
        }
    }

    @Test func composesAKeyframeWithoutPreviousFrames() throws {
        for seed in 1...200 as ClosedRange<UInt64> {
            let file = RandomAnimationFile(seed: seed, partCount: 12)
            let animation = try animation(file)
            for index in animation.frames.indices where animation.frames[index].isKeyframe {
                let count = file.decoded.count
                let pixels = try animation.makeFrameReader().frame(at: index, cancellation: nil)
                #expect(Pixels(pixels) == file.naiveFrame(at: index), "seed \(seed), frame \(index)")
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
            // The restored canvas is transparent at the start, then the first frame.
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
        // Without 4, which leaves no trace.
        #expect(file.decoded == [2, 3, 5])
        _ = try reader.frame(at: 5, cancellation: nil)
        #expect(file.decoded == [2, 3, 5])
        _ = try reader.frame(at: 6, cancellation: nil)
        #expect(file.decoded == [2, 3, 5, 6])
        _ = try reader.frame(at: 1, cancellation: nil)
        #expect(file.decoded == [2, 3, 5, 6, 0, 1])
    }

    @Test func drawsInPlaceUnlessAFrameIsInUse() throws {
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
        var options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 3, height: 2), mode: .stretch))
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

    /// Frames after a cancellation are correct.
    @Test func continuesAfterCancellationAtAnyCheckpoint() throws {
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

    @Test func isDecodedUnlessOnlyTheFirstFrameIsRequested() throws {
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

/// An animation of random rectangles, blends and disposals that counts how often its parts are decoded.
final class RandomAnimationFile: AnimationFile {
    let format = ImageFormat.gif
    let canvasSize: PixelSize
    let orientation: ImageOrientation
    let parts: [FramePart]
    let pieces: [Pixels]
    /// The parts that cannot be decoded.
    let damaged: Set<Int>
    let loopCount = 0
    let isComplete = true
    let byteCount = 1000
    private let decodedParts = LockBox<[Int]>([])

    init(canvasSize: PixelSize, parts: [FramePart], pieces: [Pixels], damaged: Set<Int> = []) {
        self.canvasSize = canvasSize
        orientation = .up
        self.parts = parts
        self.pieces = pieces
        self.damaged = damaged
    }

    /// - Parameter canvasSize: random up to 9×9 by default.
    init(
        seed: UInt64, partCount: Int, damagedCount: Int = 0, canvasSize: PixelSize? = nil,
        orientation: ImageOrientation = .up
    ) {
        var generator = SplitMix64(seed: seed)
        let canvasSize =
            canvasSize
            ?? PixelSize(
                width: Int.random(in: 1...9, using: &generator), height: Int.random(in: 1...9, using: &generator))
        self.canvasSize = canvasSize
        self.orientation = orientation
        var parts: [FramePart] = []
        var pieces: [Pixels] = []
        for _ in 0..<partCount {
            let isFull = Int.random(in: 0..<3, using: &generator) == 0
            let left = isFull ? 0 : Int.random(in: 0..<canvasSize.width, using: &generator)
            let top = isFull ? 0 : Int.random(in: 0..<canvasSize.height, using: &generator)
            // Sometimes an empty one.
            let isEmpty = Int.random(in: 0..<12, using: &generator) == 0
            let size = PixelSize(
                width: isFull ? canvasSize.width : Int.random(in: 1...canvasSize.width - left, using: &generator),
                height: isFull
                    ? canvasSize.height : isEmpty ? 0 : Int.random(in: 1...canvasSize.height - top, using: &generator))
            let isOpaque = Bool.random(using: &generator)
            parts.append(
                FramePart(
                    left: left, top: top, size: size, duration: .milliseconds(100),
                    blend: Bool.random(using: &generator) ? .over : .source,
                    disposal: [.keep, .clear, .restore].randomElement(using: &generator) ?? .keep, isOpaque: isOpaque))
            pieces.append(Self.noise(of: size, isOpaque: isOpaque, using: &generator))
        }
        self.parts = parts
        self.pieces = pieces
        damaged = Set((0..<damagedCount).map { _ in Int.random(in: 0..<partCount, using: &generator) })
    }

    /// The numbers of the decoded parts, in order.
    var decoded: [Int] { decodedParts.withLock { $0 } }

    func workingByteCount(of size: PixelSize) -> Int { 0 }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        decodedParts.withLock { $0.append(index) }
        guard !damaged.contains(index) else { throw .decoding(format: format, reason: .corrupt("part \(index)")) }
        let piece = pieces[index]
        var pixels = try MutablePixelBuffer(width: piece.size.width, height: piece.size.height)
        pixels.withUnsafeMutableBytes { $0.copyBytes(from: piece.bytes) }
        return pixels.freeze(isOpaque: parts[index].isOpaque)
    }

    /// Transparent, opaque and translucent pixels, premultiplied.
    private static func noise(of size: PixelSize, isOpaque: Bool, using generator: inout SplitMix64) -> Pixels {
        var bytes: [UInt8] = []
        for _ in 0..<size.pixelCount {
            let some = UInt8.random(in: 1...254, using: &generator)
            let choices: [UInt8] = isOpaque ? [255] : [0, 255, some]
            let alpha = choices.randomElement(using: &generator) ?? 0
            for _ in 0..<3 { bytes.append(UInt8.random(in: 0...alpha, using: &generator)) }
            bytes.append(alpha)
        }
        return Pixels(size: size, bytes: bytes)
    }
}

extension RandomAnimationFile {
    /// Composes a frame pixel by pixel from the first part on; `nil` for a damaged one.
    func naiveFrame(at index: Int) -> Pixels? {
        guard !damaged.contains(index) || parts[index].isEmpty else { return nil }
        var canvas = Pixels(size: canvasSize, bytes: [UInt8](repeating: 0, count: canvasSize.pixelCount * 4))
        for number in 0...index {
            let before = canvas
            draw(number, on: &canvas)
            if number == index { break }
            switch parts[number].disposal {
            case .keep: break
            case .restore: canvas = before
            case .clear:
                forEachPixel(of: number) { place, _ in
                    for channel in 0..<4 { canvas.bytes[place + channel] = 0 }
                }
            }
        }
        return canvas
    }

    private func draw(_ number: Int, on canvas: inout Pixels) {
        let part = parts[number]
        guard !damaged.contains(number) else {
            let isFull = part.left == 0 && part.top == 0 && part.size == canvasSize
            if isFull, part.blend == .source || part.isOpaque {
                canvas.bytes = [UInt8](repeating: 0, count: canvas.bytes.count)
            }
            return
        }
        forEachPixel(of: number) { place, source in
            let alpha = Double(pieces[number].bytes[source + 3])
            for channel in 0..<4 {
                let above = pieces[number].bytes[source + channel]
                let below = Double(canvas.bytes[place + channel])
                let left = part.blend == .over ? UInt8((below * (255 - alpha) / 255).rounded()) : 0
                canvas.bytes[place + channel] = above + left
            }
        }
    }

    private func forEachPixel(of number: Int, _ body: (_ place: Int, _ source: Int) -> Void) {
        let part = parts[number]
        for y in 0..<part.size.height {
            for x in 0..<part.size.width {
                body(((part.top + y) * canvasSize.width + part.left + x) * 4, (y * part.size.width + x) * 4)
            }
        }
    }
}
