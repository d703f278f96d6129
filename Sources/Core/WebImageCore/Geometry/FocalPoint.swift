/// The point of an image that stays visible when the image is cropped, such as a face. A crop has this point in its center, as far as the
/// image extends.
///
/// The coordinates are those of Mastodon's `meta.focus`: the center is 0, 0; `x` is -1 at the left edge and 1 at the right edge; `y` is -1
/// at the bottom edge and 1 at the top edge. Values beyond the edges are those of the edges, and `NaN` is 0.
///
/// ```swift
/// picture.contentMode = .scaleAspectFill
/// picture.focus = FocalPoint(x: -0.4, y: 0.6)
/// ```
public struct FocalPoint: Sendable, Hashable {
    /// From -1 at the left edge to 1 at the right edge.
    public let x: Double
    /// From -1 at the bottom edge to 1 at the top edge.
    public let y: Double

    /// The center of the image, which crops have by default.
    public static let center = FocalPoint(x: 0, y: 0)

    /// Creates a point from Mastodon's coordinates.
    public init(x: Double, y: Double) {
        func limited(_ value: Double) -> Double { value.isNaN ? 0 : min(1, max(-1, value)) }
        self.x = limited(x)
        self.y = limited(y)
    }

    /// Creates a point from its distances to the left and the top edge, from 0 to 1, as in imgproxy's `g:fp:0.3:0.2` and in CSS.
    public init(left: Double, top: Double) { self.init(x: 2 * left - 1, y: 1 - 2 * top) }

    /// The distance from the left edge, from 0 to 1.
    public var left: Double { (1 + x) / 2 }
    /// The distance from the top edge, from 0 to 1.
    public var top: Double { (1 - y) / 2 }

    /// Returns where a part begins that has the point in its center, or as near as the whole extends.
    ///
    /// - Parameters:
    ///   - share: the point, as a share of the whole.
    ///   - part: the length of the part.
    ///   - whole: the length of the whole, at least `part`.
    public static func start(of share: Double, part: Double, in whole: Double) -> Double {
        max(0, min(whole * share - part / 2, whole - part))
    }
}

extension FocalPoint: Codable {
    private enum CodingKeys: String, CodingKey { case x, y }

    /// Decodes `{"x": -0.4, "y": 0.6}`.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(x: try values.decode(Double.self, forKey: .x), y: try values.decode(Double.self, forKey: .y))
    }
}
