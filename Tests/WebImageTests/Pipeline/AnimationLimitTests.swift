import Testing
import WebImageCoding
import WebImageCore
import WebImageProcessing
import WebImageTestSupport

@testable import WebImage

/// What is made of an animation has the limits of its decode, so that encoders hold its frames within them.
@Suite(.timeLimit(.minutes(1))) struct AnimationLimitTests {
    private let image: Image

    init() throws {
        var options = DecodingOptions()
        options.limits.memoryByteCount = 99 << 20
        image = try CodecRegistry().decode(TestAnimation.gif([1, 2, 3]), options: options)
    }

    @Test func processedFramesHaveTheLimitsOfTheirSource() throws {
        let processed = try image.processed(by: [.flip(horizontally: true)])
        #expect((processed.animation as? any LimitedAnimation)?.limits?.memoryByteCount == 99 << 20)
    }

    @Test func preloadedFramesHaveTheLimitsOfTheirSource() throws {
        let preloaded = try image.preloadingFrames(cancellation: nil)
        #expect(preloaded.animation is PreloadedAnimation)
        #expect((preloaded.animation as? any LimitedAnimation)?.limits?.memoryByteCount == 99 << 20)
    }

    @Test func framesBeyondTheLimitOfTheirSourceAreNotPreloaded() throws {
        let size = PixelSize(width: 100, height: 100)
        var frames = EncodableAnimation(loopCount: 0)
        for number in 1...10 { frames.append(try SolidPicture(number, size: size).png(), duration: .milliseconds(100)) }
        let data = try CodecRegistry().encode(frames, as: .gif)
        let byteCount = size.pixelCount * 4 * 10
        var options = DecodingOptions()
        for (limit, isPreloaded) in [(byteCount, true), (byteCount - 1, false)] {
            options.limits.memoryByteCount = limit
            let image = try CodecRegistry().decode(data, options: options)
            let animation = try image.preloadingFrames(cancellation: nil).animation
            #expect((animation is PreloadedAnimation) == isPreloaded && animation?.frameCount == 10)
        }
    }
}
