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
        #expect(processed.animation?.decodingLimits?.memoryByteCount == 99 << 20)
    }

    @Test func preloadedFramesHaveTheLimitsOfTheirSource() throws {
        let preloaded = try image.preloadingFrames(cancellation: nil)
        #expect(preloaded.animation is PreloadedAnimation)
        #expect(preloaded.animation?.decodingLimits?.memoryByteCount == 99 << 20)
    }
}
