/// Distances in points from the edges of an image inwards; negative distances extend outwards.
public struct PointInsets: Sendable, Hashable, Codable {
    /// The distance from the top edge.
    public var top: Double
    /// The distance from the left edge.
    public var left: Double
    /// The distance from the bottom edge.
    public var bottom: Double
    /// The distance from the right edge.
    public var right: Double

    /// Creates insets; omitted edges are 0.
    public init(top: Double = 0, left: Double = 0, bottom: Double = 0, right: Double = 0) {
        self.top = top
        self.left = left
        self.bottom = bottom
        self.right = right
    }

    /// Creates insets with the same distance from all edges.
    public init(_ all: Double) { self.init(top: all, left: all, bottom: all, right: all) }
}
