public import FoundationEssentials
public import WebImageCore

/// Writes pixels as a file of one format.
///
/// An encoder is stateless and may be called from several threads at once.
public protocol ImageEncoder: Sendable {
    /// What it writes.
    var format: ImageFormat { get }

    /// Encodes the picture's pixels.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/cancelled``.
    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data
}

/// How a picture is written.
public struct EncodingOptions: Sendable {
    /// For lossy formats, 0 (smallest) to 1 (best); 0.85 by default, where a JPEG shows no loss at normal distance.
    public var quality: Double
    /// What lies behind transparent pixels in a format without alpha; white by default, as on paper.
    public var background: Color
    /// Polled while encoding; set it to stop.
    public var cancellation: Cancellation?

    /// Makes options; a quality outside 0 to 1 is brought inside.
    public init(quality: Double = 0.85, background: Color = .white, cancellation: Cancellation? = nil) {
        self.quality = min(max(quality, 0), 1)
        self.background = background
        self.cancellation = cancellation
    }
}
