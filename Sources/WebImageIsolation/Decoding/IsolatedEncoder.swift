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
    var isAvailable: Bool { work.isolation.hasProgram }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try work.isolated { () throws in
            let (layout, pixels) = try input(image.pixels)
            return try file(
                .encode(format, options, layout), input: .memory(pixels), pixelByteCount: layout.byteCount, options)
        }
    }

    fileprivate func file(
        _ request: DecoderRequest, input: RequestInput, pixelByteCount: Int, _ options: EncodingOptions,
        supply: ((Int) throws(WebImageError) -> (PixelLayout, SharedMemory))? = nil
    ) throws -> Data {
        let metadataByteCount = (options.metadata?.exif?.count ?? 0) + (options.metadata?.xmp?.count ?? 0)
        let parts = try work.response(
            request, input: input, outputByteCount: pixelByteCount * 2 + metadataByteCount + (1 << 20),
            limits: nil, cancellation: options.cancellation, supply: supply
        ) { try work.parts($0, count: 1) }
        guard let file = parts[0] else { throw work.invalid("no file") }
        work.isolation.pool.count { $0.imageCount += 1 }
        return file
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
            return try stills.file(
                .encodeAnimation(
                    format, options, size: size, isOpaque: !animation.mayHaveAlpha, loopCount: animation.loopCount,
                    durations: animation.frames.map(\.duration)),
                input: .none, pixelByteCount: size.pixelByteCount * animation.frames.count, options
            ) { (index) throws(WebImageError) in try stills.input(frames.pixels(at: index)) }
        }
    }
}

/// The frames of an animation in the order in which an encoder requests them: from the first to the last, perhaps
/// twice.
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
            animation, format: format, maximumDimension: MutablePixelBuffer.maximumDimension,
            cancellation: cancellation)
    }

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
