public import FoundationEssentials
public import WebImageCore

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
