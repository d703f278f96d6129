public import WebImageCore

/// What a shape is filled or stroked with.
public enum Paint: Sendable, Hashable {
    /// One colour.
    case color(Color)
    /// Colours along a line, the first and the last beyond its ends.
    case linearGradient(from: Point, to: Point, stops: [GradientStop])
    /// Colours from one circle to another around the same centre, the first and the last inside and outside.
    case radialGradient(center: Point, innerRadius: Double = 0, outerRadius: Double, stops: [GradientStop])
}

/// A colour of a gradient. Between two, colours are mixed premultiplied, in sRGB as encoded.
public struct GradientStop: Sendable, Hashable, Codable {
    /// Where it is: 0 at the beginning, 1 at the end.
    public var offset: Double
    /// The colour there.
    public var color: Color

    /// Makes a stop.
    public init(_ offset: Double, _ color: Color) {
        self.offset = offset
        self.color = color
    }
}
