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
