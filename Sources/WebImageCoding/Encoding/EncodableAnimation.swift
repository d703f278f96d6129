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
