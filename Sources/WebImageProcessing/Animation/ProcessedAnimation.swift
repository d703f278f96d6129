internal import WebImageCore

/// An animation whose frames are processed as they are asked for; their count, durations and plays stay.
struct ProcessedAnimation: AnimationSource {
    let identity = AnimationIdentity()
    private let source: any AnimationSource
    private let processor: any PixelProcessor
    private let scale: Double
    let frameSize: PixelSize

    /// - Parameter frameSize: what the processor makes of a frame.
    init(_ source: any AnimationSource, processor: any PixelProcessor, scale: Double, frameSize: PixelSize) {
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
        Reader(source: source.makeFrameReader(), processor: processor, scale: scale)
    }

    private final class Reader: AnimationFrameReader {
        private let source: any AnimationFrameReader
        private let processor: any PixelProcessor
        private let scale: Double

        init(source: any AnimationFrameReader, processor: any PixelProcessor, scale: Double) {
            self.source = source
            self.processor = processor
            self.scale = scale
        }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            let frame = try source.frame(at: index, cancellation: cancellation)
            return try processor.process(frame, in: ProcessingContext(scale: scale, cancellation: cancellation))
        }
    }
}
