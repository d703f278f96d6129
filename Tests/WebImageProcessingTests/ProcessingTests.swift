import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct ProcessingTests {
    private func size(_ width: Double, _ height: Double) -> PointSize { PointSize(width: width, height: height) }

    @Test func keepsEverythingButTheEncodedBytes() throws {
        var source = try GeometryFixture.source(scale: 2)
        source.format = .png
        source.data = Data([1, 2, 3])
        source.extendedData = Data([4])
        let result = try source.processed(by: [.resize(to: .points(size(5, 5))), .circle()])
        #expect(result.format == .png)
        #expect(result.scale == 2)
        #expect(result.extendedData == Data([4]))
        #expect(result.data == nil)
        #expect(result.isTransformed)
        #expect(!source.isTransformed)
    }

    @Test func runsChainsOfFifty() throws {
        let source = try GeometryFixture.source()
        let turns = [ImageProcessor](repeating: .rotate(degrees: 90), count: 48)
        let flips: [ImageProcessor] = [.flip(horizontally: true), .flip(horizontally: true)]
        let chain = ProcessorChain(turns + flips)
        #expect(chain.processors.count == 50)
        #expect(try chain.process(source, cancellation: nil).pixels.bytes == source.pixels.bytes)
        let mixed = (0..<50).map { index -> ImageProcessor in
            switch index % 5 {
            case 0: .inset(-3, color: .white)
            case 1: .rotate(degrees: Double(index))
            case 2: .roundedCorners(radius: 9, border: Border(width: 1, color: .black))
            case 3: .letterbox(to: .points(size(50, 40)), color: .clear)
            default: .crop(toPoints: PointRect(x: 1, y: 1, width: 45, height: 36))
            }
        }
        let result = try source.processed(by: mixed)
        #expect(result.pixels.size == PixelSize(width: 45, height: 36))
        #expect(result.pixels.isPremultiplied)
    }

    @Test func throwsIfOneStepFails() throws {
        let failing = ImageProcessor.crop(toPoints: PointRect(x: 99, y: 0, width: 1, height: 1))
        #expect(
            throws: WebImageError.processing(identifier: failing.identifier.description, reason: .emptyResult)
        ) {
            try GeometryFixture.source().processed(by: [
                .circle(), failing, .flip(horizontally: true, vertically: true),
            ])
        }
    }

    @Test func stopsWhenCancelled() throws {
        let source = try flat(700, 700)
        let processors: [ImageProcessor] = [
            .resize(to: .points(size(600, 300)), mode: .stretch), .resize(to: .points(size(90, 90)), filter: .fast),
            .letterbox(to: .points(size(700, 800)), color: .black), .rotate(degrees: 90),
            .rotate(degrees: 30), .flip(vertically: true), .roundedCorners(radius: 20), .circle(),
            .inset(-5),
            .draw(in: PointRect(x: 0, y: 0, width: 500, height: 500), canvas: size(600, 600)),
        ]
        for processor in processors {
            let cancellation = Cancellation()
            cancellation.cancel()
            #expect(throws: WebImageError.cancelled, "\(processor.identifier)") {
                try processor.process(source, cancellation: cancellation)
            }
            // Also in the middle.
            let later = Checkpoints(cancellingAt: 3).cancellation
            #expect(throws: WebImageError.cancelled, "\(processor.identifier)") {
                try processor.process(source, cancellation: later)
            }
        }
    }

    @Test func runsOffTheCooperativeThreads() async throws {
        let source = try GeometryFixture.source()
        let result = try await source.processed(by: [.resize(to: .points(size(10, 10)), mode: .stretch)])
        #expect(result.pixels.size == PixelSize(width: 10, height: 10))
        let cancelled = Task {
            try await source.processed(by: [.resize(to: .points(width: 9_000, height: 9_000), mode: .stretch)])
        }
        cancelled.cancel()
        await #expect(throws: WebImageError.cancelled) { try await cancelled.value }
    }

    @Test func processesEachFrameOfAnAnimation() throws {
        let frames = try (1...3).map { try flat(20, 10, [UInt8($0 * 10), 0, 0, 255]).pixels }
        var source = Image(pixels: frames[0], scale: 2, format: .gif, frameCount: 3)
        source.animation = Frames(pixels: frames)
        let result = try source.processed(by: [
            .rotate(degrees: 90), .crop(toPoints: PointRect(x: 0, y: 0, width: 5, height: 5)),
        ])
        let animation = try #require(result.animation)
        #expect(animation.frameSize == PixelSize(width: 10, height: 10))
        #expect(animation.loopCount == 4)
        #expect(animation.frames.map(\.duration) == Frames(pixels: frames).frames.map(\.duration))
        #expect(result.format == .gif)
        let reader = animation.makeFrameReader()
        for index in [2, 0, 1] {
            let frame = try reader.frame(at: index, cancellation: nil)
            #expect(frame.size == animation.frameSize)
            #expect(frame[3, 3] == SIMD4(UInt8(index * 10 + 10), 0, 0, 255))
        }
        let still = try source.processed(by: [.flip(horizontally: true, vertically: true)], firstFrameOnly: true)
        #expect(still.animation == nil)
        #expect(still.pixels[0, 0] == SIMD4(10, 0, 0, 255))
    }

    @Test func aClosureCanProcessEachFrame() throws {
        let frames = try (1...3).map { try flat(20, 10, [UInt8($0 * 10), 0, 0, 255]).pixels }
        var source = Image(pixels: frames[0], scale: 2, format: .gif, frameCount: 3)
        source.animation = Frames(pixels: frames)
        let crop = ImageProcessor.transform(id: "left", eachFrame: true) { image, cancellation in
            #expect(image.scale == 2 && image.animation == nil)
            return try image.processed(
                by: [.crop(toPixels: PixelRect(x: 0, y: 0, width: 5, height: 10))], cancellation: cancellation)
        }
        let result = try source.processed(by: [crop])
        #expect(result.pixels.size == PixelSize(width: 5, height: 10))
        let reader = try #require(result.animation).makeFrameReader()
        for index in [2, 0, 1] {
            let frame = try reader.frame(at: index, cancellation: nil)
            #expect(frame.size == result.pixels.size)
            #expect(frame[3, 3] == SIMD4(UInt8(index * 10 + 10), 0, 0, 255))
        }
        #expect(!ProcessorChain([crop]).isAnonymous)
        #expect(ProcessorChain([.transform(eachFrame: true) { image, _ in image }]).isAnonymous)
        #expect(crop.identifier != ImageProcessor.transform(id: "left") { image, _ in image }.identifier)
    }

    @Test func theSameProcessingOfAnAnimationHasTheSameIdentity() throws {
        let frames = try (1...3).map { try flat(20, 10, [UInt8($0 * 10), 0, 0, 255]).pixels }
        var source = Image(pixels: frames[0], scale: 1, format: .gif, frameCount: 3)
        let whole = Frames(pixels: frames)
        let arriving = Frames(identity: whole.identity, pixels: Array(frames.prefix(2)))
        source.animation = whole
        var partial = source
        partial.animation = arriving
        func identity(_ image: Image, _ processors: [ImageProcessor]) throws -> AnimationIdentity {
            try #require(try image.processed(by: processors).animation).identity
        }
        let flipped = try identity(source, [.flip(horizontally: true, vertically: true)])
        #expect(try identity(source, [.flip(horizontally: true, vertically: true)]) == flipped)
        #expect(
            try identity(partial, [.flip(horizontally: true, vertically: true)]) == flipped,
            "a version of it that has fewer frames so far")
        #expect(flipped != whole.identity)
        #expect(try identity(source, [.flip(horizontally: true)]) != flipped)
        #expect(
            try identity(
                source, [.flip(horizontally: true, vertically: true), .flip(horizontally: true, vertically: true)])
                != flipped)
        var other = source
        other.animation = Frames(pixels: frames)
        #expect(try identity(other, [.flip(horizontally: true, vertically: true)]) != flipped)
        other = source
        other.scale = 2
        #expect(try identity(other, [.flip(horizontally: true, vertically: true)]) != flipped)
        // A reader continues with the next version.
        let shorter = try #require(try partial.processed(by: [.flip(horizontally: true, vertically: true)]).animation)
        let longer = try #require(try source.processed(by: [.flip(horizontally: true, vertically: true)]).animation)
        let reader = try #require(shorter.makeFrameReader() as? any ExtensibleFrameReader)
        #expect(!reader.update(to: whole))
        #expect(reader.update(to: longer))
        #expect(try reader.frame(at: 2, cancellation: nil)[0, 0] == SIMD4(30, 0, 0, 255))
    }

    private struct Frames: AnimationSource {
        var identity = AnimationIdentity()
        let pixels: [PixelBuffer]
        var frameSize: PixelSize { pixels[0].size }
        var frames: [AnimationFrame] {
            pixels.indices.map { AnimationFrame(duration: .milliseconds(100 * ($0 + 1)), isKeyframe: true) }
        }
        var loopCount: Int { 4 }
        var isComplete: Bool { true }
        var byteCount: Int { 0 }
        func makeFrameReader() -> any AnimationFrameReader { Reader(pixels: pixels) }

        final class Reader: ExtensibleFrameReader {
            var pixels: [PixelBuffer]
            init(pixels: [PixelBuffer]) { self.pixels = pixels }
            func update(to source: any AnimationSource) -> Bool {
                guard let longer = source as? Frames else { return false }
                pixels = longer.pixels
                return true
            }
            func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
                pixels[index]
            }
        }
    }
}

