/// A rectangle in points, from the top left corner of a picture: `x` grows to the right, `y` downwards.
public struct PointRect: Sendable, Hashable, Codable {
    /// Its left edge.
    public var x: Double
    /// Its top edge.
    public var y: Double
    /// Points across.
    public var width: Double
    /// Points down.
    public var height: Double

    /// Makes a rectangle of `width` by `height` points whose left top corner is at `x`, `y`.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// Width and height.
    public var size: PointSize { PointSize(width: width, height: height) }
}
