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
    /// - Throws: ``WebImageError/encoding(format:reason:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data
}

/// How a picture is written.
public struct EncodingOptions: Sendable {
    /// For lossy formats, 0 (smallest) to 1 (best); 0.85 by default, where a JPEG shows no loss at normal distance.
    /// A value outside is brought inside.
    public var quality: Double {
        didSet { quality = Self.usable(quality) }
    }
    /// What lies behind transparent pixels in a format without alpha; white by default, as on paper.
    public var background: Color
    /// Polled while encoding; set it to stop.
    public var cancellation: Cancellation?

    /// Makes options.
    public init(quality: Double = defaultQuality, background: Color = .white, cancellation: Cancellation? = nil) {
        self.quality = Self.usable(quality)
        self.background = background
        self.cancellation = cancellation
    }

    /// 0.85.
    public static let defaultQuality = 0.85

    private static func usable(_ quality: Double) -> Double {
        quality.isNaN ? defaultQuality : min(max(quality, 0), 1)
    }
}
