public import FoundationEssentials
public import WebImageCoding
public import WebImageCore
public import WebImageIsolation

/// An image that may be animated: a source of frames, and a poster to show before they play. A still is an animation of
/// one frame.
package struct AnimatedImage: Sendable {
    /// The frames.
    package let source: any AnimationSource
    /// The image to show before the frames play, usually the first frame.
    package let poster: PixelBuffer
    package let scale: Double
    package let format: ImageFormat?
    /// Whether `poster` is the decoded first frame, so that it need not be decoded again.
    let posterIsFirstFrame: Bool

    /// Makes the animation of an image, or a still as its only frame.
    package init(_ image: Image) {
        // Protects players from an invalid source.
        let animation = image.animation.flatMap { $0.frameCount > 0 ? $0 : nil }
        source = animation ?? StillSource(image.pixels)
        poster = image.pixels
        scale = image.scale
        format = image.format
        posterIsFirstFrame =
            animation == nil
            || !image.isTransformed && !image.isPartial && image.pixels.size == animation?.frameSize
    }

    /// Makes the animation of `source` and decodes its first frame. Blocks the calling thread.
    package init(
        _ source: any AnimationSource, scale: Double = 1, cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        guard source.frameCount > 0 else { throw .invalidFrames(reason: .none) }
        self.source = source
        poster = try source.makeFrameReader().frame(at: 0, cancellation: cancellation)
        self.scale = scale
        format = nil
        posterIsFirstFrame = true
    }

    /// Decodes the first frame of `data`. Blocks the calling thread.
    package init(
        data: Data, registry: CodecRegistry = .shared, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) {
        self.init(try registry.decode(data, options: options))
    }

    package init(
        files: [String], durations: [Duration], loopCount: Int = 0, thumbnail: Thumbnail? = nil, scale: Double = 1,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        let source = try FrameSequence(
            files.map(EncodedImage.file), durations: durations, loopCount: loopCount, thumbnail: thumbnail,
            registry: registry)
        try self.init(source, scale: scale)
    }

    package init(
        frames: [Data], durations: [Duration], loopCount: Int = 0, thumbnail: Thumbnail? = nil, scale: Double = 1,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        let source = try FrameSequence(
            frames.map(EncodedImage.data), durations: durations, loopCount: loopCount, thumbnail: thumbnail,
            registry: registry)
        try self.init(source, scale: scale)
    }

    package init(
        spriteSheet sheet: PixelBuffer, contentRects: [PixelRect], durations: [Duration], loopCount: Int = 0,
        scale: Double = 1
    ) throws(WebImageError) {
        let source = try SpriteSheet(
            sheet: sheet, contentRects: contentRects, durations: durations, loopCount: loopCount)
        try self.init(source, scale: scale)
    }

    package init(
        spriteSheet sheet: PixelBuffer, columns: Int, rows: Int, frameCount: Int? = nil, frameDuration: Duration,
        loopCount: Int = 0, scale: Double = 1
    ) throws(WebImageError) {
        let source = try SpriteSheet(
            sheet: sheet, columns: columns, rows: rows, frameCount: frameCount, frameDuration: frameDuration,
            loopCount: loopCount)
        try self.init(source, scale: scale)
    }

    /// This as an image, to be cached, shown or encoded; its ``Image/animation`` has the frames.
    package var image: Image {
        Image(
            pixels: poster, scale: scale, format: format, frameCount: source.frameCount,
            animation: isAnimated || !source.isComplete ? source : nil)
    }

    package var isAnimated: Bool { source.frameCount > 1 }

    /// The memory of the poster and the source, in bytes. Frames are counted by ``FramePools``.
    package var memoryCost: Int { poster.byteCount + source.byteCount }

    /// The size of all decoded frames, in bytes, clamped.
    package var decodedByteCount: Int {
        let (count, overflow) = source.frameByteCount.multipliedReportingOverflow(by: source.frameCount)
        return overflow ? .max : count
    }
}

