public import FoundationEssentials
public import WebImageCore

/// Decodes one image format.
///
/// ```swift
/// CodecRegistry.shared.register(decoder)
/// let image = try CodecRegistry.shared.decode(data)
/// ```
///
/// Decoders are stateless and may be called from several threads at once. Register custom decoders with
/// ``CodecRegistry/register(_:)-(ImageDecoder)``.
public protocol ImageDecoder: Sendable {
    /// The format that this decoder reads.
    var format: ImageFormat { get }

    /// Whether the first bytes of `data` are those of ``format``.
    func canDecode(_ data: Data) -> Bool

    /// Reads size, orientation and frames without decoding pixels.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``.
    func info(of data: Data) throws(WebImageError) -> ImageInfo

    /// Decodes the image, or the first frame of an animation: in sRGB, upright, at the size in `options`.
    ///
    /// Decoders check `options.limits` before they allocate pixels, and `options.cancellation` every few milliseconds.
    /// PNG decompresses up to 64 MiB at once, about 0.1 s, unless a thumbnail is requested. WebP checks between pieces
    /// of compressed data: if a piece holds many pixels, libwebp decodes all of them first.
    ///
    /// Decoders are called on threads of the library. One that has taken at most 50 µs for each of 16 small files may then
    /// be called for others on the thread that has their bytes, so it must not wait for Swift tasks.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``, and the errors described in ``DecodingLimits``.
    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image

    /// Returns a decoder for a file whose bytes are still arriving; `nil` if the format can only be decoded as a whole,
    /// and by default.
    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)?

    /// Returns what the first bytes of a file tell, to lay out views and to refuse huge images; `nil` if they are too few, or if the first MiB
    /// does not contain the size, and by default.
    ///
    /// Called for each piece of a body that arrives, so it should take about a microsecond. Later calls with more bytes
    /// must return the same, except for what ``ImageProbe`` calls preliminary.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)`` if more bytes cannot help.
    func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe?

    /// Returns the animation of `data`, without decoding a frame; `nil` for a still image, and by default.
    ///
    /// - Throws: the errors of ``decode(_:options:)``.
    func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)?
}

extension ImageDecoder {
    /// Compares the signature of `data` with ``format``.
    public func canDecode(_ data: Data) -> Bool { ImageFormat(signatureOf: data) == format }

    /// Returns `nil`.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? { nil }

    /// Returns `nil`.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? { nil }

    /// Returns `nil`.
    public func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        nil
    }
}

/// Decodes an image while its bytes arrive.
///
/// ```swift
/// if let decoder = try CodecRegistry.shared.makeIncrementalDecoder(startingWith: firstBytes) {
///     try decoder.append(firstBytes)
///     let preview = try decoder.preview()
///     try decoder.append(otherBytes)
///     let image = try decoder.finish()
/// }
/// ```
///
/// Use it from one thread at a time; every call blocks while it decodes. ``finish()`` returns exactly the pixels that
/// ``ImageDecoder/decode(_:options:)`` returns for the whole file.
public protocol IncrementalImageDecoder: AnyObject {
    /// The complete frames of an animation; `nil` for a still image, or before the first complete frame. Up to a
    /// sixteenth of the frames, the newest, may be missing until the file is complete.
    var animation: (any AnimationSource)? { get }

    /// The properties of the image that the bytes so far contain; `nil` if they are too few, and by default.
    var probe: ImageProbe? { get }

    /// Appends the next bytes of the file and decodes as far as possible.
    ///
    /// - Throws: the errors of ``ImageDecoder/decode(_:options:)``, as soon as they are certain. Do not use the decoder
    ///   after an error.
    func append(_ bytes: Data) throws(WebImageError)

    /// Returns the image so far at full size, transparent where nothing has arrived, with
    /// ``Image/isPartial`` set. `nil` if there is nothing new since the last preview.
    ///
    /// A preview can cost as much as decoding the image: request a few per second at most.
    func preview() throws(WebImageError) -> Image?

    /// Returns the image after the last bytes were appended. Call it once.
    func finish() throws(WebImageError) -> Image
}

extension IncrementalImageDecoder {
    /// `nil`.
    public var probe: ImageProbe? { nil }
}

