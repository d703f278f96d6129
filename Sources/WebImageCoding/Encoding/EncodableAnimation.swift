public import FoundationEssentials
public import WebImageCore

/// A moving picture to be written: a list of frames, which are decoded when their turn comes and not kept.
///
/// ```swift
/// var animation = EncodableAnimation(loopCount: 3)
/// animation.append(title, duration: 2)                  // an Image
/// animation.append(contentsOf: clip.animation)          // every frame of a GIF, with its duration
/// animation.frames.reverse()
/// let data = try CodecRegistry.shared.encode(animation, as: .webp)
/// ```
public struct EncodableAnimation: Sendable {
    /// In the order in which they are shown; all of one size.
    public var frames: [Frame]
    /// How often it plays; 0, the default, for ever, as does less. More than the format holds (65,536 in GIF, 65,535 in
    /// WebP, 2,147,483,647 in PNG) becomes what it holds.
    public var loopCount: Int
    /// The box in which every frame is fitted.
    var bounds: Thumbnail?

    /// One picture, and how long it is shown.
    public struct Frame: Sendable {
        /// In seconds: 0 or more. As browsers do, 0.01 and less mean 0.1. Formats round it to what they count in (GIF
        /// hundredths, at least 2 of them, WebP thousandths); roundings do not add up from frame to frame.
        public var duration: Double
        let content: Content

        enum Content: Sendable {
            case pixels(PixelBuffer)
            case data(Data, CodecRegistry)
            case file(URL, CodecRegistry)
            case part(of: SharedSource, index: Int)
        }
    }

    /// The same object for all frames of one animation, which are read by one reader.
    final class SharedSource: Sendable {
        let source: any AnimationSource
        init(_ source: any AnimationSource) { self.source = source }
    }

    /// Makes an animation of `frames`.
    public init(frames: [Frame] = [], loopCount: Int = 0) {
        self.frames = frames
        self.loopCount = loopCount
    }

    /// All frames of `animation`, with their durations and plays.
    public init(_ animation: any AnimationSource) {
        self.init(loopCount: animation.loopCount)
        append(contentsOf: animation)
    }

    /// All frames of `image`; of a still, the one that it is.
    public init(_ image: Image) {
        if let animation = image.animation {
            self.init(animation)
        } else {
            self.init()
            append(image, duration: 0)
        }
    }

    /// Adds a picture, or the first frame of one that moves.
    ///
    /// - Parameter duration: in seconds; see ``Frame/duration``.
    public mutating func append(_ image: Image, duration: Double) {
        frames.append(Frame(duration: duration, content: .pixels(image.pixels)))
    }

    /// Adds a picture in any format that `registry` reads, or the first frame of one that moves.
    ///
    /// - Parameter duration: in seconds; see ``Frame/duration``.
    public mutating func append(_ data: Data, duration: Double, registry: CodecRegistry = .shared) {
        frames.append(Frame(duration: duration, content: .data(data, registry)))
    }

    /// Adds a picture in a file, which is read when its turn comes, with `registry`.
    ///
    /// - Parameter duration: in seconds; see ``Frame/duration``.
    public mutating func append(contentsOfFile file: URL, duration: Double, registry: CodecRegistry = .shared) {
        frames.append(Frame(duration: duration, content: .file(file, registry)))
    }

    /// Adds all frames of `animation`, with their durations.
    public mutating func append(contentsOf animation: any AnimationSource) {
        let source = SharedSource(animation)
        frames += animation.frames.enumerated().map { index, frame in
            Frame(duration: frame.duration, content: .part(of: source, index: index))
        }
    }
}

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

/// Turns seconds into whole units, frame by frame, so that roundings do not add up: of a third of a second each, in
/// hundredths, come 33, 34 and 33.
struct FrameClock {
    private let unitsPerSecond: Double
    private let range: ClosedRange<Int>
    private var owed = 0.0

    /// - Parameters:
    ///   - minimum: the shortest that players show as it is: what is less they take for a tenth of a second.
    ///   - maximum: the longest that the format holds.
    init(unitsPerSecond: Int, minimum: Int, maximum: Int) {
        self.unitsPerSecond = Double(unitsPerSecond)
        range = minimum...maximum
    }

    /// The units for the next frame.
    mutating func units(for seconds: Double) -> Int {
        let exact = FrameDuration.played(seconds) * unitsPerSecond + owed
        let units = exact < Double(range.upperBound) ? max(Int(exact.rounded()), range.lowerBound) : range.upperBound
        // What the range takes or adds is not owed: a long frame must not pay for a hundred short ones.
        owed = min(max(exact - Double(units), -0.5), 0.5)
        return units
    }
}