/// All processors with extreme input: each makes an image or throws a meaningful error.
@Suite(.timeLimit(.minutes(3))) struct ExtremeInputTests {
    private static let numbers: [Double] = [
        0, -0.0, 1, -1, 0.5, 1e-9, 2.3e-16, -1e-300, .leastNonzeroMagnitude, 1e9, -1e9, 1e19, 1e300,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity, .nan,
    ]

    /// - Parameter other: the second image of some processors.
    private static func processors(_ a: Double, _ b: Double, other: Image) -> [ImageProcessor] {
        let color = Color(red: a, green: b, blue: 0.5, alpha: a)
        let rect = PointRect(x: a, y: b, width: b, height: a)
        let border = Border(width: a, color: Color(red: b, green: 0, blue: 0, alpha: 0.5), join: .bevel)
        return [
            .resize(to: .points(width: a)), .resize(to: .points(height: b), filter: .fast),
            .resize(to: .points(width: 3, height: a)),
            .letterbox(to: .points(width: 3, height: 2), color: color), .crop(toPoints: rect),
            .inset(top: a, left: b, bottom: -a, right: 0, color: color),
            .roundedCorners(topLeft: a, topRight: b, bottomRight: 1, border: border),
            .circle(border: border), .rotate(degrees: a, keepsSize: true),
            .flip(horizontally: true, vertically: true),
            .draw(in: rect, canvas: PointSize(width: 4, height: 3), background: color),
            .draw(
                in: PointRect(x: 0.5, y: 0.5, width: a, height: b), canvas: PointSize(width: 4, height: 3),
                contentMode: .scaleAspectFill, clips: true),
            .blend(other, id: "other", x: a, y: b, mode: .softLight, opacity: 0.5),
            .blend(other, id: "other", opacity: a),
            .overlay(other, id: "other", margin: a, scale: b), .mask(other, id: "other"), .tint(color, mode: .hue),
            .color(saturation: a, brightness: b, contrast: a),
            .colorMatrix(ColorMatrix(alpha: ColorMatrix.Row(red: a, constant: b))),
            .blur(BlurEffect(radius: a, saturation: b, tint: color), mask: other, maskID: "other"),
        ]
    }

    private func expectsImagesOrErrors(of image: Image, numbers: [Double]) throws {
        let other = try EffectPixels(noise: 3, 2, seed: 5).image()
        for a in numbers {
            for b in numbers {
                for processor in Self.processors(a, b, other: other) {
                    do throws(WebImageError) {
                        let result = try EffectPixels(processor.process(image, cancellation: nil))
                        #expect(result.isPremultiplied, "\(processor.identifier)")
                    } catch {
                        switch error {
                        case .processing, .limitExceeded(.side, _), .outOfResources: break
                        default: Issue.record("\(processor.identifier): \(error)")
                        }
                    }
                }
            }
        }
    }

    @Test func survivesExtremeNumbers() throws {
        try expectsImagesOrErrors(of: EffectPixels(noise: 2, 3, seed: 1).image(), numbers: Self.numbers)
    }

    @Test func survivesExtremeScales() throws {
        for scale in Self.numbers {
            try expectsImagesOrErrors(
                of: EffectPixels(noise: 1, 1, seed: 2).image(scale: scale), numbers: [1, 1e-9, 0.5])
        }
    }

    @Test func survivesVeryLongImages() throws {
        for (width, height) in [(30_000, 1), (1, 30_000)] {
            try expectsImagesOrErrors(
                of: EffectPixels(noise: width, height, seed: 3).image(), numbers: [2.5])
        }
    }

    /// An image drawn on a ten-millionth of a billionth of a pixel.
    @Test func survivesAnAlmostEmptyRectangle() throws {
        let image = try EffectPixels(noise: 200, 200, seed: 4, isOpaque: true).image()
        let rect = PointRect(x: 0.5, y: 0.5, width: 2.3e-16, height: 2.3e-16)
        let drawn = try image.drawn(in: rect, canvas: PointSize(width: 2, height: 2))
        #expect(EffectPixels(drawn) == EffectPixels(width: 2, height: 2, pixel: [0, 0, 0, 0]))
    }

    /// A crop shares the memory of a larger image; nothing outside it may be read.
    @Test func partsOfLargerImagesProcessLikeCopies() throws {
        let whole = try EffectPixels(noise: 40, 30, seed: 6).image()
        let part = try whole.cropped(toPixels: PixelRect(x: 3, y: 2, width: 33, height: 27))
        #expect(part.pixels.bytesPerRow > part.width * 4)
        let copy = try EffectPixels(part).image()
        let mask = try EffectPixels(noise: 60, 60, seed: 7).image()
        let other = try mask.cropped(toPixels: PixelRect(x: 5, y: 5, width: 50, height: 50))
        let rect = PointRect(x: 2.25, y: 1.5, width: 20.5, height: 14.25)
        let processors: [ImageProcessor] =
            Self.processors(3, 7, other: other) + [
                .resize(toFill: .points(width: 12, height: 12)),
                .letterbox(to: .points(width: 50, height: 50), color: .white),
                .resize(to: .points(width: 7, height: 7), filter: .nearest), .rotate(degrees: 90),
                .resize(to: .points(width: 7, height: 7), filter: .fast), .rotate(degrees: 33),
                .roundedCorners(radius: 6), .draw(in: rect, canvas: PointSize(width: 30, height: 20)),
                .blur(BlurEffect(radius: 4), mask: other, maskID: "o"), .mask(other, id: "o", usesAlpha: true),
                .blend(part, id: "itself", x: 2, y: 3, mode: .screen),
            ]
        for processor in processors {
            let (one, two) = (
                Result { try EffectPixels(processor.process(part, cancellation: nil)) },
                Result { try EffectPixels(processor.process(copy, cancellation: nil)) }
            )
            switch (one, two) {
            case (.success(let one), .success(let two)): #expect(one == two, "\(processor.identifier)")
            case (.failure, .failure): break
            default: Issue.record("\(processor.identifier): \(one), \(two)")
            }
        }
        #expect(part.averageColor == copy.averageColor)
        #expect(part.dominantColor() == copy.dominantColor())
        #expect(try BlurHash(of: part) == BlurHash(of: copy))
        #expect(try ThumbHash(of: part) == ThumbHash(of: copy))
    }
}
