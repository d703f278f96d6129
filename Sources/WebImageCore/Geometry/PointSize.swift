/// A width and height in points: pixels divided by the scale of the picture or the screen.
public struct PointSize: Sendable, Hashable, Codable {
    /// Points across.
    public var width: Double
    /// Points down.
    public var height: Double

    /// Makes a size of `width` by `height` points.
    public init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }
}
