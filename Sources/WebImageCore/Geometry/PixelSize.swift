/// A width and height in pixels.
public struct PixelSize: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Pixels across.
    public var width: Int
    /// Pixels down.
    public var height: Int

    /// Makes a size of `width` by `height` pixels.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// How many pixels that is, or `Int.max` when the product does not fit.
    public var pixelCount: Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }

    /// The same size lying on its side.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// For example `640×480`.
    public var description: String { "\(width)×\(height)" }
}
