internal import CWebImageGTK

/// Twelve spokes that turn, whatever the progress.
public final class SpinnerIndicator: DrawnImageIndicator {
    /// Its diameter in points; less where the view is smaller.
    public let diameter: Double
    /// Its colours.
    public let style: IndicatorStyle
    private static let spokeCount = 12
    private static let turnsPerSecond = 1.0

    /// Makes one.
    ///
    /// - Parameter diameter: 20 points is SDWebImage's medium size, 37 its large one.
    public init(diameter: Double = 20, style: IndicatorStyle = .automatic) {
        self.diameter = diameter
        self.style = style
    }

    /// The time after which the next spoke is the brightest.
    public var redrawInterval: Duration { .seconds(1 / (Self.turnsPerSecond * Double(Self.spokeCount))) }
    /// Whether it turns: between start and stop.
    public private(set) var isMoving = false

    /// It turns from now on.
    public func start() { isMoving = true }
    /// It stands still.
    public func stop() { isMoving = false }
    /// Progress does not change it.
    public func update(progress: Double?) {}

    /// Draws the spokes, the newest one brightest.
    public func draw(_ frame: IndicatorFrame) {
        let diameter = min(diameter, frame.width, frame.height)
        frame.drawCentred(width: diameter, height: diameter) { context in
            let newest = Int(frame.time * Self.turnsPerSecond * Double(Self.spokeCount)) % Self.spokeCount
            var color = style.foreground(in: frame)
            let solid = color.alpha
            cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND)
            cairo_set_line_width(context, diameter / 11)
            for spoke in 0..<Self.spokeCount {
                let age = (newest - spoke + Self.spokeCount) % Self.spokeCount
                color.alpha = solid * (1 - 0.8 * Double(age) / Double(Self.spokeCount - 1))
                color.set(on: context)
                let angle = Double(spoke) / Double(Self.spokeCount) * 2 * .pi - .pi / 2
                let (x, y) = (cos(angle), sin(angle))
                cairo_move_to(context, x * diameter * 0.25, y * diameter * 0.25)
                cairo_line_to(context, x * diameter * 0.45, y * diameter * 0.45)
                cairo_stroke(context)
            }
        }
    }
}
