public import FoundationEssentials
public import WebImageCore

/// Finds the decoder for some bytes and the encoder for a format.
///
/// The content decides, never a name or a server's header. Of several decoders that accept the bytes, the last
/// registered is asked first; one that reports an unsupported feature passes them on to the next.
public final class CodecRegistry: Sendable {
    /// The registry the library uses unless told otherwise: JPEG, PNG, GIF and WebP.
    public static let shared = CodecRegistry()

    let codecs: Lock<Codecs>

    struct Codecs {
        var decoders: [any ImageDecoder] { didSet { acceptHeader = nil } }
        var encoders: [any ImageEncoder]
        /// Put together when it is first asked for: every load asks.
        var acceptHeader: String?
    }

    /// Makes a registry with `decoders` and `encoders`, those asked first last; by default, the built-in ones.
    public init(
        decoders: [any ImageDecoder] = CodecRegistry.builtInDecoders,
        encoders: [any ImageEncoder] = CodecRegistry.builtInEncoders
    ) {
        codecs = Lock(Codecs(decoders: decoders, encoders: encoders))
    }

    /// The decoders this package brings.
    public static var builtInDecoders: [any ImageDecoder] {
        [GIFDecoder(), PNGDecoder(), JPEGDecoder(), WebPDecoder()]
    }
    /// The encoders this package brings.
    public static var builtInEncoders: [any ImageEncoder] {
        [PNGEncoder(), JPEGEncoder(), WebPEncoder(), GIFEncoder()]
    }

    /// Adds a decoder that is asked before those already there.
    public func register(_ decoder: any ImageDecoder) { codecs.withLock { $0.decoders.append(decoder) } }

    /// Adds an encoder that is taken before those already there.
    public func register(_ encoder: any ImageEncoder) { codecs.withLock { $0.encoders.append(encoder) } }

    /// The formats that can be read, in the order in which decoders are asked, each once. Of the built-in ones, that
    /// which compresses best comes first.
    public var readableFormats: [ImageFormat] { Self.formats(of: codecs.withLock { $0.decoders }) }

    static func formats(of decoders: [any ImageDecoder]) -> [ImageFormat] {
        var seen: Set<ImageFormat> = []
        return decoders.reversed().map(\.format).filter { seen.insert($0).inserted }
    }

    /// What `data` says about itself.
    ///
    /// - Throws: ``WebImageError/unrecognizedFormat(contentType:leadingBytes:)``,
    ///   ``WebImageError/decoding(format:reason:)``.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        try firstResult(for: data) { decoder throws(WebImageError) in try decoder.info(of: data) }
    }

    /// Decodes `data`; blocks the calling thread for as long as that takes.
    ///
    /// - Throws: ``WebImageError/unrecognizedFormat(contentType:leadingBytes:)`` and what ``ImageDecoder/decode(_:options:)``
    ///   throws.
    public func decode(_ data: Data, options: DecodingOptions = DecodingOptions()) throws(WebImageError) -> Image {
        var image = try firstResult(for: data) { decoder throws(WebImageError) in
            try decoder.decode(data, options: options)
        }
        // The animation keeps them anyway, and they are the only form in which it can be stored.
        if image.animation != nil { image.data = data }
        return image
    }

    /// The frames of a moving picture, `nil` for a still; no pixel is decoded before one is asked for.
    ///
    /// - Throws: what ``decode(_:options:)`` throws.
    public func animation(
        of data: Data, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) -> (any AnimationSource)? {
        try firstResult(for: data) { decoder throws(WebImageError) in
            try decoder.animation(of: data, options: options)
        }
    }

    /// - Throws: ``WebImageError/encoding(format:reason:)`` where nobody writes `format`.
    func encoder(for format: ImageFormat) throws(WebImageError) -> any ImageEncoder {
        guard let encoder = codecs.withLock({ $0.encoders.last { $0.format == format } }) else {
            throw .encoding(format: format, reason: .noEncoder)
        }
        return encoder
    }

    func firstResult<Result>(
        for data: Data, _ body: (any ImageDecoder) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        var declined: WebImageError?
        for decoder in decoders(accepting: data) {
            do {
                return try body(decoder)
            } catch .decoding(let format, .unsupported(let feature)) {
                declined = declined ?? .decoding(format: format, reason: .unsupported(feature))
            }
        }
        throw declined ?? .unrecognizedFormat(contentType: nil, leadingBytes: Array(data.prefix(16)))
    }

    /// Those that take `data` for theirs, in the order in which they are asked.
    func decoders(accepting data: Data) -> [any ImageDecoder] {
        codecs.withLock { $0.decoders }.reversed().filter { $0.canDecode(data) }
    }
}

extension CodecRegistry {
    /// The `Accept` header for a server that can choose a format (RFC 9110, 12.5.1): ``readableFormats`` in their order, then
    /// whatever else it may have.
    public var acceptHeader: String {
        let (known, decoders) = codecs.withLock { ($0.acceptHeader, $0.decoders) }
        if let known { return known }
        let types = Self.formats(of: decoders).map(\.mimeType) + ["image/*;q=0.8", "*/*;q=0.5"]
        let header = types.joined(separator: ",")
        codecs.withLock { codecs in
            // Not where another decoder has come meanwhile; none ever goes.
            if codecs.decoders.count == decoders.count { codecs.acceptHeader = header }
        }
        return header
    }
}

