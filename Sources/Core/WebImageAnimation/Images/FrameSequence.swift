internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore
internal import WebImageIsolation

/// An animation of images in files or in memory, which are decoded when needed.
struct FrameSequence: AnimationSource {
    let identity = AnimationIdentity()
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let loopCount: Int
    /// The bytes in memory; files count nothing.
    let byteCount: Int
    private let images: [EncodedImage]
    private let registry: CodecRegistry
    private let thumbnail: Thumbnail?

    init(
        _ images: [EncodedImage], durations: [Duration], loopCount: Int = 0, thumbnail: Thumbnail? = nil,
        registry: CodecRegistry = .shared
    ) throws(WebImageError) {
        frames = try FrameDurations(durations, frameCount: images.count).frames
        let size = try images[0].size(registry)
        for (frame, image) in images.enumerated().dropFirst() {
            let other = try image.size(registry)
            guard other == size else {
                throw .invalidFrames(reason: .size(other, frame: frame, expected: size))
            }
        }
        self.images = images
        self.registry = registry
        self.thumbnail = thumbnail
        self.loopCount = max(0, loopCount)
        frameSize = thumbnail?.targetSize(of: size) ?? size
        byteCount = images.reduce(0) { $0 + $1.byteCount }
    }

    var isComplete: Bool { true }

    func makeFrameReader() -> any AnimationFrameReader { Reader(self) }

    private final class Reader: AnimationFrameReader {
        private let sequence: FrameSequence

        init(_ sequence: FrameSequence) { self.sequence = sequence }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            let data = try sequence.images[index].contents()
            let options = DecodingOptions(
                thumbnail: sequence.thumbnail, firstFrameOnly: true, cancellation: cancellation)
            let pixels = try sequence.registry.decode(data, options: options).pixels
            // The file may have changed.
            guard pixels.size == sequence.frameSize else {
                throw .invalidFrames(reason: .size(pixels.size, frame: index, expected: sequence.frameSize))
            }
            return pixels
        }
    }
}

/// The frames of an animation that is made in memory. Each can be decoded by itself.
struct FrameDurations {
    let frames: [AnimationFrame]

    /// - Parameter durations: of each frame, or one for all.
    /// - Throws: ``WebImageError/invalidFrames(reason:)``.
    init(_ durations: [Duration], frameCount: Int) throws(WebImageError) {
        guard frameCount > 0 else { throw .invalidFrames(reason: .none) }
        let durations = durations.count == 1 ? [Duration](repeating: durations[0], count: frameCount) : durations
        guard durations.count == frameCount else {
            throw .invalidFrames(reason: .durationCount(durations.count, frameCount: frameCount))
        }
        if let frame = durations.firstIndex(where: { $0 < .zero }) {
            throw .invalidFrames(reason: .duration(durations[frame], frame: frame))
        }
        frames = durations.map {
            AnimationFrame(duration: min(FrameDuration.played($0), FrameDuration.longest), isKeyframe: true)
        }
    }
}

enum EncodedImage: Sendable {
    case file(String)
    case data(Data)

    var byteCount: Int {
        switch self {
        case .file: 0
        case .data(let data): data.count
        }
    }

    func contents() throws(WebImageError) -> Data {
        switch self {
        case .file(let path): try Data(contentsOfFile: path)
        case .data(let data): data
        }
    }

    /// Returns the upright size, usually without reading all of a file.
    func size(_ registry: CodecRegistry) throws(WebImageError) -> PixelSize {
        // WebP has its orientation at the end, so that a probe would be preliminary.
        if case .file(let path) = self,
            let probe = try registry.probe(Data(contentsOfFile: path, upTo: 64 << 10)),
            probe.format != .webp
        {
            return probe.size
        }
        return try registry.info(of: contents()).size
    }
}
