internal import FoundationEssentials
internal import WebImageCore

/// Makes the pixels of an animation's frames, one after the other.
struct EncodableFrameReader {
    private let animation: EncodableAnimation
    private let format: ImageFormat
    private let maximumDimension: Int
    private let cancellation: Cancellation?
    private var size: PixelSize?
    private var next = 0
    /// For the frames of one source, which are composed on one canvas.
    private var reader: (source: EncodableAnimation.SharedSource, reader: any AnimationFrameReader)?

    /// - Throws: ``WebImageError/encoding(format:reason:)`` where there is no frame, or a duration is negative or no number.
    init(
        _ animation: EncodableAnimation, format: ImageFormat, maximumDimension: Int, cancellation: Cancellation?
    ) throws(WebImageError) {
        guard !animation.frames.isEmpty else { throw .encoding(format: format, reason: .noFrames) }
        if let frame = animation.frames.firstIndex(where: { !$0.duration.isFinite || $0.duration < 0 }) {
            let duration = animation.frames[frame].duration
            throw .encoding(format: format, reason: .duration(duration, frame: frame))
        }
        self.animation = animation
        self.format = format
        self.maximumDimension = maximumDimension
        self.cancellation = cancellation
    }

    /// The next frame's pixels; `nil` behind the last.
    mutating func nextFrame() throws(WebImageError) -> PixelBuffer? {
        guard animation.frames.indices.contains(next) else { return nil }
        try cancellation?.check()
        let pixels = try fitted(pixels(of: animation.frames[next].content))
        if let size {
            guard pixels.size == size else {
                throw .encoding(format: format, reason: .frameSize(pixels.size, frame: next, expected: size))
            }
        } else {
            guard max(pixels.width, pixels.height) <= maximumDimension else {
                throw .encoding(format: format, reason: .tooLarge(pixels.size, maximumDimension: maximumDimension))
            }
            size = pixels.size
        }
        next += 1
        return pixels
    }

    private func fitted(_ pixels: PixelBuffer) throws(WebImageError) -> PixelBuffer {
        guard let bounds = animation.bounds else { return pixels }
        return try pixels.resampled(to: bounds.targetSize(of: pixels.size), cancellation: cancellation)
    }

    private mutating func pixels(of content: EncodableAnimation.Frame.Content) throws(WebImageError) -> PixelBuffer {
        switch content {
        case .pixels(let pixels): return pixels
        case .data(let data, let registry): return try decoded(data, by: registry)
        case .file(let file, let registry):
            return try decoded(Data(contentsOfRegularFile: file.path(percentEncoded: false)), by: registry)
        case .part(let source, let index):
            if reader?.source !== source { reader = (source, source.source.makeFrameReader()) }
            guard let reader = reader?.reader else { throw .encoding(format: format, reason: .noFrames) }
            return try reader.frame(at: index, cancellation: cancellation)
        }
    }

    private func decoded(_ data: Data, by registry: CodecRegistry) throws(WebImageError) -> PixelBuffer {
        let options = DecodingOptions(
            thumbnail: animation.bounds, firstFrameOnly: true, damage: .refuse, cancellation: cancellation)
        return try registry.decode(data, options: options).pixels
    }
}
