public import FoundationEssentials
public import WebImageCore

/// An animation to encode: a list of frames, decoded one at a time and not kept.
///
/// ```swift
/// var animation = EncodableAnimation(loopCount: 3)
/// animation.append(logo, duration: .seconds(2))
/// animation.append(image)                               // every frame of a GIF, with its duration
/// let data = try CodecRegistry.shared.encode(animation, as: .webp)
/// ```
public struct EncodableAnimation: Sendable {
    /// In display order; all of one size.
    public internal(set) var frames: [Frame]
    /// How often it plays; 0, the default, or less means forever. Clamped to what the format supports (65,536 in GIF,
    /// 65,535 in WebP, 2,147,483,647 in PNG).
    public var loopCount: Int
    /// Whether all frames are known to be opaque, besides what ``mayHaveAlpha`` finds out.
    public var isOpaque = false
    /// The box in which every frame is fitted.
    var bounds: Thumbnail?

    /// An image and its duration.
    public struct Frame: Sendable {
        /// Not negative. As in browsers, 10 ms or less means 100 ms. Formats round it (GIF to 10 ms, at least 20 ms; WebP
        /// to 1 ms); rounding errors do not add up.
        public internal(set) var duration: Duration
        let content: Content

        enum Content: Sendable {
            case pixels(PixelBuffer)
            case data(Data, CodecRegistry)
            case part(of: SharedSource, index: Int)
        }
    }

    /// Shared by all frames of one animation, which are read by one reader.
    final class SharedSource: Sendable {
        let source: any AnimationSource
        init(_ source: any AnimationSource) { self.source = source }
    }

    /// Creates an animation without frames.
    public init(loopCount: Int = 0) {
        frames = []
        self.loopCount = loopCount
    }

    /// Creates an animation with all frames, durations and plays of `animation`.
    public init(_ animation: any AnimationSource) {
        self.init(loopCount: animation.loopCount)
        append(contentsOf: animation)
    }

    /// Appends an image, or all frames of an animated one.
    ///
    /// - Parameter duration: not negative. As in browsers, 10 ms or less means 100 ms. Formats round it (GIF to 10 ms, at
    ///   least 20 ms; WebP to 1 ms); rounding errors do not add up. By default, frames of an animated image keep their
    ///   durations, and a still gets 100 ms; with a duration, the first frame of an animated image is appended.
    public mutating func append(_ image: Image, duration: Duration? = nil) {
        if duration == nil, let animation = image.animation { return append(contentsOf: animation) }
        frames.append(Frame(duration: duration ?? .milliseconds(100), content: .pixels(image.pixels)))
    }

    /// Appends an encoded image in any format that `registry` reads, or the first frame of an animated one. It is
    /// decoded when the animation is encoded; data mapped from a file takes no memory until then.
    ///
    /// - Parameter duration: as in ``append(_:duration:)-(Data,_)``.
    public mutating func append(_ data: Data, duration: Duration, registry: CodecRegistry) {
        frames.append(Frame(duration: duration, content: .data(data, registry)))
    }

    /// Whether a frame may have a pixel that is not opaque; reads the headers of files. What an animation's frames contain is not known
    /// before they are decoded.
    public var mayHaveAlpha: Bool {
        !isOpaque
            && frames.contains { frame in
                switch frame.content {
                case .pixels(let pixels): !pixels.isOpaque
                case .data(let data, let registry): (try? registry.info(of: data))?.hasAlpha != false
                case .part: true
                }
            }
    }

    /// Appends all frames of `animation`, with their durations.
    mutating func append(contentsOf animation: any AnimationSource) {
        let source = SharedSource(animation)
        frames += animation.frames.enumerated().map { index, frame in
            Frame(duration: frame.duration, content: .part(of: source, index: index))
        }
    }
}

