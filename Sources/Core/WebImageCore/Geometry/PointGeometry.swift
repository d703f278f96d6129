/// A width and height in points: pixels divided by the scale of the image or the screen.
///
/// ```swift
/// let gray = try Image(color: Color(red: 0.5, green: 0.5, blue: 0.5), size: PointSize(width: 24, height: 24), scale: 2)
/// print(gray.pixels.size)  // 48 by 48
/// ```
public struct PointSize: Sendable, Hashable {
    /// The width in points.
    public var width: Double
    /// The height in points.
    public var height: Double

    /// Creates a size of `width` by `height` points.
    public init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }
}

/// A rectangle in points, relative to the top left corner of an image: `x` increases to the right, `y` downwards.
///
/// ```swift
/// let part = try await image.processed(by: [.crop(toPoints: PointRect(x: 10, y: 10, width: 80, height: 60))])
/// ```
public struct PointRect: Sendable, Hashable {
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

/// Distances in points from the edges of an image inwards; negative distances extend outwards.
package struct PointInsets: Sendable, Hashable {
    /// The distance from the top edge.
    package var top: Double
    /// The distance from the left edge.
    package var left: Double
    /// The distance from the bottom edge.
    package var bottom: Double
    /// The distance from the right edge.
    package var right: Double

    /// Creates insets; omitted edges are 0.
    package init(top: Double = 0, left: Double = 0, bottom: Double = 0, right: Double = 0) {
        self.top = top
        self.left = left
        self.bottom = bottom
        self.right = right
    }

    /// Creates insets with the same distance from all edges.
    init(_ all: Double) { self.init(top: all, left: all, bottom: all, right: all) }
}

/// An angle of rotation.
///
/// Stored in degrees, in which quarter turns are exact.
package struct Angle: Sendable, Hashable {
    package let degrees: Double

    /// Creates an angle in degrees; a full turn is 360.
    package static func degrees(_ degrees: Double) -> Angle { Angle(degrees: degrees) }

    /// Creates an angle in radians; a full turn is 2π.
    static func radians(_ radians: Double) -> Angle { Angle(degrees: radians / .pi * 180) }

    package var radians: Double { degrees / 180 * .pi }

    /// The same direction, from 0 up to, but not including, 360 degrees.
    package var normalized: Angle {
        let rest = degrees.truncatingRemainder(dividingBy: 360)
        let turned = rest < 0 ? rest + 360 : rest
        // A tiny negative remainder plus 360 rounds to 360. Adding 0 turns -0 into 0.
        return Angle(degrees: turned == 360 ? 0 : turned + 0)
    }
}