/// For files of which the first bytes are there.
extension CodecRegistry {
    /// What the first bytes of a file tell; `nil` while they are too few, and for what no decoder knows.
    ///
    /// A decoder that has no answer passes the bytes on, unlike one that decodes: what a file says about itself is the
    /// same for all.
    ///
    /// - Throws: ``WebImageError/imageTooLarge(size:pixelLimit:)`` for a picture over the limits, and
    ///   ``WebImageError/decoding(format:reason:)`` when more bytes can't help.
    public func probe(_ prefix: Data, limits: DecodingLimits = .default) throws(WebImageError) -> ImageProbe? {
        for decoder in decoders(accepting: prefix) {
            do {
                guard let probe = try decoder.probe(prefix) else { continue }
                try limits.check(probe.size)
                return probe
            } catch .decoding(_, .unsupported) {
                continue
            }
        }
        return nil
    }

    /// A decoder for the file that begins with `prefix`, which it has taken already.
    ///
    /// `nil` while the bytes are too few to tell the format, and where they will have to be decoded when they are all there:
    /// because nobody can show them before, or because nobody knows them.
    ///
    /// The decoder that ``decode(_:options:)`` would ask makes it. Where that one finds out later that it does not support
    /// the file, the whole file may still be another's.
    ///
    /// - Throws: what ``IncrementalImageDecoder/append(_:)`` throws.
    public func makeIncrementalDecoder(
        startingWith prefix: Data, options: DecodingOptions = DecodingOptions()
    ) throws(WebImageError) -> (any IncrementalImageDecoder)? {
        for decoder in decoders(accepting: prefix) {
            do {
                let incremental = decoder.makeIncrementalDecoder(options: options)
                try incremental?.append(prefix)
                return incremental
            } catch .decoding(_, .unsupported) {
                continue
            }
        }
        return nil
    }
}

extension CodecRegistry {
    /// Encodes `image` as `format`, with all frames if it moves and the format can; blocks the calling thread for as long as
    /// that takes. Without its ``WebImageCore/Image/animation`` it is a still.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``; where it moves, also what decoding a frame throws.
    public func encode(
        _ image: Image, as format: ImageFormat, options: EncodingOptions = EncodingOptions(),
        limits: EncodingLimits = EncodingLimits()
    ) throws(WebImageError) -> Data {
        let encoder = try encoder(for: format)
        if let animation = image.animation, encoder is any AnimationEncoder {
            return try encode(EncodableAnimation(animation), as: format, options: options, limits: limits)
        }
        func fitted(_ pixels: PixelBuffer, in bounds: Thumbnail?) throws(WebImageError) -> Image {
            guard let bounds else { return Image(pixels: pixels) }
            let size = bounds.targetSize(of: pixels.size)
            return Image(pixels: try pixels.resampled(to: size, cancellation: options.cancellation))
        }
        let still = try fitted(image.pixels, in: limits.bounds)
        guard let byteLimit = limits.byteCount else { return try encoder.encode(still, options: options) }
        let search = FileSizeSearch(
            format: format, byteLimit: byteLimit, usesQuality: encoder.usesQuality(options), size: still.pixels.size)
        return try search.run(quality: options.quality) { (quality, bounds) throws(WebImageError) in
            var options = options
            options.quality = quality
            return try encoder.encode(fitted(still.pixels, in: bounds), options: options)
        }
    }

    /// Encodes `animation` as `format`; blocks the calling thread for as long as that takes. A single frame becomes a still,
    /// in any format.
    ///
    /// - Throws: as for an image; ``WebImageError/encoding(format:reason:)`` with
    ///   ``WebImageError/EncodingFailure/noAnimation`` for a format that holds one frame only.
    public func encode(
        _ animation: EncodableAnimation, as format: ImageFormat, options: EncodingOptions = EncodingOptions(),
        limits: EncodingLimits = EncodingLimits()
    ) throws(WebImageError) -> Data {
        let encoder = try encoder(for: format)
        // Frames of one size are known by the first.
        var reader = try EncodableFrameReader(
            animation, format: format, maximumDimension: .max, cancellation: options.cancellation)
        if animation.frames.count == 1, let pixels = try reader.nextFrame() {
            return try encode(Image(pixels: pixels), as: format, options: options, limits: limits)
        }
        guard let encoder = encoder as? any AnimationEncoder else {
            throw .encoding(format: format, reason: .noAnimation)
        }
        var animation = animation
        if let bounds = limits.bounds { animation.bounds = bounds }
        guard let byteLimit = limits.byteCount else { return try encoder.encode(animation, options: options) }
        let size = try reader.nextFrame()?.size ?? PixelSize(width: 1, height: 1)
        let search = FileSizeSearch(
            format: format, byteLimit: byteLimit, usesQuality: encoder.usesQuality(options),
            size: limits.bounds?.targetSize(of: size) ?? size,
            // Each try begins with the frames as they are.
            mode: limits.bounds?.mode == .stretch ? .stretch : .aspectFit)
        return try search.run(quality: options.quality) { (quality, bounds) throws(WebImageError) in
            var (options, animation) = (options, animation)
            options.quality = quality
            if let bounds { animation.bounds = bounds }
            return try encoder.encode(animation, options: options)
        }
    }

    /// Whether `format` can be written.
    public func canEncode(_ format: ImageFormat) -> Bool { (try? encoder(for: format)) != nil }

    /// Whether moving pictures can be written as `format`.
    public func canEncodeAnimation(as format: ImageFormat) -> Bool {
        (try? encoder(for: format)) is any AnimationEncoder
    }
}
