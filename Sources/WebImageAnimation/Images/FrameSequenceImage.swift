public import FoundationEssentials
public import WebImageCoding
public import WebImageCore

/// An animation whose frames are pictures of their own, in files or in memory.
///
/// ```swift
/// let clip = try FrameSequenceImage(files: paths, frameDuration: 1.0 / 24)
/// let image = try AnimatedImage(clip)
/// ```
///
/// Pictures are read and decoded when they are wanted, and go to the ``FramePool`` like any animation's: none is decoded
/// again while it is kept there. Of one that moves itself, the first frame counts.
public struct FrameSequenceImage: AnimationSource {
    /// The identity all copies of this value share.
    public let identity = AnimationIdentity()
    /// Their durations; every one can be had by itself.
    public let frames: [AnimationFrame]
    /// The size of every frame, upright, in pixels.
    public let frameSize: PixelSize
    /// How often it plays; 0 for ever.
    public let loopCount: Int
    /// The bytes of the pictures in memory; files count nothing.
    public let byteCount: Int
    private let pictures: [EncodedPicture]
    private let registry: CodecRegistry
    private let thumbnail: Thumbnail?

    /// An animation of files; reads the beginning of each, and blocks the calling thread for as long as that takes.
    ///
    /// - Parameters:
    ///   - files: paths of pictures of one size, in the order in which they are shown. They have to stay where they are.
    ///   - durations: how long each is shown, in seconds; as in files, 0.01 and less mean 0.1.
    ///   - loopCount: how often it plays; 0, the default, for ever, as does less.
    ///   - thumbnail: the size wanted; `nil`, the default, for every pixel.
    /// - Throws: ``WebImageCore/WebImageError/invalidAnimation(reason:)`` where there is no frame, a duration is missing,
    ///   negative or no number, or they are of several sizes; ``WebImageCore/WebImageError/file(path:errno:)``; what
    ///   ``WebImageCoding/CodecRegistry/info(of:)`` throws.
    public init(
        files: [String], durations: [Double], loopCount: Int = 0, thumbnail: Thumbnail? = nil,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        try self.init(
            files.map(EncodedPicture.file), durations: durations, loopCount: loopCount, thumbnail: thumbnail,
            registry: registry)
    }

    /// An animation of files that are all shown for `frameDuration` seconds.
    ///
    /// - Throws: as ``init(files:durations:loopCount:thumbnail:registry:)``.
    public init(
        files: [String], frameDuration: Double, loopCount: Int = 0, thumbnail: Thumbnail? = nil,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        try self.init(
            files: files, durations: [Double](repeating: frameDuration, count: files.count), loopCount: loopCount,
            thumbnail: thumbnail, registry: registry)
    }

    /// An animation of pictures in memory, encoded in any format that `registry` reads.
    ///
    /// - Throws: as ``init(files:durations:loopCount:thumbnail:registry:)``.
    public init(
        data: [Data], durations: [Double], loopCount: Int = 0, thumbnail: Thumbnail? = nil,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        try self.init(
            data.map(EncodedPicture.data), durations: durations, loopCount: loopCount, thumbnail: thumbnail,
            registry: registry)
    }

    /// An animation of pictures in memory that are all shown for `frameDuration` seconds.
    ///
    /// - Throws: as ``init(files:durations:loopCount:thumbnail:registry:)``.
    public init(
        data: [Data], frameDuration: Double, loopCount: Int = 0, thumbnail: Thumbnail? = nil,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        try self.init(
            data: data, durations: [Double](repeating: frameDuration, count: data.count), loopCount: loopCount,
            thumbnail: thumbnail, registry: registry)
    }

    private init(
        _ pictures: [EncodedPicture], durations: [Double], loopCount: Int, thumbnail: Thumbnail?,
        registry: CodecRegistry
    ) throws(WebImageError) {
        frames = try FrameDurations(durations, frameCount: pictures.count).frames
        let size = try pictures[0].size(registry)
        for (frame, picture) in pictures.enumerated().dropFirst() {
            let other = try picture.size(registry)
            guard other == size else {
                throw .invalidAnimation(reason: .frameSize(other, frame: frame, expected: size))
            }
        }
        self.pictures = pictures
        self.registry = registry
        self.thumbnail = thumbnail
        self.loopCount = max(0, loopCount)
        frameSize = thumbnail?.targetSize(of: size) ?? size
        byteCount = pictures.reduce(0) { $0 + $1.byteCount }
    }

    /// All pictures were named at once.
    public var isComplete: Bool { true }

    /// A reader that decodes pictures.
    public func makeFrameReader() -> any AnimationFrameReader { Reader(self) }

    private final class Reader: AnimationFrameReader {
        private let image: FrameSequenceImage

        init(_ image: FrameSequenceImage) { self.image = image }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            let data = try image.pictures[index].contents()
            let options = DecodingOptions(
                thumbnail: image.thumbnail, firstFrameOnly: true, cancellation: cancellation)
            let pixels = try image.registry.decode(data, options: options).pixels
            // A file may have become another one.
            guard pixels.size == image.frameSize else {
                throw .invalidAnimation(
                    reason: .frameSize(pixels.size, frame: index, expected: image.frameSize))
            }
            return pixels
        }
    }
}
