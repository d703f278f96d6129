/// How a line is drawn.
public struct StrokeStyle: Sendable, Hashable, Codable {
    /// How lines end.
    public enum Cap: String, Sendable, Hashable, Codable, CaseIterable {
        /// At the last point.
        case butt
        /// With half a disc.
        case round
        /// Half the width behind the last point.
        case square
    }

    /// How lines meet.
    public enum Join: String, Sendable, Hashable, Codable, CaseIterable {
        /// In a corner, cut where it would be longer than ``StrokeStyle/miterLimit``.
        case miter
        /// In an arc.
        case round
        /// In a cut corner.
        case bevel
    }

    /// In points.
    public var width: Double
    /// How lines end.
    public var cap: Cap
    /// How lines meet.
    public var join: Join
    /// The longest corner that is not cut, in widths of the line.
    public var miterLimit: Double
    /// Lengths of dashes and gaps in turn, in points; none draws the whole line.
    public var dashes: [Double]
    /// Where in the dashes the line begins, in points.
    public var dashPhase: Double

    /// A line of 1 point with butt ends and mitred corners, as cairo draws it.
    public init(
        width: Double = 1, cap: Cap = .butt, join: Join = .miter, miterLimit: Double = 10, dashes: [Double] = [],
        dashPhase: Double = 0
    ) {
        self.width = width
        self.cap = cap
        self.join = join
        self.miterLimit = miterLimit
        self.dashes = dashes
        self.dashPhase = dashPhase
    }
}
