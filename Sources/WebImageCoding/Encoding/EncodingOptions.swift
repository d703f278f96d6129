public import WebImageCore

/// How a picture is written.
///
/// What only one format has is in the part named after it, and means nothing to the others.
public struct EncodingOptions: Sendable {
    /// For lossy formats, 0 (smallest) to 1 (best); 0.85 by default, where a JPEG shows no loss at normal distance.
    /// A value outside is brought inside.
    public var quality: Double {
        didSet { quality = Self.usable(quality) }
    }
    /// What lies behind transparent pixels in a format without alpha, and behind translucent ones in GIF, where a pixel is
    /// there or not; white by default, as on paper.
    public var background: Color
    /// How much of each frame an animation's file holds.
    public var framing: Framing
    /// What JPEG alone has.
    public var jpeg: JPEG
    /// What PNG alone has.
    public var png: PNG
    /// What WebP alone has.
    public var webP: WebP
    /// What GIF alone has.
    public var gif: GIF
    /// Polled while encoding; set it to stop.
    public var cancellation: Cancellation?

    /// Makes options.
    public init(
        quality: Double = defaultQuality, background: Color = .white, framing: Framing = .changes, jpeg: JPEG = JPEG(),
        png: PNG = PNG(), webP: WebP = WebP(), gif: GIF = GIF(), cancellation: Cancellation? = nil
    ) {
        self.quality = Self.usable(quality)
        self.background = background
        self.framing = framing
        self.jpeg = jpeg
        self.png = png
        self.webP = webP
        self.gif = gif
        self.cancellation = cancellation
    }

    /// 0.85.
    public static let defaultQuality = 0.85

    static func usable(_ quality: Double) -> Double {
        quality.isNaN ? defaultQuality : min(max(quality, 0), 1)
    }

    /// How much of each frame an animation's file holds. Every frame looks the same either way.
    public enum Framing: Sendable, Hashable {
        /// The rectangle that changes, on what the frame before leaves (blended or not, cleared first or not, whatever is
        /// less). Small, and what players expect.
        case changes
        /// All of it, in place of what was there: any frame can be shown without those before.
        case whole
    }
}
