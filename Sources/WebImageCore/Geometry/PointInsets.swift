/// Distances in points from the edges of a picture inwards; negative ones reach outwards.
public struct PointInsets: Sendable, Hashable, Codable {
    /// From the top edge.
    public var top: Double
    /// From the left edge.
    public var left: Double
    /// From the bottom edge.
    public var bottom: Double
    /// From the right edge.
    public var right: Double

    /// Makes insets; an edge that is not named stays where it is.
    public init(top: Double = 0, left: Double = 0, bottom: Double = 0, right: Double = 0) {
        self.top = top
        self.left = left
        self.bottom = bottom
        self.right = right
    }

    /// The same distance from all edges.
    public init(_ all: Double) { self.init(top: all, left: all, bottom: all, right: all) }
}
