/// Lines and curves, in points: a shape to fill, to stroke, to clip or to mask with.
///
/// ```swift
/// var arrow = Path()
/// arrow.move(to: Point(x: 2, y: 10))
/// arrow.line(to: Point(x: 18, y: 10))
/// ```
///
/// Any numbers can be put in; those that are not finite, or far outside any picture, are an error when the path is drawn.
public struct Path: Sendable, Hashable {
    /// A step of the pen.
    public enum Element: Sendable, Hashable {
        /// Begins a figure.
        case move(to: Point)
        /// Draws a straight line.
        case line(to: Point)
        /// Draws a cubic Bézier curve.
        case curve(to: Point, control1: Point, control2: Point)
        /// Draws a line to where the figure began, and joins both ends.
        case close
    }

    /// Which areas are inside a path that crosses itself or has several figures.
    public enum FillRule: String, Sendable, Hashable, Codable, CaseIterable {
        /// Those the path goes around, counting clockwise turns against the others.
        case winding
        /// Those from which an odd number of lines is crossed on the way out: a figure in another makes a hole.
        case evenOdd
    }

    /// The steps, in order.
    public private(set) var elements: [Element] = []

    /// Makes a path without steps.
    public init() {}

    /// Whether there are no steps.
    public var isEmpty: Bool { elements.isEmpty }

    /// Begins a figure at `point`.
    public mutating func move(to point: Point) { elements.append(.move(to: point)) }

    /// Draws a straight line; the first of a path only moves.
    public mutating func line(to point: Point) {
        elements.append(elements.isEmpty ? .move(to: point) : .line(to: point))
    }

    /// Draws a cubic Bézier curve.
    public mutating func curve(to point: Point, control1: Point, control2: Point) {
        if elements.isEmpty { move(to: control1) }
        elements.append(.curve(to: point, control1: control1, control2: control2))
    }

    /// Draws a quadratic Bézier curve, as fonts and SVG have them.
    public mutating func quadraticCurve(to point: Point, control: Point) {
        let start = currentPoint ?? control
        func toControl(_ end: Point) -> Point {
            Point(x: end.x + (control.x - end.x) * 2 / 3, y: end.y + (control.y - end.y) * 2 / 3)
        }
        curve(to: point, control1: toControl(start), control2: toControl(point))
    }

    /// Draws a line to where the figure began.
    public mutating func close() {
        if !elements.isEmpty { elements.append(.close) }
    }

    /// Adds another path's steps.
    public mutating func append(_ other: Path) { elements += other.elements }

    /// Where the pen is; `nil` before the first step.
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