/// Decodes the frames of an animation in order.
package struct EncodableFrameReader {
    private let animation: EncodableAnimation
    private let format: ImageFormat
    private let maximumDimension: Int
    private let cancellation: Cancellation?
    private var size: PixelSize?
    private var next = 0
    /// Composes consecutive frames of one source on one canvas.
    private var reader: (source: EncodableAnimation.SharedSource, reader: any AnimationFrameReader)?

    /// - Throws: ``WebImageError/encoding(format:reason:)`` if there is no frame, or a duration is negative.
    package init(
        _ animation: EncodableAnimation, format: ImageFormat, maximumDimension: Int, cancellation: Cancellation?
    ) throws(WebImageError) {
        guard !animation.frames.isEmpty else { throw .invalidFrames(reason: .none) }
        if let frame = animation.frames.firstIndex(where: { $0.duration < .zero }) {
            let duration = animation.frames[frame].duration
            throw .invalidFrames(reason: .duration(duration, frame: frame))
        }
        self.animation = animation
        self.format = format
        self.maximumDimension = maximumDimension
        self.cancellation = cancellation
    }

    /// Returns the next frame's pixels; `nil` after the last.
    package mutating func nextFrame() throws(WebImageError) -> PixelBuffer? {
        guard animation.frames.indices.contains(next) else { return nil }
        try cancellation?.check()
        let pixels = try fitted(pixels(of: animation.frames[next].content))
        if let size {
            guard pixels.size == size else {
                throw .invalidFrames(reason: .size(pixels.size, frame: next, expected: size))
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
        case .part(let source, let index):
            if reader?.source !== source {
                try checkMemory(for: source.source)
                reader = (source, source.source.makeFrameReader())
            }
            guard let reader = reader?.reader else { throw .invalidFrames(reason: .none) }
            return try reader.frame(at: index, cancellation: cancellation)
        }
    }

    /// Encoders hold several frames: those before and after the one that is written, what differs, and what the format's
    /// library holds. A small file can have frames of 100 megapixels.
    ///
    /// - Throws: ``WebImageError/LimitFailure/memory(byteCount:limit:)`` if they take more than half of what decoding may.
    private func checkMemory(for source: any AnimationSource) throws(WebImageError) {
        let limit = ((source as? any LimitedAnimation)?.limits ?? .default).memoryByteCount / 2
        guard animation.frames.count > 1 else { return }
        let size = animation.bounds?.targetSize(of: source.frameSize) ?? source.frameSize
        let byteCount = size.pixelByteCount * Self.heldFrameCount
        if byteCount > limit { throw .limitExceeded(reason: .memory(byteCount: byteCount, limit: limit)) }
    }

    /// The maximum that was measured for GIF, PNG and WebP, rounded up.
    private static let heldFrameCount = 8

    private func decoded(_ data: Data, by registry: CodecRegistry) throws(WebImageError) -> PixelBuffer {
        let options = DecodingOptions(
            thumbnail: animation.bounds, firstFrameOnly: true, allowsDamage: false, cancellation: cancellation)
        return try registry.decode(data, options: options).pixels
    }
}

/// Converts durations to whole units without accumulating rounding errors: thirds of a second become 33, 34 and 33
/// hundredths.
package struct FrameClock {
    private let unitsPerSecond: Double
    private let range: ClosedRange<Int>
    private var owed = 0.0

    /// - Parameters:
    ///   - minimum: the shortest duration that players respect; they show shorter ones for a tenth of a second.
    ///   - maximum: the longest duration that the format supports.
    package init(unitsPerSecond: Int, minimum: Int, maximum: Int) {
        self.unitsPerSecond = Double(unitsPerSecond)
        range = minimum...maximum
    }

    /// Returns the units of the next frame.
    package mutating func units(for duration: Duration) -> Int {
        let exact = FrameDuration.played(duration).inExactSeconds * unitsPerSecond + owed
        let units = exact < Double(range.upperBound) ? max(Int(exact.rounded()), range.lowerBound) : range.upperBound
        // Clamping is not carried over: a long frame must not shorten a hundred others.
        owed = min(max(exact - Double(units), -0.5), 0.5)
        return units
    }
}
