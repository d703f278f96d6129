import Foundation
import Testing
import WebImageCore
import WebImageProcessing
import WebImageTestSupport

@Suite struct ProcessingTests {
    private func size(_ width: Double, _ height: Double) -> PointSize { PointSize(width: width, height: height) }

    @Test func keepsWhatBelongsToThePictureButItsBytes() throws {
        var source = try GeometryFixture.source(scale: 2)
        source.format = .png
        source.data = Data([1, 2, 3])
        source.extendedData = Data([4])
        let result = try source.processed(by: [.resize(to: size(5, 5)), .circle()])
        #expect(result.format == .png)
        #expect(result.scale == 2)
        #expect(result.extendedData == Data([4]))
        #expect(result.data == nil)
        #expect(result.isTransformed)
        #expect(!source.isTransformed)
    }

    @Test func runsChainsOfFifty() throws {
        let source = try GeometryFixture.source()
        let turns = [any ImageProcessor](repeating: .rotate(clockwise: .degrees(90)), count: 48)
        let flips: [any ImageProcessor] = [.flip(.horizontal), .flip(.horizontal)]
        let chain = ProcessorChain(turns + flips)
        #expect(chain.processors.count == 50)
        #expect(try chain.process(source, cancellation: nil).pixels.bytes == source.pixels.bytes)
        let mixed = (0..<50).map { index -> any ImageProcessor in
            switch index % 5 {
            case 0: .inset(by: PointInsets(-3), color: .white)
            case 1: .rotate(clockwise: .degrees(Double(index)))
            case 2: .roundedCorners(radius: 9, border: Border(width: 1, color: .black))
            case 3: .resize(to: size(50, 40), mode: .letterbox(.clear))
            default: .crop(to: PointRect(x: 1, y: 1, width: 45, height: 36))
            }
        }
        let result = try source.processed(by: mixed)
        #expect(result.pixels.size == PixelSize(width: 45, height: 36))
        #expect(result.pixels.isPremultiplied)
    }

    @Test func dropsAllWhereOneStepFails() throws {
        let failing = ImageProcessors.Crop(to: PointRect(x: 99, y: 0, width: 1, height: 1))
        #expect(
            throws: WebImageError.processing(identifier: failing.identifier.description, reason: .emptyResult)
        ) { try GeometryFixture.source().processed(by: [.circle(), failing, .flip(.both)]) }
    }

    @Test func stopsWhenCancelled() throws {
        let source = try flat(700, 700)
        let processors: [any ImageProcessor] = [
            .resize(to: size(600, 300), mode: .stretch), .resize(to: size(90, 90), filter: .fast),
            .resize(to: size(700, 800), mode: .letterbox(.black)), .rotate(clockwise: .degrees(90)),
            .rotate(clockwise: .degrees(30)), .flip(.vertical), .roundedCorners(radius: 20), .circle(),
            .inset(by: PointInsets(-5)),
            .draw(in: PointRect(x: 0, y: 0, width: 500, height: 500), canvas: size(600, 600)),
        ]
        for processor in processors {
            let cancellation = Cancellation()
            cancellation.cancel()
            #expect(throws: WebImageError.cancelled, "\(processor.identifier)") {
                try processor.process(source, cancellation: cancellation)
            }
            // And somewhere in the middle.
            let looks = Lock(0)
            let later = Cancellation { cancellation in
                if looks.withLock({ count -> Bool in
                    count += 1
                    return count == 3
                }) {
                    cancellation.cancel()
                }
            }
            #expect(throws: WebImageError.cancelled, "\(processor.identifier)") {
                try processor.process(source, cancellation: later)
            }
        }
    }

    @Test func runsOffTheCooperativeThreads() async throws {
        let source = try GeometryFixture.source()
        let result = try await source.processed(by: [.resize(to: size(10, 10), mode: .stretch)])
        #expect(result.pixels.size == PixelSize(width: 10, height: 10))
        let cancelled = Task {
            try await source.processed(by: [.resize(to: PointSize(width: 9_000, height: 9_000), mode: .stretch)])
        }
        cancelled.cancel()
        await #expect(throws: WebImageError.cancelled) { try await cancelled.value }
    }

    @Test func processesEachFrameOfAnAnimation() throws {
        let frames = try (1...3).map { try flat(20, 10, [UInt8($0 * 10), 0, 0, 255]).pixels }
        var source = Image(pixels: frames[0], scale: 2, format: .gif, frameCount: 3)
        source.animation = Frames(pixels: frames)
        let result = try source.processed(by: [
            .rotate(clockwise: .degrees(90)), .crop(to: PointRect(x: 0, y: 0, width: 5, height: 5)),
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
        let still = try source.processed(by: [.flip(.both)], animation: .firstFrame)
        #expect(still.animation == nil)
        #expect(still.pixels[0, 0] == SIMD4(10, 0, 0, 255))
    }

    @Test func theSameDoneToOneAnimationIsOneAnimation() throws {
        let frames = try (1...3).map { try flat(20, 10, [UInt8($0 * 10), 0, 0, 255]).pixels }
        var source = Image(pixels: frames[0], scale: 1, format: .gif, frameCount: 3)
        let whole = Frames(pixels: frames)
        let arriving = Frames(identity: whole.identity, pixels: Array(frames.prefix(2)))
        source.animation = whole
        var partial = source
        partial.animation = arriving
        func identity(_ image: Image, _ processors: [any ImageProcessor]) throws -> AnimationIdentity {
            try #require(try image.processed(by: processors).animation).identity
        }
        let flipped = try identity(source, [.flip(.both)])
        #expect(try identity(source, [.flip(.both)]) == flipped)
        #expect(try identity(partial, [.flip(.both)]) == flipped, "a version of it that has fewer frames so far")
        #expect(flipped != whole.identity)
        #expect(try identity(source, [.flip(.horizontal)]) != flipped)
        #expect(try identity(source, [.flip(.both), .flip(.both)]) != flipped)
        var other = source
        other.animation = Frames(pixels: frames)
        #expect(try identity(other, [.flip(.both)]) != flipped)
        other = source
        other.scale = 2
        #expect(try identity(other, [.flip(.both)]) != flipped)
        // A canvas goes over from one version to the next.
        let shorter = try #require(try partial.processed(by: [.flip(.both)]).animation)
        let longer = try #require(try source.processed(by: [.flip(.both)]).animation)
        let reader = shorter.makeFrameReader()
        #expect(!reader.goOn(with: whole))
        #expect(reader.goOn(with: longer))
        #expect(try reader.frame(at: 2, cancellation: nil)[0, 0] == SIMD4(30, 0, 0, 255))
    }

    private struct Frames: AnimationSource {
        var identity = AnimationIdentity()
        let pixels: [PixelBuffer]
        var frameSize: PixelSize { pixels[0].size }
        var frames: [AnimationFrame] {
            pixels.indices.map { AnimationFrame(duration: 0.1 * Double($0 + 1), isKeyframe: true) }
        }
        var loopCount: Int { 4 }
        var isComplete: Bool { true }
        var byteCount: Int { 0 }
        func makeFrameReader() -> any AnimationFrameReader { Reader(pixels: pixels) }

        final class Reader: AnimationFrameReader {
            var pixels: [PixelBuffer]
            init(pixels: [PixelBuffer]) { self.pixels = pixels }
            func goOn(with source: any AnimationSource) -> Bool {
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