/// Encodes images in one format.
///
/// ```swift
/// CodecRegistry.shared.register(encoder)
/// let file = try CodecRegistry.shared.encode(image, as: encoder.format)
/// ```
///
/// Encoders are stateless and may be called from several threads at once. Images are upright sRGB, so encoders write no
/// color profile, no orientation and no other metadata unless ``EncodingOptions/metadata`` is set.
public protocol ImageEncoder: Sendable {
    /// The format that this encoder writes.
    var format: ImageFormat { get }

    /// Encodes the pixels of `image`. ``CodecRegistry`` applies ``EncodingOptions/bounds`` and
    /// ``EncodingOptions/byteLimit``.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/outOfResources(reason:url:)``,
    ///   ``WebImageError/cancelled``.
    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data
}

/// An encoder that also writes animations.
package protocol AnimationEncoder: ImageEncoder {
    /// Encodes all frames; a single frame as a still image.
    ///
    /// - Throws: the errors of ``ImageEncoder/encode(_:options:)``, and of decoding a frame.
    func encode(_ animation: EncodableAnimation, options: EncodingOptions) throws(WebImageError) -> Data
}

/// An encoder of animations that writes frames to a file as it encodes them, so that the file is never in memory as a whole.
protocol StreamingEncoder: AnimationEncoder {
    /// Encodes all frames of an animation of several.
    ///
    /// - Parameter file: empty; gets all bytes, and is not finished.
    /// - Throws: the errors of ``AnimationEncoder/encode(_:options:)``, and of writing.
    func encode(
        _ animation: EncodableAnimation, options: EncodingOptions, to file: UnfinishedFile
    ) throws(WebImageError)
}

/// A decoder of this package, which sets time limits itself.
package protocol OwnDecoder: ImageDecoder {
    /// Returns the decoder with other limits on the time and the memory for everything but pixels, and with what cancels it, if it works in
    /// another process.
    func limited(to limits: DecodingLimits, cancellation: Cancellation?) -> Self
}

/// A decoder or encoder that works in another program.
package protocol ExternalCodec: Sendable {
    /// Whether that program is installed, and does what is required of it as far as that is known.
    var isAvailable: Bool { get }
}

extension OwnDecoder {
    package func limited(to limits: DecodingLimits, cancellation: Cancellation?) -> Self { self }
}

extension ImageDecoder {
    /// Custom decoders have no limits but those of options.
    func limited(to limits: DecodingLimits, cancellation: Cancellation?) -> any ImageDecoder {
        (self as? any OwnDecoder)?.limited(to: limits, cancellation: cancellation) ?? self
    }
}

/// The properties that the first bytes of a file contain: enough to refuse huge images and to lay out views.
///
/// | format | bytes needed |
/// |---|---|
/// | JPEG | those before the first scan: about 600, or up to 64 KB with a camera's thumbnail |
/// | PNG | those before the pixels: at least 41 |
/// | GIF | those up to the first frame's size: at least 23, or 791 with a palette |
/// | WebP | 30 |
public struct ImageProbe: Codable, Sendable, Equatable {
    /// The format.
    public var format: ImageFormat
    /// The size in pixels, with ``orientation`` applied.
    public var size: PixelSize
    /// The orientation of the stored pixels. Metadata after the pixels (in WebP, sometimes in PNG) can still change it,
    /// and with it ``size``.
    public var orientation: ImageOrientation
    /// Whether the file claims several frames; `nil` for GIF until a second frame arrives.
    public var isAnimated: Bool?
    /// Whether pixels may be transparent; of a GIF, those of the first frame.
    public var hasAlpha: Bool

    /// The maximum number of bytes that probing reads, 1 MiB. Size and orientation are usually in the first few hundred
    /// bytes, after a camera's thumbnail in the first 64 KB, after a printing profile in the first 600 KB.
    public static let byteLimit = 1 << 20

    /// Creates a description of a file's beginning.
    public init(
        format: ImageFormat, size: PixelSize, orientation: ImageOrientation = .up, isAnimated: Bool? = false,
        hasAlpha: Bool = false
    ) {
        self.format = format
        self.size = size
        self.orientation = orientation
        self.isAnimated = isAnimated
        self.hasAlpha = hasAlpha
    }
}
