internal import Glibc
public import WebImageCore
public import WebImageProcessing

/// A path of lines and curves, in points.
///
/// ```swift
/// var arrow = Path()
/// arrow.move(to: Point(x: 2, y: 10))
/// arrow.line(to: Point(x: 18, y: 10))
/// ```
///
/// Numbers that are not finite, or far outside the image, cause an error when the path is drawn.
public struct Path: Sendable, Equatable {
    enum Element: Sendable, Equatable {
        case move(to: Point)
        case line(to: Point)
        case curve(to: Point, control1: Point, control2: Point)
        case close
    }

    private(set) var elements: [Element] = []

    /// Creates an empty path.
    public init() {}

    /// Whether the path has no elements.
    public var isEmpty: Bool { elements.isEmpty }

    /// Starts a figure at `point`.
    public mutating func move(to point: Point) { elements.append(.move(to: point)) }

    /// Adds a straight line; moves if the path is empty.
    public mutating func line(to point: Point) {
        elements.append(elements.isEmpty ? .move(to: point) : .line(to: point))
    }

    /// Adds a cubic Bézier curve.
    public mutating func curve(to point: Point, control1: Point, control2: Point) {
        if elements.isEmpty { move(to: control1) }
        elements.append(.curve(to: point, control1: control1, control2: control2))
    }

    /// Adds a quadratic Bézier curve, as used in fonts and SVG.
    public mutating func quadraticCurve(to point: Point, control: Point) {
        let start = currentPoint ?? control
        func toControl(_ end: Point) -> Point {
            Point(x: end.x + (control.x - end.x) * 2 / 3, y: end.y + (control.y - end.y) * 2 / 3)
        }
        curve(to: point, control1: toControl(start), control2: toControl(point))
    }

    /// Adds a line to the start of the figure and joins both ends.
    public mutating func close() {
        if !elements.isEmpty { elements.append(.close) }
    }

    /// Appends another path.
    public mutating func append(_ other: Path) { elements += other.elements }

    /// The current position; `nil` for an empty path.
    public var currentPoint: Point? {
        for (index, element) in elements.enumerated().reversed() {
            switch element {
            case .move(let point), .line(let point), .curve(let point, _, _): return point
            case .close:
                for case .move(let start) in elements[..<index].reversed() { return start }
            }
        }
        return nil
    }
}

extension Path {
    /// Creates a rectangle.
    ///
    /// - Parameters:
    ///   - rect: the rectangle, in points.
    ///   - cornerRadius: at most half the shorter side; 0 or less for sharp corners.
    public init(_ rect: PointRect, cornerRadius: Double = 0) {
        // NaN is preserved, so that drawing it is an error.
        let limit = min(abs(rect.width), abs(rect.height)) / 2
        let radius = cornerRadius > limit ? limit : cornerRadius
        if radius <= 0 {
            self.init(polygon: [
                Point(x: rect.x, y: rect.y), Point(x: rect.x + rect.width, y: rect.y),
                Point(x: rect.x + rect.width, y: rect.y + rect.height), Point(x: rect.x, y: rect.y + rect.height),
            ])
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

    /// Creates an ellipse that touches the sides of a rectangle.
    public init(ellipseIn rect: PointRect) {
        self.init()
        let center = Point(x: rect.x + rect.width / 2, y: rect.y + rect.height / 2)
        addArc(center: center, radii: (rect.width / 2, rect.height / 2), start: 0, sweep: 2 * .pi)
        close()
    }

    /// Creates a circle.
    public init(circleAround center: Point, radius: Double) {
        self.init(
            ellipseIn: PointRect(x: center.x - radius, y: center.y - radius, width: 2 * radius, height: 2 * radius))
    }

    /// Creates a closed polygon.
    public init(polygon points: [Point]) {
        self.init()
        for point in points { line(to: point) }
        close()
    }

    /// Adds an arc, with a line to its start.
    ///
    /// - Parameters:
    ///   - center: the center of the circle.
    ///   - radius: the radius in points.
    ///   - start: in degrees: 0 points right, 90 down.
    ///   - end: in degrees. A difference of 360 or more makes a full circle.
    ///   - isClockwise: the visible direction from `start` to `end`.
    public mutating func arc(
        center: Point, radius: Double, fromDegrees start: Double, toDegrees end: Double, isClockwise: Bool = true
    ) { arc(center: center, radius: radius, from: .degrees(start), to: .degrees(end), isClockwise: isClockwise) }

    mutating func arc(
        center: Point, radius: Double, from start: Angle, to end: Angle, isClockwise: Bool = true
    ) {
        let turn = 2 * Double.pi
        let difference = isClockwise ? end.radians - start.radians : start.radians - end.radians
        var sweep = abs(difference) >= turn ? turn : difference
        if sweep < 0 { sweep += turn }
        let first = start.radians.truncatingRemainder(dividingBy: turn)
        addArc(center: center, radii: (radius, radius), start: first, sweep: isClockwise ? sweep : -sweep)
    }

    /// Uses curves of at most 45°, each with an error of less than 5 millionths of the radius.
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
        // The curve passes through the ends and the middle of the arc.
        let tangent = 4 / 3 * tan(step / 4)
        for index in 0..<count {
            let (from, to) = (start + Double(index) * step, start + Double(index + 1) * step)
            curve(
                to: point(to, tangent: 0), control1: point(from, tangent: tangent),
                control2: point(to, tangent: -tangent))
        }
    }
}

extension Path: ProcessorParameter {
    /// A letter and the numbers of each element, such as `M0_0L10_0.5Z`.
    public var identifierValue: ProcessorIdentifier.Value {
        func text(_ letter: String, _ points: [Point]) -> String {
            letter + points.flatMap { [$0.x, $0.y] }.map(\.identifierValue.description).joined(separator: "_")
        }
        let steps = elements.map { element in
            switch element {
            case .move(let point): text("M", [point])
            case .line(let point): text("L", [point])
            case .curve(let point, let control1, let control2): text("C", [control1, control2, point])
            case .close: "Z"
            }
        }
        return .text(steps.joined())
    }
}

/// A position in points: `x` increases to the right, `y` downwards.
///
/// ```swift
/// let circle = Path(circleAround: Point(x: 12, y: 12), radius: 12)
/// ```
public struct Point: Sendable, Equatable {
    /// The distance from the left edge.
    public var x: Double
    /// The distance from the top edge.
    public var y: Double

    /// Creates a point.
    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}