extension Image {
    /// Makes an animation of image files, and decodes the first one. Reads the beginning of each file and blocks the
    /// calling thread.
    ///
    /// Frames are read and decoded when needed, so the files must stay where they are. Of animated files, the first
    /// frame is used.
    ///
    /// - Parameters:
    ///   - files: paths of images of the same size, in any format of `registry`.
    ///   - durations: of each frame, or one for all. As in GIFs, 10 ms and less mean 100 ms.
    ///   - loopCount: 0, the default, loops forever.
    ///   - thumbnail: the size of the frames; `nil`, the default, for full size.
    ///   - scale: pixels per point.
    /// - Throws: ``WebImageError/invalidFrames(reason:)`` for invalid durations or frames of several
    ///   sizes; ``WebImageError/file(path:errno:)``; the errors of decoding.
    public init(
        files: [String], durations: [Duration], loopCount: Int = 0, thumbnail: Thumbnail? = nil, scale: Double = 1,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        self = try AnimatedImage(
            files: files, durations: durations, loopCount: loopCount, thumbnail: thumbnail, scale: scale,
            registry: registry
        ).image
    }

    /// Makes an animation of encoded images in memory; like
    /// ``init(files:durations:loopCount:thumbnail:scale:registry:)``.
    public init(
        frames: [Data], durations: [Duration], loopCount: Int = 0, thumbnail: Thumbnail? = nil, scale: Double = 1,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        self = try AnimatedImage(
            frames: frames, durations: durations, loopCount: loopCount, thumbnail: thumbnail, scale: scale,
            registry: registry
        ).image
    }

    /// Makes an animation of parts of a sprite sheet, which are copied when needed.
    ///
    /// - Parameters:
    ///   - contentRects: the frames, in pixels, all of the same size. A part may be shown several times.
    ///   - durations: of each frame, or one for all. As in GIFs, 10 ms and less mean 100 ms.
    ///   - loopCount: 0, the default, loops forever.
    ///   - scale: pixels per point.
    /// - Throws: ``WebImageError/invalidFrames(reason:)`` for invalid durations, and for rectangles that
    ///   are empty, outside the sheet or of several sizes.
    public init(
        spriteSheet sheet: PixelBuffer, contentRects: [PixelRect], durations: [Duration], loopCount: Int = 0,
        scale: Double = 1
    ) throws(WebImageError) {
        self = try AnimatedImage(
            spriteSheet: sheet, contentRects: contentRects, durations: durations, loopCount: loopCount, scale: scale
        ).image
    }

    /// Makes an animation of the cells of a grid, row by row; like the function above. Pixels left over at the right
    /// and the bottom are ignored.
    ///
    /// - Parameter frameCount: the number of cells that are frames; all by default.
    public init(
        spriteSheet sheet: PixelBuffer, columns: Int, rows: Int, frameCount: Int? = nil, frameDuration: Duration,
        loopCount: Int = 0, scale: Double = 1
    ) throws(WebImageError) {
        self = try AnimatedImage(
            spriteSheet: sheet, columns: columns, rows: rows, frameCount: frameCount, frameDuration: frameDuration,
            loopCount: loopCount, scale: scale
        ).image
    }
}

extension AnimationSource {
    /// The expected size of a decoded frame, in bytes.
    var frameByteCount: Int { frameSize.decodedByteCount }
}

extension PixelSize {
    /// The size in bytes, limited so that a few of them can be added.
    var decodedByteCount: Int { min(pixelCount, 1 << 48) * 4 }
}

/// A still as an animation of one frame.
struct StillSource: AnimationSource {
    let identity = AnimationIdentity()
    private let pixels: PixelBuffer

    init(_ pixels: PixelBuffer) { self.pixels = pixels }

    var frameSize: PixelSize { pixels.size }
    var frames: [AnimationFrame] { [AnimationFrame(duration: FrameDuration.played(.zero), isKeyframe: true)] }
    var loopCount: Int { 0 }
    var isComplete: Bool { true }
    /// The poster shares the pixels.
    var byteCount: Int { 0 }

    func makeFrameReader() -> any AnimationFrameReader { Reader(pixels) }

    private final class Reader: AnimationFrameReader {
        private let pixels: PixelBuffer

        init(_ pixels: PixelBuffer) { self.pixels = pixels }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer { pixels }
    }
}
