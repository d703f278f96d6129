internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Encodes one format in another process.
struct IsolatedEncoder: ExternalCodec, ImageEncoder {
    fileprivate let work: IsolatedWork

    init(_ format: ImageFormat, isolation: IsolatedDecoding, policy: IsolationPolicy) {
        self.init(IsolatedWork(isolation: isolation, format: format, policy: policy))
    }

    private init(_ work: IsolatedWork) { self.work = work }

    func applying(_ policy: IsolationPolicy, in isolation: IsolatedDecoding) -> IsolatedEncoder {
        IsolatedEncoder(work.applying(policy, in: isolation))
    }

    var format: ImageFormat { work.format }
    var isAvailable: Bool { work.isAvailable }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try work.isolated { () throws in
            let (layout, pixels) = try input(image.pixels)
            let request = ProcessRequest(.encode(format, SentEncodingOptions(options), layout), input: .memory(pixels))
            return try file(request, pixelByteCount: layout.byteCount, options)
        }
    }

    fileprivate func file(_ request: ProcessRequest, pixelByteCount: Int, _ options: EncodingOptions) throws -> Data {
        let metadataByteCount = (options.metadata?.exif?.count ?? 0) + (options.metadata?.xmp?.count ?? 0)
        var request = request
        request.outputByteCount = pixelByteCount * 2 + metadataByteCount + (1 << 20)
        return try work.response(request, .init(nil, cancellation: options.cancellation)) { response in
            guard let file = try work.parts(response, count: 1)[0] else { throw InvalidMessage("no file") }
            work.isolation.pool.count { $0.imageCount += 1 }
            return file
        }
    }

    /// Copies pixels to memory that the process gets.
    fileprivate func input(_ pixels: PixelBuffer) throws(WebImageError) -> (PixelLayout, SharedMemory) {
        let layout = PixelLayout(
            offset: 0, size: pixels.size, bytesPerRow: pixels.bytesPerRow, isOpaque: pixels.isOpaque)
        do throws(RegularFile.Failure) {
            let memory = try pixels.withUnsafeBytes { (bytes) throws(RegularFile.Failure) in
                try SharedMemory(constant: bytes)
            }
            return (layout, memory)
        } catch {
            throw .outOfResources(reason: .memory(byteCount: layout.byteCount))
        }
    }
}

/// Encodes stills and animations of one format in another process, which requests the frames one after the other.
struct IsolatedAnimationEncoder: ExternalCodec, AnimationEncoder {
    private let stills: IsolatedEncoder

    init(_ stills: IsolatedEncoder) { self.stills = stills }

    func applying(_ policy: IsolationPolicy, in isolation: IsolatedDecoding) -> IsolatedAnimationEncoder {
        IsolatedAnimationEncoder(stills.applying(policy, in: isolation))
    }

    var format: ImageFormat { stills.format }
    var isAvailable: Bool { stills.isAvailable }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try stills.encode(image, options: options)
    }

    func encode(_ animation: EncodableAnimation, options: EncodingOptions) throws(WebImageError) -> Data {
        try stills.work.isolated { () throws in
            let frames = try FrameSupply(animation, format: format, cancellation: options.cancellation)
            let size = try frames.pixels(at: 0).size
            var request = ProcessRequest(
                .encodeAnimation(
                    format, SentEncodingOptions(options), size: size, isOpaque: !animation.mayHaveAlpha,
                    loopCount: animation.loopCount, durations: animation.frames.map(\.duration)))
            request.supply = { (index) throws(WebImageError) in try stills.input(frames.requestedPixels(at: index)) }
            return try stills.file(request, pixelByteCount: size.pixelByteCount * animation.frames.count, options)
        }
    }
}

/// The frames of an animation in the order in which an encoder requests them: from the first to the last, a few times at most.
private final class FrameSupply {
    private let animation: EncodableAnimation
    private let format: ImageFormat
    private let cancellation: Cancellation?
    private var reader: EncodableFrameReader
    private var last: (index: Int, pixels: PixelBuffer)?

    init(
        _ animation: EncodableAnimation, format: ImageFormat, cancellation: Cancellation?
    ) throws(WebImageError) {
        self.animation = animation
        self.format = format
        self.cancellation = cancellation
        reader = try Self.reader(animation, format, cancellation)
    }

    private static func reader(
        _ animation: EncodableAnimation, _ format: ImageFormat, _ cancellation: Cancellation?
    ) throws(WebImageError) -> EncodableFrameReader {
        try EncodableFrameReader(
            animation, format: format, maximumDimension: PixelSize.maximumDimension,
            cancellation: cancellation)
    }

    /// Returns a frame for a process, which may have been taken over.
    func requestedPixels(at index: Int) throws(WebImageError) -> PixelBuffer {
        let isRestart = index < (last?.index ?? 0)
        (requestCount, restartCount) = (requestCount + 1, restartCount + (isRestart ? 1 : 0))
        guard animation.frames.indices.contains(index), restartCount <= Self.passLimit,
            requestCount <= animation.frames.count * Self.passLimit
        else { throw .isolation(format: format, reason: .invalidReply("it requests frame \(index)")) }
        return try pixels(at: index)
    }

    /// Encoders read an animation twice at most, and begin anew in another process.
    private static let passLimit = 4
    private var (requestCount, restartCount) = (0, 0)

    func pixels(at index: Int) throws(WebImageError) -> PixelBuffer {
        if let last, last.index == index { return last.pixels }
        if let last, last.index > index {
            reader = try Self.reader(animation, format, cancellation)
            self.last = nil
        }
        while let pixels = try reader.nextFrame() {
            let position = (last?.index ?? -1) + 1
            last = (position, pixels)
            if position == index { return pixels }
        }
        throw .encoding(
            format: format, reason: .frameNumber(index + 1, frameCount: animation.frames.count))
    }
}
