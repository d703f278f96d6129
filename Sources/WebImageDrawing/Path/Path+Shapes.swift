internal import Glibc
public import WebImageCore

extension Path {
    /// A rectangle.
    public init(_ rect: PointRect) {
        self.init(polygon: [
            Point(x: rect.x, y: rect.y), Point(x: rect.x + rect.width, y: rect.y),
            Point(x: rect.x + rect.width, y: rect.y + rect.height), Point(x: rect.x, y: rect.y + rect.height),
        ])
    }

    /// A rectangle with round corners.
    ///
    /// - Parameter cornerRadius: at most half the shorter side counts; 0 or less makes sharp corners.
    public init(_ rect: PointRect, cornerRadius: Double) {
        // A radius that is no number stays one, so that drawing it is an error.
        let limit = min(abs(rect.width), abs(rect.height)) / 2
        let radius = cornerRadius > limit ? limit : cornerRadius
        if radius <= 0 {
            self.init(rect)
            return
        }
        self.init()
        let (left, top) = (min(rect.x, rect.x + rect.width), min(rect.y, rect.y + rect.height))
        let (right, bottom) = (left + abs(rect.width), top + abs(rect.height))
        let corners = [
            (Point(x: right - radius, y: top + radius), -90.0), (Point(x: right - radius, y: bottom - radius), 0.0),
            (Point(x: left + radius, y: bottom - radius), 90.0), (Point(x: left + radius, y: top + radius), 180.0),
        ]
        for (center, start) in corners {
            arc(center: center, radius: radius, from: .degrees(start), to: .degrees(start + 90))
        }
        close()
    }

    /// An ellipse that touches a rectangle's sides.
    public init(ellipseIn rect: PointRect) {
        self.init()
        let center = Point(x: rect.x + rect.width / 2, y: rect.y + rect.height / 2)
        addArc(center: center, radii: (rect.width / 2, rect.height / 2), start: 0, sweep: 2 * .pi)
        close()
    }

    /// A circle.
    public init(circleAround center: Point, radius: Double) {
        self.init(
            ellipseIn: PointRect(x: center.x - radius, y: center.y - radius, width: 2 * radius, height: 2 * radius))
    }

    /// Straight lines from point to point, and back to the first.
    public init(polygon points: [Point]) {
        self.init()
        for point in points { line(to: point) }
        close()
    }

    /// Draws a part of a circle, with a line to its beginning if the pen is elsewhere.
    ///
    /// - Parameters:
    ///   - start: where it begins; 0° points right, 90° down.
    ///   - end: where it ends. A difference of 360° or more makes a whole circle.
    ///   - isClockwise: the direction as it is seen, from `start` to `end`.
    public mutating func arc(
        center: Point, radius: Double, from start: Angle, to end: Angle, isClockwise: Bool = true
    ) {
        let turn = 2 * Double.pi
        let difference = isClockwise ? end.radians - start.radians : start.radians - end.radians
        var sweep = abs(difference) >= turn ? turn : difference
        if sweep < 0 { sweep += turn }
        let first = start.radians.truncatingRemainder(dividingBy: turn)
        addArc(center: center, radii: (radius, radius), start: first, sweep: isClockwise ? sweep : -sweep)
    }

    /// Curves of 45° at most, each less than 5 millionths of the radius off.
    private mutating func addArc(center: Point, radii: (x: Double, y: Double), start: Double, sweep: Double) {
        func point(_ angle: Double, tangent: Double) -> Point {
            Point(
                x: center.x + radii.x * (cos(angle) - tangent * sin(angle)),
                y: center.y + radii.y * (sin(angle) + tangent * cos(angle)))
        }
        line(to: point(start, tangent: 0))
        guard sweep.isFinite else { return line(to: Point(x: .nan, y: .nan)) }
        let count = max(1, Int((abs(sweep) / (.pi / 4)).rounded(.up)))
        let step = sweep / Double(count)
        // The curve through the arc's ends and middle.
        let tangent = 4 / 3 * tan(step / 4)
        for index in 0..<count {
            let (from, to) = (start + Double(index) * step, start + Double(index + 1) * step)
            curve(
                to: point(to, tangent: 0), control1: point(from, tangent: tangent),
                control2: point(to, tangent: -tangent))
        }
    }
}
