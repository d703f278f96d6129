/// The size at which an image is needed. The image is decoded directly at that size, which takes a fraction of the time
/// and memory of full decoding.
///
/// A thumbnail is never larger than its image.
public struct Thumbnail: Sendable, Hashable, Codable {
    /// The box in pixels, compared with the image after orientation is applied. A side of 0 means no limit.
    ///
    /// Sides are clamped to 0 and ``MutablePixelBuffer/maximumDimension``, which no image exceeds, so that boxes with
    /// the same effect are equal.
    public var size: PixelSize {
        didSet { size = Self.usable(size) }
    }
    /// How the image is fitted to the box.
    public var mode: ResizeMode

    /// Creates a box of `width` by `height` pixels.
    ///
    /// - Parameter mode: `aspectFit` by default, which shows the whole image without distortion and without unused
    ///   pixels.
    public init(width: Int, height: Int, mode: ResizeMode = .aspectFit) {
        size = Self.usable(PixelSize(width: width, height: height))
        self.mode = mode
    }

    /// Creates a box of `width` by `height` points on a screen with `scale` pixels per point; fractions of a pixel are
    /// rounded up.
    ///
    /// A scale that is not finite and positive counts as 1, a length that is not a number as 0.
    public init(width: Double, height: Double, scale: Double, mode: ResizeMode = .aspectFit) {
        let scale = scale.isFinite && scale > 0 ? scale : 1
        func pixels(_ points: Double) -> Int {
            let length = (points * scale).rounded(.up)
            return length > 0 ? Int(min(length, Double(MutablePixelBuffer.maximumDimension))) : 0
        }
        self.init(width: pixels(width), height: pixels(height), mode: mode)
    }

    /// Decodes a box and clamps it as ``init(width:height:mode:)`` does.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        size = Self.usable(try values.decode(PixelSize.self, forKey: .size))
        mode = try values.decode(ResizeMode.self, forKey: .mode)
    }

    /// Whether a side is limited. An image in a box of 0 by 0 is decoded at full size.
    package var isBounded: Bool { size.width > 0 || size.height > 0 }

    /// Returns the size of a thumbnail of an image of `size`, with orientation applied.
    public func targetSize(of size: PixelSize) -> PixelSize { mode.size(of: size, in: self.size) }

    private static func usable(_ size: PixelSize) -> PixelSize {
        func usable(_ length: Int) -> Int { min(max(length, 0), MutablePixelBuffer.maximumDimension) }
        return PixelSize(width: usable(size.width), height: usable(size.height))
    }
}
