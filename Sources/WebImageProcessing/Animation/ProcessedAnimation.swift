internal import WebImageCore

/// An animation whose frames are processed as they are asked for; their count, durations and plays stay.
struct ProcessedAnimation: AnimationSource {
    /// Two of one source, or of two versions of it, share frames if the same is done to them.
    let identity: AnimationIdentity
    private let source: any AnimationSource
    private let processor: any PixelProcessor
    private let scale: Double
    let frameSize: PixelSize

    /// - Parameter frameSize: what the processor makes of a frame.
    init(_ source: any AnimationSource, processor: any PixelProcessor, scale: Double, frameSize: PixelSize) {
        identity = source.identity.changed(
            by: "\(processor.identifier)@\(scale) \(frameSize.width)x\(frameSize.height)")
        self.source = source
        self.processor = processor
        self.scale = scale
        self.frameSize = frameSize
    }

    var frames: [AnimationFrame] { source.frames }
    var loopCount: Int { source.loopCount }
    var isComplete: Bool { source.isComplete }
    var byteCount: Int { source.byteCount }

    func makeFrameReader() -> any AnimationFrameReader {
        Reader(self)
    }

    private final class Reader: AnimationFrameReader {
        private let animation: ProcessedAnimation
        private let source: any AnimationFrameReader

        init(_ animation: ProcessedAnimation) {
            self.animation = animation
            source = animation.source.makeFrameReader()
        }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            let frame = try source.frame(at: index, cancellation: cancellation)
            return try animation.processor.process(
                frame, in: ProcessingContext(scale: animation.scale, cancellation: cancellation))
        }

        func goOn(with source: any AnimationSource) -> Bool {
            guard let longer = source as? ProcessedAnimation, longer.identity == animation.identity else {
                return false
            }
            return self.source.goOn(with: longer.source)
        }
    }
}
