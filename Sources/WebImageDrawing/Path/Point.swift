/// A place in a drawing, in points: `x` grows to the right from the left edge, `y` downwards from the top one.
public struct Point: Sendable, Hashable, Codable {
    /// Points from the left edge.
    public var x: Double
    /// Points from the top edge.
    public var y: Double

    /// Makes a point.
    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}
