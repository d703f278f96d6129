/// A rectangle in points, relative to the top left corner of an image: `x` increases to the right, `y` downwards.
public struct PointRect: Sendable, Hashable, Codable {
    /// The left edge.
    public var x: Double
    /// The top edge.
    public var y: Double
    /// The width in points.
    public var width: Double
    /// The height in points.
    public var height: Double

    /// Creates a rectangle of `width` by `height` points whose top left corner is at `x`, `y`.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The width and height.
    public var size: PointSize { PointSize(width: width, height: height) }
}
