/// The size a picture is wanted at: it is decoded straight to that size, which takes a fraction of the time and memory
/// of decoding it whole.
///
/// A thumbnail is never larger than the picture it is made from.
public struct Thumbnail: Sendable, Hashable, Codable {
    /// The box in pixels, compared with the picture after its orientation is applied. A side of 0 means any length.
    ///
    /// Negative sides become 0, those above ``MutablePixelBuffer/maximumDimension`` become that, which no picture
    /// exceeds: thumbnails that come out alike are equal.
    public var size: PixelSize {
        didSet { size = Self.usable(size) }
    }
    /// How the picture is brought into the box.
    public var mode: ResizeMode

    /// A box of `width` by `height` pixels.
    ///
    /// - Parameter mode: `aspectFit` unless said otherwise: the whole picture, no distortion, no pixel wasted.
    public init(width: Int, height: Int, mode: ResizeMode = .aspectFit) {
        size = Self.usable(PixelSize(width: width, height: height))
        self.mode = mode
    }

    /// A box of `width` by `height` points on a screen with `scale` pixels a point; fractions of a pixel round up.
    ///
    /// A scale that is not finite and above 0 counts as 1, a length that is no number as 0.
    public init(width: Double, height: Double, scale: Double, mode: ResizeMode = .aspectFit) {
        let scale = scale.isFinite && scale > 0 ? scale : 1
        func pixels(_ points: Double) -> Int {
            let length = (points * scale).rounded(.up)
            return length > 0 ? Int(min(length, Double(MutablePixelBuffer.maximumDimension))) : 0
        }
        self.init(width: pixels(width), height: pixels(height), mode: mode)
    }

    /// Reads a box as ``init(width:height:mode:)`` takes it.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        size = Self.usable(try values.decode(PixelSize.self, forKey: .size))
        mode = try values.decode(ResizeMode.self, forKey: .mode)
    }

    /// Whether a side is given; a picture in a box of 0 by 0 is decoded whole.
    package var isBounded: Bool { size.width > 0 || size.height > 0 }

    /// The size a picture of `size` (orientation applied) gets.
    public func targetSize(of size: PixelSize) -> PixelSize { mode.size(of: size, in: self.size) }

    private static func usable(_ size: PixelSize) -> PixelSize {
        func usable(_ length: Int) -> Int { min(max(length, 0), MutablePixelBuffer.maximumDimension) }
        return PixelSize(width: usable(size.width), height: usable(size.height))
    }
}
