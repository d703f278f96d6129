public import FoundationEssentials
public import WebImageCoding
public import WebImageCore

/// A picture that may move: its frames, and one of them to be shown before they play.
///
/// The frames come from any ``WebImageCore/AnimationSource``: that of a GIF, PNG or WebP, a ``FrameSequenceImage``, a
/// ``SpriteSheetImage`` or one of your own. A still is an animation of one frame. An ``AnimationPlayer`` plays it.
///
/// ```swift
/// let image = AnimatedImage(try await WebImageManager.shared.image(at: url))
/// let player = AnimationPlayer(image)
/// ```
public struct AnimatedImage: Sendable {
    /// The frames.
    public let source: any AnimationSource
    /// The picture to show before the frames play: mostly the first one.
    public let poster: PixelBuffer
    /// Pixels in a point.
    public let scale: Double
    /// The format it was decoded from; `nil` for one that was made in memory.
    public let format: ImageFormat?
    /// Whether ``poster`` is what the source has for its first frame, so that it need not be decoded again.
    let posterIsFirstFrame: Bool

    /// The animation of a picture that was loaded or decoded, or the picture itself as its only frame.
    public init(_ image: Image) {
        // One without frames breaks its own rules; it is not to break a player.
        let animation = image.animation.flatMap { $0.frameCount > 0 ? $0 : nil }
        source = animation ?? StillSource(image.pixels)
        poster = image.pixels
        scale = image.scale
        format = image.format
        posterIsFirstFrame =
            animation == nil
            || !image.isTransformed && !image.isPartial && image.pixels.size == animation?.frameSize
    }

    /// The animation of `source`, whose first frame it decodes; blocks the calling thread for as long as that takes.
    ///
    /// - Throws: what ``WebImageCore/AnimationFrameReader/frame(at:cancellation:)`` throws, and
    ///   ``WebImageCore/WebImageError/invalidAnimation(reason:)`` for a source without frames.
    public init(
        _ source: any AnimationSource, scale: Double = 1, cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        guard source.frameCount > 0 else { throw .invalidAnimation(reason: .noFrames) }
        self.source = source
        poster = try source.makeFrameReader().frame(at: 0, cancellation: cancellation)
        self.scale = scale
        format = nil
        posterIsFirstFrame = true
    }

    /// Decodes the first frame of `data`; blocks the calling thread for as long as that takes.
    ///
    /// - Throws: what ``WebImageCoding/CodecRegistry/decode(_:options:)`` throws.
    public init(
        data: Data, registry: CodecRegistry = .shared, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) {
        self.init(try registry.decode(data, options: options))
    }

    /// The same as a picture, to be cached, shown or encoded; its ``WebImageCore/Image/animation`` is ``source``.
    public var image: Image {
        Image(
            pixels: poster, scale: scale, format: format, frameCount: source.frameCount,
            animation: isAnimated || !source.isComplete ? source : nil)
    }

    /// Whether there is more than one frame so far.
    public var isAnimated: Bool { source.frameCount > 1 }

    /// The memory it keeps by itself, in bytes: the poster, and what the source keeps. Decoded frames are in a
    /// ``FramePool``, which has its own account.
    public var memoryCost: Int { poster.byteCount + source.byteCount }

    /// What all frames would take decoded, in bytes; `Int.max` when that does not fit.
    public var decodedByteCount: Int {
        let (count, overflow) = source.frameByteCount.multipliedReportingOverflow(by: source.frameCount)
        return overflow ? .max : count
    }
}

extension AnimationSource {
    /// A decoded frame's size in bytes, as far as can be told before.
    var frameByteCount: Int { frameSize.decodedByteCount }
}

extension PixelSize {
    /// What so many pixels take, in bytes; no more than any machine has, so that a few of them can be added.
    var decodedByteCount: Int { min(pixelCount, 1 << 48) * 4 }
}
