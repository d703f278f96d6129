import WebImage

/// An animation of one-coloured frames.
struct TestAnimation: AnimationSource {
    let identity: AnimationIdentity
    let swatches: [Swatch]
    let frames: [AnimationFrame]
    let loopCount: Int
    var isComplete = true
    var frameSize: PixelSize { PixelSize(width: 4, height: 2) }
    var byteCount: Int { 0 }
    private let decodedFrames = Lock(0)

    init(
        _ swatches: [Swatch], frameDuration: Double = 0.02, loopCount: Int = 0,
        identity: AnimationIdentity = AnimationIdentity(), isComplete: Bool = true
    ) {
        self.swatches = swatches
        self.identity = identity
        self.loopCount = loopCount
        self.isComplete = isComplete
        frames = swatches.map { _ in AnimationFrame(duration: frameDuration, isKeyframe: true) }
    }

    /// How many frames have been decoded.
    var decodedFrameCount: Int { decodedFrames.withLock { $0 } }

    func image() throws -> Image {
        var image = try swatches[0].image()
        image.animation = self
        image.frameCount = swatches.count
        return image
    }

    func makeFrameReader() -> any AnimationFrameReader { Reader(source: self) }

    private final class Reader: AnimationFrameReader {
        let source: TestAnimation

        init(source: TestAnimation) { self.source = source }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            source.decodedFrames.withLock { $0 += 1 }
            return try source.swatches[index].image().pixels
        }
    }
}
