/// A width and height in pixels.
///
/// ```swift
/// let half = PixelSize(width: image.pixels.size.width / 2, height: image.pixels.size.height / 2)
/// ```
public struct PixelSize: Codable, Sendable, Hashable, CustomStringConvertible {
    /// The longest side of an image in pixels, which GTK, cairo and most codecs can address.
    public static let maximumDimension = 65_535

    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a size of `width` by `height` pixels.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The number of pixels, or `Int.max` if the product overflows.
    public var pixelCount: Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }

    /// The size with width and height exchanged.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// For example `640×480`.
    public var description: String { "\(width)×\(height)" }
}

/// A rectangle of whole pixels, relative to the top left corner of an image.
public struct PixelRect: Codable, Sendable, Hashable {
    /// The left edge.
    public var x: Int
    /// The top edge.
    public var y: Int
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// Creates a rectangle of `width` by `height` pixels whose top left pixel is at `x`, `y`.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// Returns the part inside an image of `size`; `nil` if there is none.
    public func clamped(to size: PixelSize) -> PixelRect? {
        guard let columns = Self.overlap(x, width, size.width), let rows = Self.overlap(y, height, size.height) else {
            return nil
        }
        return PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
    }

    private static func overlap(_ start: Int, _ length: Int, _ limit: Int) -> Range<Int>? {
        // A sum too large for an `Int` is beyond the end of every image.
        let (end, isTooLarge) = start.addingReportingOverflow(length)
        let lower = max(start, 0)
        let upper = min(isTooLarge && length > 0 ? .max : end, limit)
        return length > 0 && lower < upper ? lower..<upper : nil
    }

    /// For example `640×480 at (10, 20)`.
    var text: String { "\(size) at (\(x), \(y))" }
}
