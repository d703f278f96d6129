/// A rectangle of whole pixels, from the top left corner of a picture.
public struct PixelRect: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Pixels left of it.
    public var x: Int
    /// Pixels above it.
    public var y: Int
    /// Pixels across.
    public var width: Int
    /// Pixels down.
    public var height: Int

    /// Makes a rectangle of `width` by `height` pixels whose left top pixel is at `x`, `y`.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// The part of it that lies in a picture of `size`; `nil` for none.
    public func clamped(to size: PixelSize) -> PixelRect? {
        guard let columns = Self.overlap(x, width, size.width), let rows = Self.overlap(y, height, size.height) else {
            return nil
        }
        return PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
    }

    private static func overlap(_ start: Int, _ length: Int, _ limit: Int) -> Range<Int>? {
        // Where a sum is too large for an `Int`, it is behind every picture's end.
        let (end, isTooLarge) = start.addingReportingOverflow(length)
        let lower = max(start, 0)
        let upper = min(isTooLarge && length > 0 ? .max : end, limit)
        return length > 0 && lower < upper ? lower..<upper : nil
    }

    /// For example `640×480 at (10, 20)`.
    public var description: String { "\(size) at (\(x), \(y))" }
}
