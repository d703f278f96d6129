internal import CWebImageGTK

/// A bar that fills with the progress, in the direction of text; while nobody knows the length, a part of it runs along.
public final class BarIndicator: DrawnImageIndicator {
    /// The part of the view's width that it takes.
    public let widthShare: Double
    /// Its thickness in points.
    public let thickness: Double
    /// Its colours.
    public let style: IndicatorStyle
    /// What was told last.
    public private(set) var progress: Double?
    private var isActive = false

    /// Makes one; 4 points thick, as the one in YYWebImage's demo.
    public init(widthShare: Double = 0.7, thickness: Double = 4, style: IndicatorStyle = .automatic) {
        self.widthShare = widthShare
        self.thickness = thickness
        self.style = style
    }

    /// Whether it runs along: while it is active and knows no progress.
    public var isMoving: Bool { isActive && progress == nil }

    /// Begins without progress.
    public func start() {
        isActive = true
        progress = nil
    }

    /// It stands still.
    public func stop() { isActive = false }

    /// Fills the bar so far.
    public func update(progress: Double?) { self.progress = progress }

    /// Draws the bar.
    public func draw(_ frame: IndicatorFrame) {
        let (width, height) = (frame.width * widthShare, min(thickness, frame.height))
        frame.drawCentred(width: width, height: height) { context in
            if frame.isRightToLeft { cairo_scale(context, -1, 1) }
            style.track(in: frame).set(on: context)
            cairo_rectangle(context, -width / 2, -height / 2, width, height)
            cairo_fill(context)
            style.foreground(in: frame).set(on: context)
            if let progress {
                cairo_rectangle(context, -width / 2, -height / 2, width * progress, height)
            } else {
                let place = frame.time.truncatingRemainder(dividingBy: 1.5) / 1.5
                let start = max(0, place * 1.25 - 0.25)
                let end = min(1, place * 1.25)
                cairo_rectangle(context, (start - 0.5) * width, -height / 2, (end - start) * width, height)
            }
            cairo_fill(context)
        }
    }
}
