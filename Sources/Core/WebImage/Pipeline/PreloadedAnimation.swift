import WebImageCoding
import WebImageCore

/// An animation with decoded frames.
struct PreloadedAnimation: LimitedAnimation {
    let identity: AnimationIdentity
    let frameSize: PixelSize
    let frames: [AnimationFrame]
    let loopCount: Int
    let byteCount: Int
    let limits: DecodingLimits?
    private let pictures: [PixelBuffer]

    var isComplete: Bool { true }

    /// The maximum size of the decoded frames, in bytes. The source's own memory limit applies if it is lower.
    static let byteLimit = 256 << 20

    /// Decodes all frames of `source`. Returns `nil` if they would exceed ``byteLimit`` or the source's own memory
    /// limit.
    init?(_ source: any AnimationSource, cancellation: Cancellation?) throws(WebImageError) {
        let byteCount = source.frameSize.pixelCount.multipliedReportingOverflow(by: 4 * source.frameCount)
        let byteLimit = min(Self.byteLimit, (source as? any LimitedAnimation)?.limits?.memoryByteCount ?? .max)
        guard !byteCount.overflow, byteCount.partialValue <= byteLimit else { return nil }
        let reader = source.makeFrameReader()
        var pictures: [PixelBuffer] = []
        for index in source.frames.indices {
            try cancellation?.check()
            pictures.append(try reader.frame(at: index, cancellation: cancellation))
        }
        self.pictures = pictures
        // The frames are the same, so players of both share decoded frames.
        identity = source.identity
        frameSize = source.frameSize
        frames = source.frames.map { AnimationFrame(duration: $0.duration, isKeyframe: true, part: $0.part) }
        loopCount = source.loopCount
        limits = (source as? any LimitedAnimation)?.limits
        self.byteCount = source.byteCount + pictures.reduce(0) { $0 + $1.byteCount }
    }

    func makeFrameReader() -> any AnimationFrameReader { Reader(pictures) }

    private final class Reader: AnimationFrameReader {
        private let pictures: [PixelBuffer]
        init(_ pictures: [PixelBuffer]) { self.pictures = pictures }
        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer { pictures[index] }
    }
}

extension Image {
    /// Returns the image with the frames of its animation decoded; unchanged if it has no animation or the frames
    /// exceed the limit.
    func preloadingFrames(cancellation: Cancellation?) throws(WebImageError) -> Image {
        guard let animation, let preloaded = try PreloadedAnimation(animation, cancellation: cancellation) else {
            return self
        }
        var image = self
        image.animation = preloaded
        return image
    }
}
