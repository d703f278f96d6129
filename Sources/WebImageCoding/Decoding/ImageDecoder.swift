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
