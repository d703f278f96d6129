/// The size a picture is wanted at: it is decoded straight to that size, which takes a fraction of the time and memory
/// of decoding it whole.
///
/// A thumbnail is never larger than the picture it is made from.
public struct Thumbnail: Sendable, Hashable, Codable {
    /// The box in pixels, compared with the picture after its orientation is applied. A side of 0 means any length.
    public var size: PixelSize
    /// How the picture is brought into the box.
    public var mode: ResizeMode

    /// A box of `width` by `height` pixels.
    ///
    /// - Parameter mode: `aspectFit` unless said otherwise: the whole picture, no distortion, no pixel wasted.
    public init(width: Int, height: Int, mode: ResizeMode = .aspectFit) {
        size = PixelSize(width: width, height: height)
        self.mode = mode
    }

    /// A box of `width` by `height` points on a screen with `scale` pixels a point; fractions of a pixel round up.
    public init(width: Double, height: Double, scale: Double, mode: ResizeMode = .aspectFit) {
        func pixels(_ points: Double) -> Int { Int(exactly: (points * scale).rounded(.up)) ?? 0 }
        self.init(width: pixels(width), height: pixels(height), mode: mode)
    }

    /// The size a picture of `size` (orientation applied) gets.
    public func targetSize(of size: PixelSize) -> PixelSize { mode.size(of: size, in: self.size) }
}
