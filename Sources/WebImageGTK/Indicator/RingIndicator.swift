internal import CWebImageGTK

/// A ring that closes with the progress; while nobody knows the length, a quarter of it turns.
public final class RingIndicator: DrawnImageIndicator {
    /// Its diameter in points; less where the view is smaller.
    public let diameter: Double
    /// Its colours.
    public let style: IndicatorStyle
    /// What was told last.
    public private(set) var progress: Double?
    private var isActive = false

    /// Makes one.
    public init(diameter: Double = 32, style: IndicatorStyle = .automatic) {
        self.diameter = diameter
        self.style = style
    }

    /// Whether it turns: while it runs and knows no progress.
    public var isMoving: Bool { isActive && progress == nil }

    /// Begins without progress.
    public func start() {
        isActive = true
        progress = nil
    }

    /// It stands still.
    public func stop() { isActive = false }

    /// Closes the ring so far, clockwise from the top.
    public func update(progress: Double?) { self.progress = progress }

    /// Draws the ring.
    public func draw(_ frame: IndicatorFrame) {
        let diameter = min(diameter, frame.width, frame.height)
        frame.drawCentred(width: diameter, height: diameter) { context in
            let thickness = diameter / 8
            let radius = (diameter - thickness) / 2
            cairo_set_line_width(context, thickness)
            style.track(in: frame).set(on: context)
            cairo_arc(context, 0, 0, radius, 0, 2 * .pi)
            cairo_stroke(context)
            let start = progress == nil ? frame.time.truncatingRemainder(dividingBy: 1) * 2 * .pi : -.pi / 2
            style.foreground(in: frame).set(on: context)
            cairo_arc(context, 0, 0, radius, start, start + (progress ?? 0.25) * 2 * .pi)
            cairo_stroke(context)
        }
    }
}
