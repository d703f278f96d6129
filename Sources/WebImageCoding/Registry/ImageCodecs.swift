public import FoundationEssentials
public import WebImageCore

/// Turns the bytes of one format into pixels.
///
/// A decoder is stateless and may be called from several threads at once. Register your own with
/// ``CodecRegistry/register(_:)-(ImageDecoder)``; the last registered that accepts the bytes is asked first.
public protocol ImageDecoder: Sendable {
    /// What it reads.
    var format: ImageFormat { get }

    /// Whether `data` looks like its business, told from the first bytes alone.
    func canDecode(_ data: Data) -> Bool

    /// Reads size, orientation and frames without decoding a pixel.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:)``.
    func info(of data: Data) throws(WebImageError) -> ImageInfo

    /// Decodes the picture (of an animation: the first frame), in sRGB, turned upright, at the size that `options` name.
    ///
    /// It checks `options.limits` before it takes memory for pixels, and `options.cancellation` every few milliseconds.
    /// ``PNGDecoder`` unpacks up to 64 MiB in one go, which takes up to a tenth of a second, unless a thumbnail is wanted.
    /// ``WebPDecoder`` can do so only between pieces of compressed bytes: where a few of them hold many pixels, libwebp
    /// decodes those to their end first.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``; for what is over a limit ``WebImageError/imageTooLarge(size:pixelLimit:)``,
    ///   ``WebImageError/tooManyFrames(limit:)``, ``WebImageError/animationTooLarge(byteCount:limit:)``,
    ///   ``WebImageError/tooManyScans(limit:)``, ``WebImageError/metadataTooLarge(byteCount:limit:)`` and
    ///   ``WebImageError/decodingTimedOut(seconds:)``.
    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image

    /// What the first bytes of a file tell; `nil` while they are too few, and where the first
    /// ``ImageProbe/byteLimit`` do not tell the size.
    ///
    /// Views ask for it with each piece of a body that arrives, so it takes a microsecond or so. Once it has an answer, it
    /// stays with it, but for what ``ImageProbe`` calls preliminary.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:)`` when more bytes can't help.
    func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe?

    /// The frames of a moving picture; `nil` for a still.
    ///
    /// - Throws: what ``decode(_:options:)`` throws.
    func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)?

    /// A decoder for one file whose bytes are still arriving; `nil` where the format can't be shown before it is whole.
    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)?
}

extension ImageDecoder {
    /// Nothing: ``info(of:)`` needs the whole file.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? { nil }

    /// None.
    public func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        nil
    }

    /// None.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? { nil }

    /// Compares the signature with ``format``.
    public func canDecode(_ data: Data) -> Bool { ImageFormat(signatureOf: data) == format }
}

/// Decodes a picture while its bytes arrive.
///
/// It belongs to one thread at a time; every call blocks for as long as its share of the decoding takes. What
/// ``finish()`` returns is the same, bit for bit, as ``ImageDecoder/decode(_:options:)`` makes of the whole file.
public protocol IncrementalImageDecoder: AnyObject {
    /// What the bytes so far tell about the picture; `nil` while they are too few.
    var probe: ImageProbe? { get }
    /// The frames that are whole, for a moving picture of which there is one at least; `nil` for others. Of many frames, the
    /// newest may be missing: a sixteenth at the most, and none once the file is whole.
    var animation: (any AnimationSource)? { get }

    /// Takes the next bytes of the file and decodes as far as they reach.
    ///
    /// - Throws: what ``ImageDecoder/decode(_:options:)`` throws, as soon as it is certain. No further call is allowed then.
    func append(_ bytes: Data) throws(WebImageError)

    /// The picture so far, with ``WebImageCore/Image/isPartial`` set: whole in size, clear where nothing has arrived.
    ///
    /// `nil` when there is nothing to show yet, or nothing new since the last preview. The cost of one is up to that of
    /// decoding the picture, so callers ask a few times a second at most.
    func preview() throws(WebImageError) -> Image?

    /// The whole picture, after the last bytes were appended; call it once.
    func finish() throws(WebImageError) -> Image
}

/// Writes pixels as a file of one format.
///
/// An encoder is stateless and may be called from several threads at once. What it writes is sRGB and stands upright, as
/// every ``WebImageCore/Image`` does, so it needs no colour profile and no orientation; it writes no other metadata either.
public protocol ImageEncoder: Sendable {
    /// What it writes.
    var format: ImageFormat { get }

    /// Encodes the picture's pixels.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data

    /// Whether ``EncodingOptions/quality`` changes what it writes with these options; a search for a short file lowers it
    /// then. `true` by default.
    func usesQuality(_ options: EncodingOptions) -> Bool
}

extension ImageEncoder {
    /// `true`.
    public func usesQuality(_ options: EncodingOptions) -> Bool { true }
}

/// Writes moving pictures too.
public protocol AnimationEncoder: ImageEncoder {
    /// Encodes all frames, one after the other; a single one as a still.
    ///
    /// - Throws: as ``ImageEncoder/encode(_:options:)``, and what decoding a frame throws.
    func encode(_ animation: EncodableAnimation, options: EncodingOptions) throws(WebImageError) -> Data
}

/// What the first bytes of a file tell: enough to refuse a bomb and to reserve room in a layout.
///
/// | | bytes it takes |
/// |---|---|
/// | JPEG | those before the first scan: 600 or so, with a camera's thumbnail up to 64 KB more |
/// | PNG | those before the pixels: 41 at least |
/// | GIF | those up to the first frame's size: 23 at least, with a palette 791 |
/// | WebP | 30 |
public struct ImageProbe: Sendable, Hashable {
    /// Its format.
    public var format: ImageFormat
    /// Its size as shown, in pixels: with ``orientation`` applied.
    public var size: PixelSize
    /// How the stored pixels are turned. Metadata that stand behind the pixels (as in WebP, and sometimes in PNG) can
    /// still change it, and with it ``size``.
    public var orientation: ImageOrientation
    /// Whether it says that it holds several frames; `nil` for a GIF, which tells only by having them.
    public var isAnimated: Bool?
    /// Whether pixels may be transparent; of a GIF, those of the first frame.
    public var hasAlpha: Bool

    /// How many bytes of a file are looked at, 1 MiB. Size and orientation mostly stand in the first few hundred, behind a
    /// camera's thumbnail in the first 64 KB, and behind the profile of a printing press in the first 600.
    public static let byteLimit = 1 << 20

    /// Makes a description of a file's beginning.
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
